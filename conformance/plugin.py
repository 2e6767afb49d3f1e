"""pytest plugin: runs laws and pass targets against the target of ``--target``, and logs a verdict for each.

Loaded in every pytest run of an environment that has packproof, so it imports nothing heavy before it is used.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conformance.deciding import Context
    from reference_impl.interface import Implementation

PROPERTY = "packproof"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of the plugin; ``packproof run`` sets all of them."""
    group = parser.getgroup("packproof", "sequence packing conformance")
    group.addoption("--target", default=os.environ.get("PACKPROOF_TARGET", "reference"), help="what is measured")
    group.addoption("--baseline", default=None, help="TOML file of known deviations, or 'none'")
    group.addoption("--law", action="append", default=[], metavar="GLOB", help="only laws whose id or key matches")
    group.addoption("--profile", default="pr", help="pr, nightly or deep")
    group.addoption("--packproof-seed", type=int, default=0, help="shifts all draws")
    group.addoption("--packproof-log", default=None, metavar="FILE", help="event log to append verdicts to")
    group.addoption("--packproof-cases", default=None, metavar="DIR", help="where counterexamples are written")
    group.addoption("--packproof-case-prefix", default="", help="begins the names of their files")


def pytest_configure(config: pytest.Config) -> None:
    """In the process that collects reports, open the log."""
    log = config.getoption("--packproof-log")
    if log and not hasattr(config, "workerinput"):
        from conformance.log_writer import LogWriter  # noqa: PLC0415 - see the module's docstring

        config.pluginmanager.register(LogWriter(Path(log), config.getoption("--baseline")))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the laws that ``--law`` names."""
    globs: list[str] = config.getoption("--law")
    if not globs:
        return
    kept: list[pytest.Item] = []
    dropped: list[pytest.Item] = []
    for item in items:
        law = getattr(getattr(item, "obj", None), "law", None)
        wanted = law is not None and any(law.matches(glob) for glob in globs)
        (kept if wanted else dropped).append(item)
    config.hook.pytest_deselected(items=dropped)
    items[:] = kept


@pytest.fixture(scope="session")
def implementation(pytestconfig: pytest.Config) -> Implementation:
    """The target that ``--target`` names."""
    from conformance.targets.loading import load  # noqa: PLC0415 - see the module's docstring

    return load(str(pytestconfig.getoption("--target")))


@pytest.fixture(scope="session")
def packproof_context(pytestconfig: pytest.Config, implementation: Implementation) -> Context:
    """What the verdicts of this session depend on."""
    from conformance import baseline  # noqa: PLC0415
    from conformance.deciding import Context  # noqa: PLC0415
    from conformance.targets.loading import describe  # noqa: PLC0415
    from properties.profiles import profile  # noqa: PLC0415

    option: Any = pytestconfig.getoption
    description = describe(implementation)
    cases = option("--packproof-cases")
    return Context(
        target=option("--target"),
        version=description.version,
        versions=dict(description.versions),
        baseline=baseline.resolve(option("--baseline"), description.name, description.version),
        cases=Path(cases) if cases else None,
        case_prefix=option("--packproof-case-prefix"),
        profile=profile(option("--profile")),
        seed=option("--packproof-seed"),
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """A pass-target test whose operation the target lacks is skipped, with the reason."""
    del item
    try:
        return (yield)
    except Exception as error:
        errors: Any = sys.modules.get("reference_impl.errors")
        if errors is not None and isinstance(error, errors.NotSupported):
            pytest.skip(f"not supported: {error}")
        raise


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a law as a law: search or replay, with a verdict."""
    law = getattr(pyfuncitem.obj, "law", None)
    if law is None:
        return None
    import msgspec  # noqa: PLC0415

    from conformance.deciding import decide  # noqa: PLC0415
    from conformance.events import Status  # noqa: PLC0415

    request: Any = pyfuncitem._request  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - pytest has no other way to ask late
    context: Context = request.getfixturevalue("packproof_context")
    verdict = decide(law, request.getfixturevalue("implementation"), context)
    pyfuncitem.user_properties.append((PROPERTY, msgspec.json.encode(verdict).decode()))
    if verdict.verdict is Status.NOT_SUPPORTED:
        pytest.skip(verdict.message)
    if verdict.verdict is Status.FAILED_AS_EXPECTED:
        pytest.xfail(verdict.message)
    if verdict.verdict is not Status.PASSED:
        pytest.fail(f"{law.key} {law.claim}: {verdict.verdict}\n{verdict.message}", pytrace=False)
    return True
