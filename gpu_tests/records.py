"""Records of what a device computed: inputs, boundaries and outputs of a case in one small file.

A record made on a GPU tonight can be held against a claim that is written next month, on a laptop.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from gpu_tests.cases import Case
from gpu_tests.levels import Level, assert_equal, noise_floor
from gpu_tests.oracle import Results, Streams, attend, streams_of
from properties.segments import is_padding
from reference_impl.batches import Layout

INPUTS = ("q", "k", "v", "d_out")
OUTPUTS = ("out", "d_q", "d_k", "d_v")


@dataclass(frozen=True, eq=False)
class Record:
    """One case on one device.

    Attributes:
        layout: boundaries of the stream.
        causal: whether a token saw only earlier ones.
        level: how equal the outputs have to be.
        streams: inputs, (T, H, D) each.
        results: outputs and gradients, (T, H, D) each.
        about: what computed them: kernel, device, release of torch, case.
    """

    layout: Layout
    causal: bool
    level: Level
    streams: Streams
    results: Results
    about: Mapping[str, str]


def write(folder: Path, case: Case, kernel: str, device: str, results: Results) -> Path:
    """Write a record and return its path."""
    streams = streams_of(case)
    tensors: dict[str, Tensor] = {name: getattr(streams, name).contiguous() for name in INPUTS}
    tensors |= {name: results[name].contiguous() for name in OUTPUTS}
    tensors |= {name: torch.from_numpy(getattr(case.layout, name)) for name in ("valid", "padded")}
    about = {
        "case": str(case),
        "kernel": kernel,
        "device": device_name(device),
        "torch": torch.__version__,
        "causal": str(case.causal),
        "level": case.level.value,
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{kernel}-{case}-{device}.safetensors".replace(" ", "_")
    save_file(tensors, path, about)
    return path


def device_name(device: str) -> str:
    """What a record calls a device."""
    return torch.cuda.get_device_name() if device == "cuda" else platform.machine()


def read(path: Path) -> Record:
    """Read a record.

    Raises:
        ValueError: the file lacks a tensor or what computed it.
    """
    with safe_open(path, framework="pt") as file:
        about = dict(file.metadata() or {})
        missing = {*INPUTS, *OUTPUTS, "valid", "padded"} - set(file.keys())
        if missing or not {"causal", "level"} <= set(about):
            raise ValueError(f"{path} is no record: it lacks {', '.join(sorted(missing)) or 'its description'}")
        tensors = {name: file.get_tensor(name) for name in (*INPUTS, *OUTPUTS, "valid", "padded")}
    return Record(
        layout=Layout(np.asarray(tensors["valid"]), np.asarray(tensors["padded"])),
        causal=about["causal"] == "True",
        level=Level(about["level"]),
        streams=Streams(*(tensors[name] for name in INPUTS)),
        results={name: tensors[name] for name in OUTPUTS},
        about=about,
    )


def check(record: Record) -> None:
    """Raise unless what was recorded equals each document alone, as the reference computes it here and now."""
    exact = attend(record.streams.to(torch.float64), record.layout, causal=record.causal)
    plain = attend(record.streams, record.layout, causal=record.causal)
    padding = torch.from_numpy(is_padding(record.layout))
    for name, expected in exact.items():
        got = record.results[name]
        floor = noise_floor(plain[name], expected)
        assert_equal(f"{name} of {record.about}", got[~padding], expected[~padding], record.level, floor)
        if name != "out":
            assert not got[padding].any(), f"{name} of {record.about}: padding has a gradient"
