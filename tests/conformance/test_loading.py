"""Target specifications, and what is said when they cannot be followed."""

from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from conformance.targets.duck_typed import DuckTyped
from conformance.targets.loading import KNOWN, TargetError, TargetSpec, adapt, describe, load, parse
from properties.museum import museum
from reference_impl.errors import NotSupported
from reference_impl.interface import Op
from reference_impl.reference import ReferenceImplementation


class Packer:
    """A user's class."""

    def __init__(self) -> None:
        self.calls = 0

    def assign_bins(self, *_arguments: object) -> tuple[tuple[int, ...], ...]:
        """Count the calls."""
        self.calls += 1
        return ((self.calls,),)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder that is not on the import path yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("nowhere")  # so that what loading adds is taken off again
    return tmp_path


def module(folder: Path, name: str, text: str) -> None:
    (folder / f"{name}.py").write_text(dedent(text))


@pytest.mark.parametrize(
    ("target", "spec"),
    [
        ("reference", TargetSpec("reference")),
        ("megatron-bridge", TargetSpec("megatron-bridge")),
        ("megatron-bridge==0.4.2", TargetSpec("megatron-bridge", version="0.4.2")),
        ("megatron-bridge@src/bridge", TargetSpec("megatron-bridge", location="src/bridge")),
        ("module:pkg.mod:Class", TargetSpec("module", location="pkg.mod:Class")),
        ("museum:MB-12", TargetSpec("museum", location="MB-12")),
    ],
)
def test_every_form_is_taken_apart(target: str, spec: TargetSpec) -> None:
    assert parse(target) == spec


@pytest.mark.parametrize(
    "target", ["", "referense", "module:", "module:a", "module:a:b:c", "megatron-bridge==", "x:y"]
)
def test_anything_else_is_refused_with_the_known_forms(target: str) -> None:
    with pytest.raises(TargetError) as raised:
        parse(target)
    assert all(form in str(raised.value) for form in KNOWN)


def test_a_misspelt_target_is_told_what_was_meant() -> None:
    with pytest.raises(TargetError, match="did you mean reference"):
        parse("refernce")


def test_the_reference_is_described_with_our_version() -> None:
    description = describe(load("reference"))
    assert description.name == "reference"
    assert description.version == description.versions["packproof"]
    assert set(description.operations) == {op.value for op in ReferenceImplementation().operations()}


def test_a_part_of_the_reference_has_the_named_operations_only() -> None:
    part = load("reference:assign_bins,collate")
    assert part.operations() == {Op.ASSIGN_BINS, Op.COLLATE}
    assert describe(part).name == "reference"


def test_a_part_of_the_reference_that_does_not_exist_is_refused_with_the_operations() -> None:
    with pytest.raises(TargetError, match=r"'fold' .*assign_bins"):
        load("reference:assign_bins,fold")


def test_any_class_with_methods_named_after_operations_is_a_target(here: Path) -> None:
    module(here, "packer_a", "class P:\n    def assign_bins(self, lengths, capacity, algorithm, seed): return ((1,),)")
    target = load("module:packer_a:P")
    assert target.operations() == {Op.ASSIGN_BINS}
    assert describe(target).name == "P"


def test_an_implementation_is_taken_as_it_is(here: Path) -> None:
    text = """
        from reference_impl.reference import ReferenceImplementation
        class Mine(ReferenceImplementation):
            pass
    """
    module(here, "packer_b", text)
    target = load("module:packer_b:Mine")
    assert isinstance(target, ReferenceImplementation)
    assert describe(target).name == "Mine"


def test_operations_reach_the_object_that_was_given() -> None:
    packer = Packer()
    assert adapt(packer).assign_bins(np.zeros(0, dtype=np.int64), 1, "first_fit", 0) == ((1,),)  # pyright: ignore[reportArgumentType]
    assert packer.calls == 1


def test_an_operation_that_the_object_lacks_is_not_supported() -> None:
    with pytest.raises(NotSupported):
        adapt(Packer).histogram(np.zeros(0, dtype=np.int64), 1)


def test_every_operation_of_the_interface_is_passed_on() -> None:
    assert all(op.value in vars(DuckTyped) for op in Op)


@pytest.mark.parametrize(
    ("text", "target", "said"),
    [
        (None, "module:no_such_module:C", "there is no module 'no_such_module'"),
        ("import no_such_dependency", "module:bad_a:C", "No module named 'no_such_dependency'; install what it needs"),
        ("1 / 0", "module:bad_b:C", "fails while it is imported (ZeroDivisionError: division by zero)"),
        ("raise SystemExit(3)", "module:bad_c:C", "fails while it is imported (SystemExit: 3)"),
        ("class Packer: pass", "module:bad_d:Paker", "has no class 'Paker'; did you mean Packer?"),
        ("x = 1", "module:bad_e:x", "has no class 'x'; its classes: none"),
        ("class C:\n    def __init__(self): raise OSError('disk')", "module:bad_f:C", "C() fails (OSError: disk)"),
        ("class C:\n    def __init__(self, size): pass", "module:bad_g:C", "made without arguments"),
    ],
)
def test_what_is_wrong_with_a_module_is_one_clear_sentence(
    here: Path, text: str | None, target: str, said: str
) -> None:
    if text is not None:
        module(here, target.split(":")[1], text)
    with pytest.raises(TargetError) as raised:
        load(target)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_bug_of_the_museum_is_a_target() -> None:
    for id, bug in list(museum().items())[:1]:
        assert type(load(f"museum:{id}")) is bug.implementation


def test_an_unknown_bug_is_told_where_the_known_ones_are_listed() -> None:
    with pytest.raises(TargetError, match="packproof list bugs"):
        load("museum:XX-99")
