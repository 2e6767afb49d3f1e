"""Isolation, on a toy ``megatron`` tree: each test asks a fresh process, because imports are global."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

CORE = {
    "megatron/core/__init__.py": "",
    "megatron/core/package_info.py": "__version__ = '9.1+abc1234'",
}
BRIDGE = {
    "megatron/bridge/__init__.py": "import nonexistent.models\nfrom megatron.bridge.models.auto import Auto",
    "megatron/bridge/package_info.py": "__version__ = '8.2+abc1234'",
    "megatron/bridge/models/__init__.py": "",
    "megatron/bridge/models/auto.py": "class Auto: pass",
    "megatron/bridge/data/__init__.py": """
        '''Names.'''
        from nonexistent import Broken
        from megatron.bridge.data.pack import pack
        from .pack import LIMIT as MOST
        from megatron.bridge.data import inner
        from megatron.bridge.data.all import *
        __all__ = ['pack']
        def __getattr__(name):
            if name == 'late':
                return 'late ' + __name__
            raise AttributeError(name)
    """,
    "megatron/bridge/data/pack.py": "LIMIT = 3\ndef pack(): return LIMIT",
    "megatron/bridge/data/inner.py": "",
    "megatron/bridge/data/all.py": "starred = 1",
    "megatron/bridge/busy/__init__.py": "import os\nSIZES = {1: 2}\nfrom megatron.bridge.data.pack import pack",
    "megatron/bridge/noisy.py": "import warnings\nwarnings.warn('old')",
    "megatron/bridge/step.py": """
        import modelopt.torch.distill as mtd
        class Loss(mtd.Base): pass
        def step(model: mtd.Model): return mtd.distill(model)
    """,
}

Ask = Callable[..., str]


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Run lines in a process that sees the toy tree, and return what they print."""
    write(tmp_path / "site", CORE | BRIDGE)

    def run(*lines: str, files: dict[str, str] | None = None) -> str:
        write(tmp_path / "site", files or {})
        code = "\n".join(["from conformance.isolation import *", *map(dedent, lines)])
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code],
            env={"PYTHONPATH": str(tmp_path / "site")},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


def test_packages_are_read_and_not_run(ask: Ask) -> None:
    assert ask("print(activate().how)", "from megatron.bridge.data.pack import pack", "print(pack())") == "isolated\n3"


@pytest.mark.parametrize(
    ("statement", "value"),
    [
        ("from megatron.bridge.data import pack; print(pack())", "3"),
        ("from megatron.bridge.data import MOST; print(MOST)", "3"),
        ("from megatron.bridge.data import inner; print(inner.__name__)", "megatron.bridge.data.inner"),
        ("from megatron.bridge.data import starred; print(starred)", "1"),
        ("from megatron.bridge.data import late; print(late)", "late megatron.bridge.data"),
        ("from megatron.bridge import Auto; print(Auto.__name__)", "Auto"),
        ("import megatron.bridge.data.pack; print(megatron.bridge.data.pack.__name__)", "pack"),
        ("from megatron.bridge.busy import SIZES; print(SIZES)", "{1: 2}"),
        ("import megatron.bridge.noisy; print('quiet')", "quiet"),
    ],
)
def test_names_are_what_the_package_would_bind(ask: Ask, statement: str, value: str) -> None:
    assert ask("activate()", statement) == value


@pytest.mark.parametrize("name", ["megatron.bridge.data.Broken", "megatron.bridge.data.unknown"])
def test_a_name_that_cannot_be_had_is_an_import_error(ask: Ask, name: str) -> None:
    package, _, attribute = name.rpartition(".")
    lines = f"""
        try:
            from {package} import {attribute}
        except ImportError as error:
            print("import error")
    """
    assert ask("activate()", lines) == "import error"


def test_mock_patch_finds_and_restores_a_target(ask: Ask) -> None:
    lines = """
        from unittest import mock
        for module, name in (("megatron.bridge.data", "pack"), ("megatron.bridge.step", "step")):
            with mock.patch(f"{module}.{name}") as fake:
                assert getattr(sys.modules[module], name) is fake
            assert getattr(sys.modules[module], name) is not fake
        from megatron.bridge.data import pack
        print(pack())
    """
    assert ask("import sys", "activate()", lines) == "3"


