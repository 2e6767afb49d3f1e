"""Nothing slow happens without need: no padded arrays where nothing is padded, no waiting for the device."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from conformance import isolation
from conformance.targets.loading import load
from gpu_tests.cases import STREAMS, case_of
from gpu_tests.parallel.cut import boundary_metadata
from reference_impl.interface import Implementation

pytestmark = [pytest.mark.suite("silent-costs"), pytest.mark.one_gpu]


@pytest.fixture(scope="module")
def implementation(target: str) -> Implementation:
    """What ``--target`` names, in this process."""
    return load(target)


@pytest.mark.parametrize("name", STREAMS)
def test_padded_arrays_are_there_exactly_where_something_is_padded(name: str, implementation: Implementation) -> None:
    """Kernels take a slower path when they get both arrays (Megatron Bridge PR #2039)."""
    case = case_of(name)
    params = implementation.sequence_params(boundary_metadata(case.layout))
    padded = case.lengths != case.slots
    for array in (params.cu_seqlens_q_padded, params.cu_seqlens_kv_padded):
        assert (array is not None) == padded, f"{name}: padded boundaries {array}"


@pytest.mark.parametrize("name", ["nothing padded", "aligned", "one document"])
def test_valid_lengths_that_equal_the_slots_are_no_reason_for_padded_arrays(
    name: str, implementation: Implementation
) -> None:
    """A batch may carry both arrays although they are equal."""
    layout = case_of(name).layout
    metadata = boundary_metadata(layout)
    both = type(metadata)(**{**vars(metadata), "cu_seqlens_unpadded": layout.valid.astype(np.int32)})
    params = implementation.sequence_params(both)
    assert params.cu_seqlens_q_padded is None
    assert params.cu_seqlens_kv_padded is None


@pytest.mark.suite("no-sync")
@pytest.mark.parametrize("name", ["padding between", "nothing padded"])
def test_packed_parameters_are_built_without_waiting_for_the_device(name: str) -> None:
    """With the number of true entries given on the host, as the collation gives it."""
    batch, build = _device_batch(name), _bridge_params()
    with _no_waiting():
        build(batch)


@pytest.mark.suite("no-sync")
def test_without_the_number_of_true_entries_building_them_waits() -> None:
    """A control: the smallest entry has to be found on the device and read."""
    batch = {key: value for key, value in _device_batch("padding between").items() if "argmin" not in key}
    build = _bridge_params()
    with pytest.raises(RuntimeError, match="synchroniz"), _no_waiting():
        build(batch)


@contextlib.contextmanager
def _no_waiting() -> Iterator[None]:
    """Raise at any synchronisation between host and device; the mode is that of the process, so it must not stay."""
    torch.cuda.synchronize()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls the mode a prototype
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


def _device_batch(name: str) -> dict[str, Any]:
    """A batch as Bridge's step has it: boundaries on the device, their numbers of true entries on the host."""
    metadata = boundary_metadata(case_of(name).layout, sentinels=3)
    arrays = {"cu_seqlens": metadata.cu_seqlens, "cu_seqlens_unpadded": metadata.cu_seqlens_unpadded}
    batch: dict[str, Any] = {key: torch.from_numpy(array).cuda() for key, array in arrays.items() if array is not None}
    batch["cu_seqlens_argmin"] = torch.tensor(metadata.argmin)
    if metadata.cu_seqlens_unpadded is not None:
        batch["cu_seqlens_unpadded_argmin"] = torch.tensor(metadata.unpadded_argmin)
    batch["max_seqlen"] = torch.tensor(metadata.max_seqlen)
    return batch


def _bridge_params() -> Callable[[dict[str, Any]], Any]:
    """Bridge's function, imported before anybody watches."""
    isolation.activate()
    module: Any = importlib.import_module("megatron.bridge.training.utils.packed_seq_utils")
    build: Callable[[dict[str, Any]], Any] = module.get_packed_seq_params
    return build
