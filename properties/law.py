"""Laws: claims about any implementation, as ordinary Hypothesis tests.

    @law("CPX-001", needs={Op.PARTITION}, harm="a rank trains on another rank's tokens, or on none", sources=("I1",),
         activity=Activity("two or more segments", lambda layout, world: len(layout.padded) > 2, 0.4))
    @given(layout=layouts(), world=worlds())
    def test_cp_slices_partition_every_document(implementation: Implementation, layout: Layout, world: int) -> None:
        \"\"\"Over all CP ranks, every slot of every document is owned exactly once.\"\"\"

A decorated law is found and run by pytest (``implementation`` is a fixture of ``conformance.plugin``), and can be run
on any implementation in any program with ``the_test.law.run(implementation)``.
"""

from __future__ import annotations

import copy
import inspect
import re
import sys
import time
import typing
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cache
from types import MappingProxyType
from typing import Any, cast
from unittest import mock

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import HypothesisException, Unsatisfiable, UnsatisfiedAssumption
from hypothesis.internal.conjecture.providers import HypothesisProvider
from hypothesis.strategies import SearchStrategy

from properties.claims import Broken, show
from properties.watch import Call, Watched
from reference_impl.errors import Inexpressible, NotSupported
from reference_impl.interface import Implementation, Op
from reference_impl.policies import Policy

Inputs = Mapping[str, object]

ALL_CHECKS = tuple(cast("Iterable[HealthCheck]", HealthCheck))
"""Health checks judge strategies; ours are judged in packproof's own tests, not while a target is measured."""

MOST_REFUSED = 100
"""Inputs that a target may be unable to take, without having taken one, before the law is given up."""

FEWEST = 50
"""Examples that must be asked for before a share of them means something; fewer are a quick look."""


class Verdict(StrEnum):
    """What was found of one law on one implementation."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_SUPPORTED = "not supported"
    HUNG = "hung"
    HARNESS_ERROR = "harness error"


@dataclass(frozen=True)
class Activity:
    """The share of examples that must be interesting, lest the law passes on trivial ones.

    Attributes:
        what: the interesting kind, in words.
        holds: tells it from the law's inputs.
        share: at least this part of the examples, between 0 and 1; well below what the strategy really gives.
    """

    what: str
    holds: Callable[..., bool]
    share: float


@dataclass(frozen=True)
class Failure:
    """The smallest failing example found.

    Attributes:
        inputs: arguments of the law by name.
        error: what the law or the target raised.
        calls: operations called in that example.
    """

    inputs: Inputs
    error: BaseException
    calls: tuple[Call, ...]


@dataclass(frozen=True)
class Outcome:
    """Result of running a law.

    Attributes:
        verdict: what was found.
        message: the failure, or why there is no verdict.
        examples: examples that reached the target, those of shrinking included.
        first_failure_at: number of the first example that failed, None if none did.
        seconds: wall time.
        failure: the smallest failing example.
    """

    verdict: Verdict
    message: str = ""
    failure: Failure | None = None
    examples: int = 0
    first_failure_at: int | None = None
    seconds: float = 0.0


def _no_constant(*_: object, **__: object) -> None:
    """Hypothesis mixes numbers that it finds in the modules of the current folder into its draws.

    One seed would then give other examples in another folder, or beside other tests.
    """


class _Stop(BaseException):
    """Leaves Hypothesis at once, without shrinking."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome


class _Enough(BaseException):
    """Leaves Hypothesis when enough inputs are drawn."""


@dataclass
class _Tally:
    examples: int = 0
    refused: int = 0
    active: int = 0
    failure: Failure | None = None
    first_failure_at: int | None = None

    def measured(self, outcome: Outcome, started: float) -> Outcome:
        return replace(
            outcome,
            examples=self.examples,
            first_failure_at=self.first_failure_at,
            seconds=time.perf_counter() - started,
        )


def key_of(id: str, facet: str) -> str:
    """How a law is named in reports, baselines and cases."""
    return f"{id}[{facet}]" if facet else id


def show_policy(policy: Policy) -> str:
    """A policy with its kind, such as ``EmptyRow: left out``."""
    return f"{type(policy).__name__}: {policy}"


