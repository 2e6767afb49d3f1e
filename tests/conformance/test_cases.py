"""Counterexamples survive the way to a file and back."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import numpy as np
import pytest
from logs import header, section, verdict, write_run

from conformance import baseline, baseline_writer, cases
from conformance.cases import Case, CaseError
from conformance.events import Status
from conformance.targets.loading import load
from properties.claims import Broken
from properties.law import Failure, Verdict, catalogue
from properties.watch import fingerprint


@pytest.mark.parametrize("key", sorted(catalogue()))
def test_inputs_of_every_law_survive_a_case_file(key: str, tmp_path: Path) -> None:
    """What a strategy draws, a case file holds, with dtypes and empty shapes."""
    import warnings

    law = catalogue()[key]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # .example() is for interactive use, which this is
        inputs = {name: strategy.example() for name, strategy in law.strategies.items()}
    case = Case(law=law.id, facet=law.facet, inputs=cases.to_plain(inputs))
    cases.write(case, tmp_path / case.file_name)
    again = cases.inputs_of(cases.read(tmp_path / case.file_name), law)
    assert fingerprint(again) == fingerprint(inputs)


def test_a_range_is_a_sequence_of_numbers() -> None:
    """Laws ask for rows by a range; a program in another language gets the numbers."""
    assert cases.plain(range(1, 4)) == [1, 2, 3]


def test_a_case_of_an_unknown_law_is_refused() -> None:
    with pytest.raises(CaseError, match="there is no law 'NOPE-001'"):
        cases.law_of(Case(law="NOPE-001", inputs={}))


def test_a_case_with_other_inputs_than_its_law_is_refused() -> None:
    law = catalogue()["BIN-001"]
    with pytest.raises(CaseError, match="the law takes"):
        cases.inputs_of(Case(law="BIN-001", inputs={"colour": 1}), law)


def test_a_case_whose_array_has_a_foreign_dtype_is_refused() -> None:
    law = catalogue()["BIN-001"]
    plain = {"lengths": {"dtype": "object", "data": []}, "capacity": 4, "algorithm": "first_fit", "seed": 0}
    with pytest.raises(CaseError, match="object"):
        cases.inputs_of(Case(law="BIN-001", inputs=plain), law)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"law": 3}', b"\x80\x04\x95"])
def test_a_file_that_is_no_case_is_refused_with_its_name(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    path.write_bytes(content)
    with pytest.raises(CaseError, match=r"case\.json is no case file"):
        cases.read(path)


def test_a_missing_case_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CaseError, match="No such file"):
        cases.read(tmp_path / "none.json")


def test_a_case_of_another_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "case.json"
    path.write_bytes(b'{"schema": 2, "law": "BIN-001", "inputs": {}}')
    with pytest.raises(CaseError, match="schema 2"):
        cases.read(path)


def test_an_empty_array_keeps_its_shape() -> None:
    plain = cases.to_plain({"rows": np.zeros((2, 0), dtype=np.int64)})
    assert plain == {"rows": {"dtype": "int64", "data": [[], []], "shape": [2, 0]}}


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    target = tmp_path / "case.json"
    target.mkdir()
    with pytest.raises(OSError, match="directory"):
        cases.write_atomically(target, b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["case.json"]


@pytest.mark.parametrize(
    ("error", "recorded"),
    [
        (Broken("it holds"), {}),
        (Broken("it holds", got=3), {"got": "3"}),
        (Broken("it holds", got=None), {"got": "None"}),
        (Broken("it holds", got=None, expected=0), {"expected": "0", "got": "None"}),
        (ValueError("no"), {"got": "ValueError: no"}),
    ],
)
def test_a_case_holds_the_values_that_the_claim_has(
    error: Exception, recorded: dict[str, str], tmp_path: Path
) -> None:
    """What a claim does not compare is left out of the file, and comes back as nothing; None itself is a value."""
    law = catalogue()["BIN-001"]
    case = cases.record(law, Failure({}, error, ()), str(error), "reference", {})
    cases.write(case, tmp_path / "case.json")
    held = json.loads((tmp_path / "case.json").read_bytes())
    assert {name: held[name] for name in ("expected", "got") if name in held} == recorded
    assert cases.read(tmp_path / "case.json") == case


def test_a_committed_case_shows_a_value_only_where_its_claim_has_one() -> None:
    """Older files hold the word None instead; the message of each says which values there were."""
    claims = 0
    for path in sorted((baseline.FOLDER / "cases").rglob("*.json")):
        case = cases.read(path)
        if "does not hold: " not in case.message:
            continue
        claims += 1
        for name, value in (("expected", case.expected), ("got", case.got)):
            said = any(line.startswith(f"{name:>10}: ") for line in case.message.split("\n"))
            assert (value is not None) == said, f"{path}: {name}"
    assert claims


def test_a_case_without_values_becomes_a_baseline_that_can_be_replayed(tmp_path: Path) -> None:
    """From a run to a baseline to a verdict; no file on the way holds the word None for a value."""
    law = catalogue()["BIN-001"]
    inputs = {"lengths": np.array([1], dtype=np.int64), "capacity": 4, "algorithm": "first_fit", "seed": 0}
    case = cases.record(law, Failure(inputs, Broken("it holds"), ()), "does not hold: it holds", "t", {})
    found = verdict("BIN-001", Status.FAILED, case=f"cases/{case.file_name}")
    folder = write_run(tmp_path / "run", section(header("t"), found), recorded=(case,))
    baseline_writer.write(section(header("t"), found), folder, tmp_path / "t.toml", datetime.date(2026, 1, 1))
    (entry,) = baseline.read(tmp_path / "t.toml").deviations
    written = baseline.read(tmp_path / "t.toml").case_path(entry)
    assert written
    assert "None" not in written.read_text()
    assert law.replay(load("reference"), cases.inputs_of(cases.read(written), law)).verdict is Verdict.PASSED
