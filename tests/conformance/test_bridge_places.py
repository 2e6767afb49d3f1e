"""Where the adapter looks for parts of Bridge, on a toy ``megatron.bridge``: each test asks a fresh process."""

import subprocess
import sys
from pathlib import Path

import pytest

from conformance.targets.megatron_bridge import places
from conformance.targets.megatron_bridge.places import PLACES

OLD = {
    "data/datasets/packing_utils.py": "def first_fit(): pass",
    "data/datasets/packed_sequence.py": "def tokenize_dataset(): pass\ndef prepare_packed_sequence_data(): pass",
}
NEW = {
    "data/packing/algorithms.py": "def first_fit(): pass",
    "data/packing/offline.py": "def tokenize_dataset(*, dataset_builder): pass\n"
    "def prepare_gpt_sft_packed_data(*, dataset_builder): pass",
}
HALF = {"data/packing/offline.py": "", "data/datasets/packed_sequence.py": OLD["data/datasets/packed_sequence.py"]}


def ask(folder: Path, files: dict[str, str], line: str) -> str:
    """Run a line in a process that sees a toy release, and return what it prints."""
    for name, text in ({"__init__.py": "", "data/__init__.py": ""} | files).items():
        path = folder / "megatron" / "bridge" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    code = f"from conformance.targets.megatron_bridge.places import *\n{line}"
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, env={"PYTHONPATH": str(folder)}, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("files", "place"),
    [
        (OLD, "data.datasets.packed_sequence:prepare_packed_sequence_data"),
        (NEW, "data.packing.offline:prepare_gpt_sft_packed_data"),
        (OLD | NEW, "data.packing.offline:prepare_gpt_sft_packed_data"),
        (HALF, "data.datasets.packed_sequence:prepare_packed_sequence_data"),
    ],
    ids=["old", "new", "both", "a new module without the function"],
)
def test_a_part_is_taken_from_the_newest_place_that_has_it(tmp_path: Path, files: dict[str, str], place: str) -> None:
    """A module that exists is not enough: it must hold the function."""
    assert ask(tmp_path, files, "print(place(Part.PREPARE))") == place


def test_a_part_that_is_nowhere_is_not_supported(tmp_path: Path) -> None:
    """The sentence names every place that was looked at."""
    lines = "try: part(Part.WRITE_PARQUET)\nexcept Exception as error: print(type(error).__name__, error)"
    assert ask(tmp_path, OLD, lines) == (
        "NotSupported this release of Megatron Bridge has no data.packing.parquet:write_packed_parquet"
        " and no data.datasets.packed_parquet:write_packed_parquet"
    )


def test_a_report_names_what_was_found_and_nothing_else(tmp_path: Path) -> None:
    """Parts that a release lacks are left out."""
    assert ask(tmp_path, {"data/packing/algorithms.py": ""}, "print(found())") == (
        "{'bin packing': 'megatron.bridge.data.packing.algorithms'}"
    )


def test_what_moved_between_releases_is_named_in_one_place_only() -> None:
    """Elsewhere, an old path would make a part of a newer release *not supported* without a word.

    Modules of ``training`` are there in every release, whatever left them.
    """
    modules = {place.partition(":")[0] for where in PLACES.values() if len(where) > 1 for place in where}
    moved = {module for module in modules if module.startswith("data.")}
    adapter = Path(places.__file__).parent
    named = {
        (source.name, module)
        for source in adapter.glob("*.py")
        if source.name != "places.py"
        for module in moved
        if f'"{module}"' in source.read_text()
    }
    assert not named
