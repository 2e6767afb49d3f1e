"""Other releases of a target, beside the environment instead of in it.

An overlay is a folder with the wheels of one release. Put first on the import path of a child process, it hides the
installed release::

    PYTHONPATH=~/.cache/packproof/megatron-bridge-0.4.2 python ...

It is made once, checked against the hashes of its wheels each time, and needs no network afterwards.
"""

from __future__ import annotations

import base64
import contextlib
import csv
import errno
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

BRIDGE = "megatron-bridge"
CORE = "megatron-core"
CORES = {"0.3": "0.16.1", "0.4": "0.17.1", "0.5": "0.18.2", "0.6": "0.19.2"}
"""Release of Megatron-Core that each release series of Megatron Bridge was made for."""

COMPANIONS = {"trl": {"accelerate": "1.15.0", "psutil": "7.2.2"}}
"""Wheels that a package's packing code imports beside what `packproof[torch]` and a trainer's environment hold."""


class OverlayError(Exception):
    """A release cannot be had; one clear sentence."""


def core_for(bridge: str) -> str | None:
    """Release of Megatron-Core that belongs to a release of Megatron Bridge; None where none is known."""
    return CORES.get(".".join(bridge.split(".")[:2]))


def overlay(package: str, version: str) -> Path:
    """Folder with a release of a package; Megatron Bridge comes with its Megatron-Core.

    Raises:
        OverlayError: the release does not exist, or it cannot be fetched or stored.
    """
    wanted = _wanted(package, version)
    folder = cache() / f"{package}-{version}"
    if _damage(folder, wanted) is None:
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise OverlayError(
            f"{folder.parent} cannot be written ({error.strerror}); PACKPROOF_CACHE names another"
        ) from error
    try:
        _install(wanted, made)
        damage = _damage(made, wanted)
        if damage:
            raise OverlayError(f"{package} {version} arrived incomplete: {damage}")
        _put(made, folder, wanted)
    except OSError as error:
        raise OverlayError(_storage_sentence(folder, error)) from error
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return folder


def cache() -> Path:
    """Folder of all overlays: ``PACKPROOF_CACHE``, or where this platform keeps caches."""
    named = os.environ.get("PACKPROOF_CACHE")
    if named:
        return Path(named).expanduser().absolute()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "packproof"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "packproof"


def _wanted(package: str, version: str) -> dict[str, str]:
    """The wheels of an overlay: version by distribution name."""
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", package):
        raise OverlayError(f"{package!r} is no name of a package: lower-case letters, digits and single hyphens")
    if not re.fullmatch(r"\d+(\.\d+)*([a-z]+\d+)?(\.(post|dev)\d+)?", version):
        raise OverlayError(f"{version!r} is no release number such as 0.4.2")
    if package != BRIDGE:
        return {package: version, **COMPANIONS.get(package, {})}
    core = core_for(version)
    if core is None:
        raise OverlayError(f"no Megatron-Core is known for Megatron Bridge {version}; known: {', '.join(CORES)}")
    return {BRIDGE: version, CORE: core}


def _damage(folder: Path, wanted: dict[str, str]) -> str | None:
    """What is missing or altered in an overlay; None for a sound one."""
    if not folder.is_dir():
        return "it is missing"
    for name, version in wanted.items():
        record = folder / f"{name.replace('-', '_')}-{version}.dist-info" / "RECORD"
        if not record.is_file():
            return f"{name} {version} is missing"
        for path, digest in _recorded(record):
            file = folder / path
            if not file.is_file() or _digest(file) != digest:
                return f"{path} is missing or altered"
    return None


def _recorded(record: Path) -> Iterator[tuple[str, str]]:
    """Files of a wheel inside its folder, with their hashes; the record itself has none."""
    with record.open(encoding="utf-8", newline="") as file:
        for path, digest, *_ in csv.reader(file):
            if digest.startswith("sha256=") and ".." not in Path(path).parts and not Path(path).is_absolute():
                yield path, digest.removeprefix("sha256=")


def _digest(file: Path) -> str:
    """SHA-256 as wheels write it (PEP 376): URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(hashlib.sha256(file.read_bytes()).digest()).rstrip(b"=").decode()


def _put(made: Path, folder: Path, wanted: dict[str, str]) -> None:
    """Move a sound overlay to its place, unless another process was faster."""
    for _ in range(3):  # others may do the same at the same moment
        try:
            made.rename(folder)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
        else:
            return
        if _damage(folder, wanted) is None:
            return
        aside = tempfile.TemporaryDirectory(prefix=f"{folder.name}.damaged.", dir=folder.parent)
        with aside, contextlib.suppress(FileNotFoundError):
            folder.rename(Path(aside.name) / folder.name)
    raise OverlayError(f"{folder} is damaged and cannot be replaced; delete it")


def _install(wanted: dict[str, str], target: Path) -> None:
    """Fetch wheels into a folder, without what they depend on."""
    requirements = [f"{name}=={version}" for name, version in wanted.items()]
    command = [*_installer(), "--no-deps", "--only-binary", ":all:", "--target", str(target), *requirements]
    result = subprocess.run(command, cwd=target, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if result.returncode:
        raise OverlayError(_sentence(requirements, result.stderr))


def _installer() -> Sequence[str]:
    """The install command of uv, or of pip where there is no uv."""
    # Copies, as a link into uv's own cache would carry damage there.
    options = ("pip", "install", "--python", sys.executable, "--link-mode", "copy")
    uv = shutil.which("uv")
    if uv:
        return [uv, *options]
    for module, arguments in (("uv", options), ("pip", ("install", "--no-compile"))):
        command = [sys.executable, "-m", module]
        if subprocess.run([*command, "--version"], capture_output=True, check=False).returncode == 0:
            return [*command, *arguments]
    raise OverlayError("other releases are fetched with uv or pip, and neither is here: pip install uv")


_NETWORK = re.compile(
    r"failed to fetch|error sending request|network was disabled|temporary failure in name resolution|"
    r"connection (refused|reset|broken|error)|network is unreachable|dns error|timed out|newconnectionerror|"
    r"name or service not known",
    re.IGNORECASE,
)
_SPACE = re.compile(r"no space left|os error 28\b|quota exceeded", re.IGNORECASE)
_UNKNOWN = re.compile(
    r"there is no version of|not found in the package registry|no matching distribution", re.IGNORECASE
)
_NO_WHEEL = re.compile(r"no usable wheels|has no wheels|no wheels with a matching", re.IGNORECASE)


def _sentence(requirements: Sequence[str], output: str) -> str:
    """Why an installer failed."""
    what = " with ".join(requirements)
    if _SPACE.search(output):
        return f"{what} cannot be stored in {cache()}: no space left; PACKPROOF_CACHE names another folder"
    if _NETWORK.search(output):
        return f"{what} cannot be fetched: no network to the package index; an overlay made once works without it"
    if _NO_WHEEL.search(output):
        return f"{what} has no wheel for this Python and platform"
    if _UNKNOWN.search(output):
        return f"{what} does not exist in the package index"
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return f"{what} cannot be installed: {lines[-1] if lines else 'the installer gave no reason'}"


def _storage_sentence(folder: Path, error: OSError) -> str:
    reason = "no space left" if error.errno == errno.ENOSPC else error.strerror or str(error)
    return f"{folder} cannot be made: {reason}; PACKPROOF_CACHE names another folder"
