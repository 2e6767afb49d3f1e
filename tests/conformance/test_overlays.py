"""Overlays: other releases beside the environment, made once and sound."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conformance import overlays
from conformance.overlays import OverlayError, core_for, overlay

FAKE_UV = """
import base64, hashlib, os, pathlib, sys
with open(os.environ["FAKE_UV_LOG"], "a") as log:
    log.write(" ".join(sys.argv[1:]) + "\\n")
if os.environ.get("FAKE_UV_ERROR"):
    sys.exit(os.environ["FAKE_UV_ERROR"])
target = pathlib.Path(sys.argv[sys.argv.index("--target") + 1])
for requirement in (word for word in sys.argv if "==" in word):
    name, version = requirement.replace("-", "_").split("==")
    module = target / name / "module.py"
    module.parent.mkdir()
    module.write_text(f"version = {version!r}")
    digest = base64.urlsafe_b64encode(hashlib.sha256(module.read_bytes()).digest()).rstrip(b"=").decode()
    info = target / f"{name}-{version}.dist-info"
    info.mkdir()
    rows = [f"{name}/module.py,sha256={digest},1", f"../../bin/{name},sha256=x,1", f"{info.name}/RECORD,,"]
    (info / "RECORD").write_text("\\n".join(rows))
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fake uv on the path and an empty cache; returns the log of its calls."""
    script, program = tmp_path / "fake_uv.py", tmp_path / "bin" / "uv"
    script.write_text(FAKE_UV)
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "{script}" "$@"\n')
    program.chmod(0o755)
    log = tmp_path / "calls.txt"
    log.touch()
    monkeypatch.setenv("PATH", str(program.parent))
    monkeypatch.setenv("FAKE_UV_LOG", str(log))
    monkeypatch.setenv("PACKPROOF_CACHE", str(tmp_path / "cache"))
    return log


def test_megatron_bridge_comes_with_its_megatron_core(calls: Path, tmp_path: Path) -> None:
    folder = overlay("megatron-bridge", "0.4.2")
    assert folder == tmp_path / "cache" / "megatron-bridge-0.4.2"
    assert {path.name for path in folder.iterdir() if not path.name.endswith("info")} == {
        "megatron_bridge",
        "megatron_core",
    }
    words = calls.read_text().split()
    assert words[-2:] == ["megatron-bridge==0.4.2", "megatron-core==0.17.1"]
    assert "--no-deps" in words


def test_another_package_comes_alone(calls: Path) -> None:
    overlay("megatron-core", "0.17.1")
    assert [word for word in calls.read_text().split() if "==" in word] == ["megatron-core==0.17.1"]


def test_trl_comes_with_what_its_trainer_imports(calls: Path) -> None:
    """The rest is in the environment of any trainer."""
    overlay("trl", "1.16.0")
    assert [word for word in calls.read_text().split() if "==" in word] == [
        "trl==1.16.0",
        *(f"{name}=={version}" for name, version in overlays.COMPANIONS["trl"].items()),
    ]


def test_an_overlay_is_used_again_without_the_installer(calls: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = overlay("megatron-core", "0.17.1")
    monkeypatch.setenv("FAKE_UV_ERROR", "no network")
    assert overlay("megatron-core", "0.17.1") == first
    assert len(calls.read_text().splitlines()) == 1


@pytest.mark.parametrize("harm", ["alter", "delete", "forget"])
def test_a_damaged_overlay_is_made_anew(harm: str, calls: Path, tmp_path: Path) -> None:
    folder = overlay("megatron-core", "0.17.1")
    module = folder / "megatron_core" / "module.py"
    if harm == "alter":
        module.write_text("version = 'evil'")
    elif harm == "delete":
        module.unlink()
    else:
        (folder / "megatron_core-0.17.1.dist-info").rename(folder / "elsewhere")
    assert overlay("megatron-core", "0.17.1") == folder
    assert module.read_text() == "version = '0.17.1'"
    assert len(calls.read_text().splitlines()) == 2
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [folder.name]


@pytest.mark.usefixtures("calls")
def test_several_at_once_share_one_sound_overlay(tmp_path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        folders = set(pool.map(lambda _: overlay("megatron-bridge", "0.3.1"), range(4)))
    assert len(folders) == 1
    assert overlays._damage(folders.pop(), {"megatron-bridge": "0.3.1", "megatron-core": "0.16.1"}) is None
    assert len(list((tmp_path / "cache").iterdir())) == 1


FAILURES = {
    "cause: Because there is no version of megatron-core==9.9 and you require": "does not exist",
    "ERROR: No matching distribution found for megatron-core==9.9": "does not exist",
    "error: Failed to fetch: `https://index.invalid/simple/megatron-core/`": "no network",
    "hint: Packages were unavailable because the network was disabled": "no network",
    "error: failed to copy file: No space left on device (os error 28)": "no space left",
    "cause: Because megatron-core==9.9 has no usable wheels and you require": "no wheel for this Python",
    "error: something new": "something new",
}


@pytest.mark.usefixtures("calls")
@pytest.mark.parametrize("output", FAILURES)
def test_a_failure_is_one_sentence_and_leaves_nothing(
    output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_UV_ERROR", output)
    with pytest.raises(OverlayError, match=FAILURES[output]) as caught:
        overlay("megatron-core", "9.9")
    assert "megatron-core==9.9" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.parametrize(
    ("package", "version"),
    [("--index-url", "1"), ("../evil", "1"), ("megatron-core", "latest"), ("megatron-core", "1 --pre"), ("x", "../1")],
)
def test_a_name_that_could_be_an_option_or_a_path_is_refused(package: str, version: str, calls: Path) -> None:
    with pytest.raises(OverlayError):
        overlay(package, version)
    assert calls.read_text() == ""


def test_a_bridge_without_a_known_core_is_refused(calls: Path) -> None:
    with pytest.raises(OverlayError, match="no Megatron-Core is known"):
        overlay("megatron-bridge", "9.9.9")
    assert calls.read_text() == ""


@pytest.mark.usefixtures("calls")
def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("PACKPROOF_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(OverlayError, match="cannot be written"):
        overlay("megatron-core", "0.17.1")


@pytest.mark.usefixtures("calls")
def test_without_uv_and_pip_the_way_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr(
        "subprocess.run", lambda command, **_: subprocess.CompletedProcess(command, returncode=1, stdout="", stderr="")
    )
    with pytest.raises(OverlayError, match="pip install uv"):
        overlay("megatron-core", "0.17.1")


def test_the_cache_has_its_usual_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PACKPROOF_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    monkeypatch.setattr("sys.platform", "linux")
    assert overlays.cache() == Path("/somewhere/packproof")


def test_each_bridge_has_its_core() -> None:
    assert [core_for(release) for release in ("0.3.1", "0.4.2", "0.5.1", "0.6.2", "0.9.0")] == [
        "0.16.1",
        "0.17.1",
        "0.18.2",
        "0.19.2",
        None,
    ]


IMPORT = """
from conformance import isolation
imported = isolation.activate()
import megatron.core
from conformance.targets.megatron_bridge import places
assert places.has(places.Part.PREPARE)
import megatron.bridge.training.config, megatron.bridge.training.vlm_step, megatron.bridge.training.gpt_step
print(imported.versions["megatron-bridge"], imported.versions["megatron-core"], megatron.core.__file__)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("bridge", "core"), [("0.3.1", "0.16.1"), ("0.4.2", "0.17.1"), ("0.6.2", "0.19.2")])
def test_an_overlay_hides_the_installed_release(bridge: str, core: str, tmp_path: Path) -> None:
    folder = overlay("megatron-bridge", bridge)
    result = subprocess.run(
        [sys.executable, "-c", IMPORT],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    last = result.stdout.strip().splitlines()[-1]  # importing Bridge 0.6 logs to the standard output
    assert last.split() == [bridge, core, str(folder / "megatron" / "core" / "__init__.py")]
