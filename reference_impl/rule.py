"""What a rule for training configurations is, and the quantities that rules are about."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from reference_impl.config import TrainingConfig
from reference_impl.errors import PackingError


class Severity(StrEnum):
    """What a broken rule means."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True)
class Rule:
    """One rule.

    Attributes:
        id: stable name.
        condition: true of a configuration that breaks the rule.
        message: one sentence with the offending value and the way out, for a configuration that breaks the rule.
        harm: what a run suffers that starts nevertheless.
        source: where the rule comes from; S-numbers and sections are those of the Bridge behaviour specification.
        severity: an error refuses the run, a warning tells of a hazard.
        since: first Bridge release that the rule holds for; None means always.
        until: last Bridge release that the rule holds for, a defect mended later; None means that it stands.
        enforced_since: first Bridge release that refuses while the configuration is built or validated; None means
            that no release does.
        implies: ids of rules that are always broken together with this one.
    """

    id: str
    condition: Callable[[TrainingConfig], bool]
    message: Callable[[TrainingConfig], str]
    harm: str
    source: str
    severity: Severity = Severity.ERROR
    since: str | None = None
    until: str | None = None
    enforced_since: str | None = None
    implies: tuple[str, ...] = ()

    def holds_for(self, release: str | None) -> bool:
        """Whether the rule applies to a Bridge release; None asks for the standing rules.

        Raises:
            PackingError: ``release`` is no release number.
        """
        if release is None:
            return self.until is None
        number = _number(release)
        return not (self.since and number < _number(self.since)) and not (self.until and number > _number(self.until))

    def enforced_in(self, release: str) -> bool:
        """Whether a Bridge release refuses by itself what breaks the rule.

        Raises:
            PackingError: ``release`` is no release number.
        """
        return self.enforced_since is not None and _number(release) >= _number(self.enforced_since)


@dataclass(frozen=True)
class BrokenRule:
    """A rule that a configuration breaks, with the sentence for the user."""

    rule: Rule
    message: str


def pack_size(config: TrainingConfig) -> int:
    """Slots of an offline pack; 0 when offline packing is off."""
    return max(config.offline_size or 0, 0)


def cp_multiple(config: TrainingConfig) -> int:
    """2 * CP: every CP rank owns two chunks of a segment; 1 without context parallelism."""
    return 2 * config.context_parallel_size if config.context_parallel_size > 1 else 1


def pack_multiple(config: TrainingConfig) -> int:
    """lcm(2 * CP, CP * TP): with sequence parallelism, TP ranks also share each CP rank's part evenly."""
    if not config.sequence_parallel or config.tensor_parallel_size <= 1:
        return cp_multiple(config)
    return math.lcm(cp_multiple(config), config.context_parallel_size * config.tensor_parallel_size)


def _number(release: str) -> tuple[int, int, int]:
    found = re.match(r"v?(\d+)\.(\d+)(?:\.(\d+))?", release)
    if found is None:
        raise PackingError("release", release, "must be a Megatron Bridge release such as 0.5.1")
    return int(found[1]), int(found[2]), int(found[3] or 0)
