"""Claims about several ranks, as functions of a target: run on the reference, and on re-created bugs."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from gpu_tests import oracle
from gpu_tests.cases import Case, Method
from gpu_tests.levels import Level, assert_equal, noise_floor
from gpu_tests.programs.attention import attention, layer, layer_weights, simulated_attention
from gpu_tests.programs.slicing import slicing
from gpu_tests.programs.tables import expected_tables, tokens_among
from gpu_tests.ranks import Runner
from gpu_tests.tolerances import FLOAT64_ROUNDINGS
from properties.segments import is_padding, owned_slots, position_of
from reference_impl.attention import attention as reference_attention
from reference_impl.ranks import AttentionInputs


def check_slicing(runner: Runner, target: str, case: Case) -> None:
    """Each rank holds its slots of every array, all ranks hold the same metadata, and gathering gives the batch."""
    results = runner.run(slicing, target, case, context=case.context)
    layout = case.layout
    of_the_stream = {
        "valid boundaries": torch.from_numpy(layout.valid),
        "slot boundaries": torch.from_numpy(layout.padded),
        "raw cu_seqlens": torch.from_numpy(layout.padded.astype(np.int32)),
        "max_seqlen": torch.tensor([max(case.slots)]),
        "positions of tokens": torch.from_numpy(position_of(layout)[~is_padding(layout)]),
    }
    for name, expected in of_the_stream.items():
        assert_equal(f"{name} on rank 0", results[0]["metadata"][name], expected, Level.BITWISE)
    for rank, result in enumerate(results):
        slots = torch.from_numpy(owned_slots(case.layout, case.context, rank))
        for name, whole in result["whole"].items():
            assert_equal(f"{name} of rank {rank}", result["local"][name], whole[slots], Level.BITWISE)
        tokens = tokens_among(layout, slots.numpy())
        expected_here = expected_tables(layout, slots.numpy())
        for name, table in result["tables"].items():
            assert table.shape[-1] == len(tokens), f"{name} of rank {rank}: {table.shape[-1]} slots"
            assert_equal(f"{name} of rank {rank}", table[..., tokens], expected_here[name][..., tokens], Level.BITWISE)
        for name, expected in results[0]["metadata"].items():
            assert_equal(f"{name} on rank {rank}", result["metadata"][name], expected, Level.BITWISE)
        assert result["gathered"].keys() == result["whole"].keys(), f"rank {rank} gathered {list(result['gathered'])}"
        for name, whole in result["whole"].items():
            assert_equal(f"gathered {name}", result["gathered"][name], whole, Level.BITWISE)


def check_attention(runner: Runner, target: str, case: Case, method: Method) -> None:
    """Outputs and gradients equal those of each document alone; gradients at padding are 0 to the bit."""
    results = runner.run(attention, target, case, method, context=case.context)
    assert_slots(results, case)
    exact, plain = oracle.exact(case), oracle.plain(case)
    padding = torch.from_numpy(is_padding(case.layout))
    for name, expected in exact.items():
        got = laid_together(results, name, expected)
        floor = noise_floor(plain[name], expected)
        assert_equal(name, got[~padding], expected[~padding], case.level, floor)
        if name != "out":
            zero = torch.zeros_like(got[padding])
            assert_equal(f"{name} at padding", got[padding].abs(), zero, Level.BITWISE)


def check_simulation(runner: Runner, target: str, case: Case, method: Method) -> None:
    """The target's own account of all ranks, in one process, is what the ranks of the reference really compute."""
    streams = oracle.streams_of(case)  # a case in float64: the target's operation takes nothing else
    inputs = AttentionInputs(*(x.numpy() for x in (streams.q, streams.k, streams.v, streams.d_out)))
    told, again = (runner.run(simulated_attention, target, case, inputs, method)[0] for _ in range(2))
    for name, values in told.items():
        assert_equal(f"{name}, computed again", again[name], values, Level.BITWISE)
    results = runner.run(attention, "reference", case, method, context=case.context)
    padding = torch.from_numpy(is_padding(case.layout))
    for name, values in told.items():
        real = laid_together(results, name, values)
        floor = FLOAT64_ROUNDINGS.value * torch.finfo(torch.float64).eps * max(real[~padding].abs().max().item(), 1.0)
        assert_equal(name, values[~padding], real[~padding], Level.CALIBRATED, floor)
        assert not values[padding].any(), f"{name}: padding has a value"


def check_layer(runner: Runner, target: str, case: Case) -> None:
    """A layer over TP x CP ranks equals the layer on one rank."""
    results = runner.run(layer, target, case, context=case.context, tensor=case.tensor)
    x, w_qkv, w_out, d_out = layer_weights(case)
    expected = one_rank_layer(case, *(value.double() for value in (x, w_qkv, w_out, d_out)))
    plain = one_rank_layer(case, x, w_qkv, w_out, d_out)
    padding = torch.from_numpy(is_padding(case.layout))
    for name in ("out", "d_x"):
        got = laid_together(results, name, expected[name])
        assert_equal(
            name, got[~padding], expected[name][~padding], case.level, noise_floor(plain[name], expected[name])
        )
    heads = {"d_w_qkv": 1, "d_w_out": 0}
    for name, dimension in heads.items():
        for first in range(0, len(results), case.tensor):
            got = torch.cat([result[name] for result in results[first : first + case.tensor]], dim=dimension)
            assert_equal(name, got, expected[name], case.level, noise_floor(plain[name], expected[name]))


def one_rank_layer(case: Case, x: Tensor, w_qkv: Tensor, w_out: Tensor, d_out: Tensor) -> dict[str, Tensor]:
    """The layer of ``programs.attention.layer`` on each document alone."""
    x, w_qkv, w_out = (value.detach().clone().requires_grad_() for value in (x, w_qkv, w_out))
    q, k, v = torch.einsum("th,cndh->ctnd", x, w_qkv)
    out = torch.einsum("tnd,ndh->th", reference_attention(q, k, v, case.layout, causal=case.causal), w_out)
    d_x, d_w_qkv, d_w_out = torch.autograd.grad(out, (x, w_qkv, w_out), d_out)
    return {"out": out.detach(), "d_x": d_x, "d_w_qkv": d_w_qkv, "d_w_out": d_w_out}


def assert_slots(results: list[dict[str, Tensor]], case: Case) -> None:
    """Each rank worked on the slots that are its own."""
    for rank, result in enumerate(results):
        expected = torch.from_numpy(owned_slots(case.layout, case.context, rank))
        assert_equal(f"slots of rank {rank}", result["slots"], expected, Level.BITWISE)


def laid_together(results: list[dict[str, Tensor]], name: str, like: Tensor) -> Tensor:
    """What all ranks hold, each at its slots; slots that no rank holds are NaN."""
    whole = torch.full(like.shape, torch.nan, dtype=results[0][name].dtype)
    for result in results:
        whole[result["slots"]] = result[name]
    return whole
