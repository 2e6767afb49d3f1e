"""Programs in other languages: the protocol, and a linter of manners that tells good from bad."""

from __future__ import annotations

import io
import json
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from fakes import Raises

from conformance import protocol
from conformance.manners import any_missing, manners
from conformance.protocol import UNSPEAKABLE, types_of
from conformance.serving import hello_of, serve
from conformance.targets.command import Command, Refused
from conformance.targets.loading import TargetError, describe, load
from properties.law import Verdict, catalogue
from properties.profiles import profile
from reference_impl.batches import Layout, PaddedBatch
from reference_impl.documents import Algorithm
from reference_impl.errors import NotSupported
from reference_impl.interface import Implementation, Op
from reference_impl.reference import ReferenceImplementation

SPEAKING = Path(__file__).with_name("speaking.py")
REFERENCE = shlex.join([sys.executable, "-m", "conformance.serving", "reference"])


def program(manner: str) -> str:
    return shlex.join([sys.executable, str(SPEAKING), manner])


def ints(*values: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return np.array(values, dtype=np.int64)


@pytest.fixture(scope="module")
def served() -> Command:
    """The reference behind the protocol."""
    return Command(shlex.split(REFERENCE))


def test_a_well_behaved_program_has_every_manner() -> None:
    """The fake of thirty lines that does everything right."""
    found = manners(program("well behaved"))
    assert len(found) == 7
    assert not any_missing(found), found


@pytest.mark.parametrize(
    ("manner", "words"),
    [
        ("says nothing", "ended (0) where a hello was due"),
        ("speaks another protocol", "speaks protocol 2"),
        ("offers coffee", "offers make_coffee"),
        ("knows everything", "must be 'not supported'"),
        ("dies of a broken line", "ended (3)"),
        ("forgets the id", "answered 2, but 1 was asked"),
        ("prints", "wrote 'packing...'"),
        ("fails at the end", "exit status 1"),
    ],
)
def test_a_bad_manner_is_named(manner: str, words: str) -> None:
    """Each fake misbehaves in one way, and the linter says which."""
    troubles = [found.trouble for found in manners(program(manner)) if found.trouble]
    assert len(troubles) >= 1
    assert words in troubles[0]


def test_packproof_itself_has_every_manner() -> None:
    """What serves a target is a program like any other."""
    found = manners(REFERENCE)
    assert not any_missing(found), found


def test_a_program_is_measured_by_the_laws_of_what_it_offers() -> None:
    """The fake packs by first fit, but takes what does not fit."""
    target = load(f"command:{program('well behaved')}")
    assert target.operations() == {Op.ASSIGN_BINS}
    assert describe(target).name == "speaking"
    quick = profile("self-check")
    assert catalogue()["BIN-001"].run(target, profile=quick).verdict is Verdict.PASSED
    assert catalogue()["BIN-009[longer than the capacity]"].run(target, profile=quick).verdict is Verdict.FAILED
    assert catalogue()["CPX-001"].run(target, profile=quick).verdict is Verdict.NOT_SUPPORTED


def test_values_survive_the_way_there_and_back(served: Command) -> None:
    """Arrays, dataclasses, absent values and enums arrive as what they were."""
    reference = ReferenceImplementation()
    assert served.assign_bins(ints(5, 3, 4), 8, Algorithm.FIRST_FIT, 0) == ((5, 3), (4,))
    layout = Layout(valid=ints(0, 3, 5), padded=ints(0, 4, 8))
    assert served.partition(layout, 2, 1).tolist() == reference.partition(layout, 2, 1).tolist()
    batch = PaddedBatch(tokens=ints(7, 8, 0)[None], labels=None, loss_mask=None, position_ids=ints(0, 1, 2)[None])
    packed, expected = served.pack_in_batch(batch, 4, 0), reference.pack_in_batch(batch, 4, 0)
    assert packed.labels is None
    assert packed.tokens.tolist() == expected.tokens.tolist()
    assert packed.layout.padded.tolist() == expected.layout.padded.tolist()


@pytest.mark.parametrize(
    ("target", "operation", "arguments", "kind"),
    [
        (ReferenceImplementation(), "assign_bins", [{"dtype": "int64", "data": [5]}, 0, "first_fit", 0], "refused"),
        (ReferenceImplementation(), "assign_bins", [1, 2, 3, 4], "refused"),
        (ReferenceImplementation(), "assign_bins", [], "refused"),
        (ReferenceImplementation(), "read_rows", ["/etc/passwd"], "not supported"),
        (Raises(), "assign_bins", [{"dtype": "int64", "data": [5]}, 8, "first_fit", 0], "accident"),
    ],
)
def test_refusals_and_accidents_stay_apart(
    target: Implementation, operation: str, arguments: list[object], kind: str
) -> None:
    """The kind of an error decides what the laws make of it; files cannot be asked for."""
    out = io.BytesIO()
    line = json.dumps({"id": 7, "operation": operation, "arguments": arguments}).encode()
    serve(target, hello_of(target), [line, b"", line], out)
    _hello, *answers = map(json.loads, out.getvalue().splitlines())
    assert [(answer["id"], answer["error"]["kind"]) for answer in answers] == [(7, kind), (7, kind)]


def test_an_error_of_the_program_is_raised_as_its_kind(served: Command) -> None:
    """As if the operation had been called here."""
    with pytest.raises(Refused, match="capacity"):
        served.assign_bins(ints(5), 0, Algorithm.FIRST_FIT, 0)
    packer = Command(shlex.split(program("well behaved")))
    with pytest.raises(NotSupported):
        packer.partition(Layout(ints(0), ints(0)), 1, 0)


@pytest.mark.parametrize(("target", "words"), [("command:/no/such/program", "cannot be started"), ("command:'", "")])
def test_a_program_that_cannot_be_started_is_one_sentence(target: str, words: str) -> None:
    """With the way out: the linter."""
    with pytest.raises(TargetError, match=r"lint-command") as raised:
        load(target)
    assert words in str(raised.value)


def test_the_schema_knows_every_kind_of_line() -> None:
    """It is made from the code that reads and writes the lines."""
    schema = protocol.json_schema()
    assert {"hello", "request", "answer"} < set(schema)
    assert {"Hello", "Request", "Answer", "Trouble"} <= set(schema["$defs"])
    assert all(types_of(op) for op in set(Op) - UNSPEAKABLE)