def test_calling_a_stand_in_is_not_supported_and_the_report_names_it(ask: Ask) -> None:
    lines = """
        from megatron.bridge.step import Loss, step
        for call in (Loss, lambda: step(None)):
            try:
                call()
            except Exception as error:
                print(type(error).__name__, error)
        print(activate().stand_ins)
    """
    assert ask("print(activate().stand_ins)", lines).splitlines() == [
        "()",
        "NotSupported this needs megatron.bridge.step.Loss, which is not installed here",
        "NotSupported this needs modelopt.torch.distill.distill, which is not installed here",
        "('modelopt',)",
    ]


def test_a_package_below_one_that_exists_can_be_stood_in_for(ask: Ask) -> None:
    """``megatron`` is there, ``megatron.energon`` is not; a neighbour that is not listed stays missing."""
    files = {"megatron/bridge/videos.py": "from megatron.energon.epathlib.epath import EPath"}
    lines = """
        import megatron.bridge.videos
        print(activate().stand_ins)
        try:
            import megatron.energy
        except ModuleNotFoundError as error:
            print(error.name)
    """
    printed = ask("activate()", lines, files=files)
    assert printed.splitlines() == ["('megatron.energon',)", "megatron.energy"]


def test_layers_that_need_transformer_engine_are_stood_in_for_where_it_is_absent(ask: Ask) -> None:
    files = {
        "megatron/bridge/peft/__init__.py": "",
        "megatron/bridge/peft/lora_layers.py": "import transformer_engine.pytorch\nclass Layer: pass",
        "megatron/bridge/flops.py": "from megatron.bridge.peft.lora_layers import Layer",
    }
    lines = """
        from megatron.bridge.flops import Layer
        print(isinstance(1, Layer), activate().stand_ins)
    """
    assert ask("activate()", lines, files=files) == "False ('megatron.bridge.peft.lora_layers',)"


def test_versions_are_those_of_the_code_without_the_commit_of_the_current_folder(ask: Ask) -> None:
    printed = ask("v = activate().versions", "print(v['megatron-bridge'], v['megatron-core'], 'torch' in v)")
    assert printed == "8.2 9.1 True"


def test_with_transformer_engine_the_plain_import_is_used(ask: Ask) -> None:
    files = {
        "transformer_engine/pytorch.py": "",
        "transformer_engine/__init__.py": "",
        "megatron/bridge/__init__.py": "RAN = True",
    }
    assert ask("print(activate().how)", "from megatron.bridge import RAN", files=files) == "plain"


def test_a_transformer_engine_that_cannot_be_loaded_counts_as_absent(ask: Ask) -> None:
    files = {
        "transformer_engine/pytorch.py": "raise OSError('libcuda.so.1')",
        "transformer_engine/__init__.py": "",
        "megatron/core/__init__.py": "try:\n import transformer_engine\n TE = True\nexcept ImportError:\n TE = False",
    }
    assert ask("print(activate().how)", "from megatron.core import TE; print(TE)", files=files) == "isolated\nFalse"


def test_a_checkout_is_put_before_the_installed_release(ask: Ask, tmp_path: Path) -> None:
    write(tmp_path / "src", BRIDGE | {"megatron/bridge/package_info.py": "__version__ = '8.3'"})
    lines = f"""
        from pathlib import Path
        for _ in range(2):
            print(activate(Path({str(tmp_path)!r}, "src")).versions["megatron-bridge"])
        print(activate().location.relative_to({str(tmp_path)!r}))
    """
    assert ask(lines).splitlines() == ["8.3", "8.3", "src/megatron/bridge"]


def test_a_second_checkout_needs_a_new_process(ask: Ask, tmp_path: Path) -> None:
    lines = """
        from pathlib import Path
        try:
            activate(Path("elsewhere"))
        except IsolationError as error:
            print(error)
    """
    write(tmp_path / "elsewhere", BRIDGE)
    assert "start a new process" in ask("activate()", lines)
    assert "holds no megatron/bridge" in ask(lines.replace("elsewhere", "nowhere"))


def test_a_missing_package_is_told_with_the_way_out(ask: Ask) -> None:
    lines = """
        try:
            activate()
        except IsolationError as error:
            print(error)
    """
    printed = ask(lines, files={"megatron/core/__init__.py": "import nonexistent"})
    assert "No module named 'nonexistent'" in printed
    assert "pip install" in printed
