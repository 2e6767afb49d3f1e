"""Skips what this machine lacks, by name; holds the worker pool of the session."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Iterator

import pytest

from conformance.machine import Needs, here, missing
from conformance.suites import SUITES
from gpu_tests.cases import Case
from gpu_tests.ranks import Ranks, open_ranks, under_torchrun
from reference_impl.errors import NotSupported


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option of ``conformance.plugin``, where that is not loaded."""
    with contextlib.suppress(ValueError):
        default = os.environ.get("PACKPROOF_TARGET", "reference")
        parser.addoption("--target", default=default, help="what cuts streams and makes boundaries")
    parser.addoption("--records", metavar="DIR", help="write records of kernels here")
    parser.addoption("--replay", metavar="DIR", help="check records of an earlier run")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Under torchrun every rank is a pytest of its own, in step with the others; workers would break the step."""
    if under_torchrun():
        config.option.numprocesses = 0
        config.option.dist = "no"


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers of this folder."""
    config.addinivalue_line("markers", "suite(name): what the test belongs to; conformance/suites.py says its needs")
    config.addinivalue_line("markers", "one_gpu: part of the plan that fits 8 minutes on one GPU")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose suites or case need what this machine lacks."""
    for marker in item.iter_markers("suite"):
        _skip_unless(SUITES[marker.args[0]].needs, marker.args[0])
    callspec = getattr(item, "callspec", None)
    case = callspec.params.get("case") if callspec else None
    if isinstance(case, Case):
        _skip_unless(_needs_of(case), "case")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """A claim about an operation that the target lacks is skipped, with the reason."""
    del item
    try:
        return (yield)
    except NotSupported as error:
        pytest.skip(f"not supported by the target: {error}")


def _needs_of(case: Case) -> Needs:
    return Needs(devices=case.ranks if case.backend == "nccl" else 0, ranks=case.ranks)


def _skip_unless(needs: Needs, what: str) -> None:
    lacks = missing(needs, here())
    if lacks:
        pytest.skip(f"{what} needs {'; '.join(lacks)}")


@pytest.fixture(scope="session")
def ranks() -> Iterator[Ranks]:
    """Processes to run a program on: the ranks of torchrun, or a pool that is started at the first use."""
    opened = open_ranks()
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def target(pytestconfig: pytest.Config) -> str:
    """What ``--target`` names; every rank loads it for itself."""
    return str(pytestconfig.getoption("--target"))