@dataclass(frozen=True, eq=False)
class Law:
    """One claim.

    Attributes:
        id: stable, never reused; laws that differ by facet share it.
        facet: the kind of input, or "" when the law has no other facet.
        claim: the name of the test in words.
        text: one sentence.
        harm: what a user suffers when it is broken.
        needs: operations that it calls.
        sources: invariants, corpus entries, documents.
        activity: see ``Activity``.
        guards: what it protects, where no known bug is caught by it; "" for a law that catches one.
        policy: choice that the law belongs to; None when every implementation must obey it.
        check: the law as a plain function of the implementation and its inputs.
        strategies: how inputs are drawn; a law without any is run once.
    """

    id: str
    facet: str
    claim: str
    text: str
    harm: str
    needs: frozenset[Op]
    sources: tuple[str, ...]
    activity: Activity | None
    guards: str
    policy: Policy | None
    check: Callable[..., None]
    strategies: Mapping[str, SearchStrategy[Any]]

    @property
    def key(self) -> str:
        """Identity within the catalogue: id and facet."""
        return key_of(self.id, self.facet)

    def matches(self, glob: str) -> bool:
        """Whether a glob names the law, by its id or by its key."""
        return fnmatchcase(self.id, glob) or fnmatchcase(self.key, glob)

    @property
    def area(self) -> str:
        """Leading letters of the id."""
        return self.id.partition("-")[0]

    def input_types(self) -> dict[str, Any]:
        """Types of the inputs by name, from the annotations of the law."""
        hints = typing.get_type_hints(self.check)
        return {name: hints[name] for name in self.strategies}

    def run(
        self,
        implementation: Implementation,
        *,
        profile: settings | None = None,
        run_seed: int = 0,
        inputs: Sequence[Inputs] | None = None,
    ) -> Outcome:
        """Search for a counterexample.

        Args:
            implementation: what is measured.
            profile: Hypothesis settings; by default those of the loaded profile.
            run_seed: shifts the draws; the same seed gives the same examples.
            inputs: what ``draw`` gave, of this law or of one with the same strategies, to be tried instead.
        """
        missing = self.needs - implementation.operations()
        if missing:
            return Outcome(Verdict.NOT_SUPPORTED, f"the target has no {', '.join(sorted(missing))}")
        if not self.strategies:
            return self.replay(implementation, {})
        if self.policy is not None and not implementation.policies.declares(self.policy):
            return self._undeclared(self.policy)
        chosen = profile or settings.get_profile(settings.get_current_profile_name())
        tally = _Tally()
        watched = Watched(implementation)
        started = time.perf_counter()
        try:
            if inputs is None:
                self._search(watched, tally, chosen, run_seed)
            for given_inputs in inputs or ():
                self._example(watched, tally, copy.deepcopy(dict(given_inputs)), given_inputs)
            outcome = self._passed(tally, chosen.max_examples)
        except _Stop as stop:
            outcome = stop.outcome
        except Unsatisfiable:
            outcome = _never_put(tally)
        except (Exception, SystemExit) as error:
            outcome = self._failed(tally, error, watched)
        return tally.measured(outcome, started)

    def draw(self, number: int, *, profile: settings | None = None, run_seed: int = 0) -> list[Inputs]:
        """The first inputs that ``run`` tries with the same profile and seed on something that obeys the law.

        Fewer than ``number`` when the strategies have no more, or the profile asks for fewer examples.
        """
        if not self.strategies:
            return [{}]
        chosen = profile or settings.get_profile(settings.get_current_profile_name())
        inputs: list[Inputs] = []

        def example(**values: object) -> None:
            inputs.append(values)
            if len(inputs) >= number:
                raise _Enough

        with suppress(_Enough):
            self._given(example, chosen, run_seed)()
        return inputs

    def replay(self, implementation: Implementation, inputs: Inputs) -> Outcome:
        """Run the law on one recorded input, which stays as it is."""
        if self.policy is not None and not implementation.policies.declares(self.policy):
            return self._undeclared(self.policy)
        tally = _Tally()
        watched = Watched(implementation)
        started = time.perf_counter()
        try:
            self._example(watched, tally, copy.deepcopy(dict(inputs)), inputs)
            outcome = Outcome(Verdict.PASSED)
        except _Stop as stop:
            outcome = stop.outcome
        except UnsatisfiedAssumption:
            outcome = Outcome(Verdict.NOT_SUPPORTED, "this input cannot be put to the target")
        except (Exception, SystemExit) as error:
            outcome = self._failed(tally, error, watched)
        return tally.measured(outcome, started)

    @staticmethod
    def _undeclared(policy: Policy) -> Outcome:
        return Outcome(Verdict.NOT_SUPPORTED, f"the target declares another policy than {show_policy(policy)}")

    def _search(self, watched: Watched, tally: _Tally, profile: settings, run_seed: int) -> None:
        def example(**inputs: object) -> None:
            self._example(watched, tally, inputs, copy.deepcopy(inputs))

        self._given(example, profile, run_seed)()

    def _given(self, example: Callable[..., None], profile: settings, run_seed: int) -> Callable[[], None]:
        """The search as Hypothesis runs it, without its own explanation, which is slow and which nothing shows."""
        example.__name__ = re.sub(r"\W", "_", self.key)  # Hypothesis keys its example database by name
        phases = tuple(phase for phase in profile.phases if phase is not Phase.explain)
        quiet = settings(
            profile, suppress_health_check=ALL_CHECKS, report_multiple_bugs=False, deadline=None, phases=phases
        )
        number = zlib.crc32(self.key.encode()) ^ run_seed
        search = seed(number)(quiet(given(**self.strategies)(example)))

        def alike_everywhere() -> None:
            with mock.patch.object(HypothesisProvider, "_maybe_draw_constant", _no_constant):
                search()

        return alike_everywhere

    def _example(self, watched: Watched, tally: _Tally, inputs: Inputs, original: Inputs) -> None:
        """Run the check on ``inputs``; a target may change them, and the case must not change with them."""
        watched.forget()
        try:
            self.check(watched, **inputs)
        except UnsatisfiedAssumption:
            raise
        except Inexpressible as error:
            tally.refused += 1
            if not tally.examples and tally.refused >= MOST_REFUSED:
                raise _Stop(_never_put(tally)) from error
            raise UnsatisfiedAssumption(str(error)) from error
        except NotSupported as error:
            raise _Stop(Outcome(Verdict.NOT_SUPPORTED, f"the target does not support it: {error}")) from error
        except (Exception, SystemExit) as error:
            tally.examples += 1
            tally.first_failure_at = tally.first_failure_at or tally.examples
            tally.failure = Failure(original, error, tuple(watched.calls))
            raise
        except BaseException as error:
            if not _is_time_limit(error):
                raise
            failure = Failure(original, error, tuple(watched.calls))
            raise _Stop(Outcome(Verdict.HUNG, f"the target hangs: {error}", failure)) from error
        tally.examples += 1
        tally.active += self.activity is None or self.activity.holds(**inputs)

    def _passed(self, tally: _Tally, asked: int) -> Outcome:
        if not tally.examples:
            return _never_put(tally)
        activity = self.activity
        if activity and asked >= FEWEST and tally.active < activity.share * tally.examples:
            return Outcome(
                Verdict.HARNESS_ERROR,
                f"only {tally.active} of {tally.examples} examples had {activity.what}; the law asks for"
                f" {activity.share:.0%}",
            )
        return Outcome(Verdict.PASSED)

    def _failed(self, tally: _Tally, error: BaseException, watched: Watched) -> Outcome:
        if tally.failure is None:
            return Outcome(Verdict.HARNESS_ERROR, f"the law itself failed: {show(error)}")
        found = tally.failure
        if isinstance(error, HypothesisException) and error is not found.error:
            return Outcome(Verdict.FAILED, f"the target is not deterministic: {show(found.error)}", found)
        if isinstance(found.error, Broken):
            return Outcome(Verdict.FAILED, str(found.error), found)
        if found.error is watched.escaped:
            operation = found.calls[-1].op.value
            return Outcome(Verdict.FAILED, f"{operation} raised {show(found.error)}", found)
        return Outcome(Verdict.HARNESS_ERROR, f"the law itself failed: {show(found.error)}", found)


