"""What the adapters of packproof declare where packing leaves a choice, without loading any target."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.targets.loading import AUTOMODEL, BRIDGE, CORE, ENGINE, TRL
from conformance.targets.megatron_bridge.adapter import DECLARED, DECLARED_FROM_06
from conformance.targets.nemo_automodel.adapter import DECLARED as DECLARED_BY_AUTOMODEL
from conformance.targets.trl.adapter import DECLARED as DECLARED_BY_TRL
from reference_impl.policies import Policies

POLICIES: Mapping[str, Policies] = {
    "reference": Policies(),
    f"{BRIDGE} up to 0.5": DECLARED,
    f"{BRIDGE} from 0.6": DECLARED_FROM_06,
    CORE: Policies(),
    ENGINE: Policies(),
    TRL: DECLARED_BY_TRL,
    AUTOMODEL: DECLARED_BY_AUTOMODEL,
}
"""By target; a class declares its own with an attribute ``policies``."""
