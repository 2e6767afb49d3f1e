"""Counterexamples survive the way to a file and back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from conformance import cases
from conformance.cases import Case, CaseError
from properties.law import catalogue
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