def _never_put(tally: _Tally) -> Outcome:
    if not tally.refused:
        return Outcome(Verdict.HARNESS_ERROR, "the law draws no input that it accepts itself")
    return Outcome(Verdict.NOT_SUPPORTED, f"none of {tally.refused} inputs of this law can be put to the target")


def _is_time_limit(error: BaseException) -> bool:
    """pytest-timeout ends a test with ``pytest.fail``, which is no ``Exception``."""
    pytest: Any = sys.modules.get("pytest")
    return pytest is not None and isinstance(error, pytest.fail.Exception)


_catalogue: dict[str, Law] = {}


def law(
    id: str,
    *,
    needs: Iterable[Op],
    harm: str,
    sources: Iterable[str],
    facet: str = "",
    activity: Activity | None = None,
    guards: str = "",
    policy: Policy | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a Hypothesis test as a law; see the module's docstring.

    Raises:
        ValueError: the id and facet are taken, or ``given`` was used without names.
    """

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        check, strategies = _parts(test)
        entry = Law(
            id=id,
            facet=facet,
            claim=test.__name__.removeprefix("test_").replace("_", " "),
            text=inspect.cleandoc(test.__doc__ or ""),
            harm=harm,
            needs=frozenset(needs),
            sources=tuple(sources),
            activity=activity,
            guards=guards,
            policy=policy,
            check=check,
            strategies=strategies,
        )
        if entry.key in _catalogue:
            raise ValueError(f"law {entry.key} exists already: {_catalogue[entry.key].claim}")
        _catalogue[entry.key] = entry
        catalogue.cache_clear()
        test.law = entry  # pyright: ignore[reportFunctionMemberAccess]
        return test

    return decorate


def _parts(test: Callable[..., None]) -> tuple[Callable[..., None], Mapping[str, SearchStrategy[Any]]]:
    """The plain function and the strategies of a test; a test without ``given`` has none and is run once.

    Raises:
        ValueError: ``given`` was used without names.
    """
    handle: Any = getattr(test, "hypothesis", None)
    if handle is None:
        return test, {}
    if not handle._given_kwargs:  # noqa: SLF001 - Hypothesis has no public way to ask a test for its strategies
        raise ValueError(f"{test.__name__}: a law needs @given(name=strategy, ...)")
    return handle.inner_test, handle._given_kwargs  # noqa: SLF001


@cache
def catalogue() -> Mapping[str, Law]:
    """Every law by key, in order of id."""
    from properties import laws  # noqa: PLC0415 - they import this module

    laws.load()
    return MappingProxyType({key: _catalogue[key] for key in sorted(_catalogue)})
