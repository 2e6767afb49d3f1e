"""Loads a target in a process of its own and prints what it is: `python -m conformance.probe TARGET`.

Nothing that a target prints or does while it is imported can harm the process that asks.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys

import msgspec

from conformance.targets.loading import Description, TargetError, describe, load

MARK = "packproof-probe:"
TIME_LIMIT = 300
"""Seconds; the first import of Megatron Bridge compiles for about 20 s here."""


def start(target: str, environment: dict[str, str]) -> subprocess.Popen[str]:
    """Start a probe."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "conformance.probe", target],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        env=environment,
    )


def finish(process: subprocess.Popen[str], target: str) -> Description:
    """Wait for a probe.

    Raises:
        TargetError: the target cannot be loaded, or ended the process, or hangs.
    """
    try:
        output, errors = process.communicate(timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired as error:
        process.kill()
        process.communicate()
        raise TargetError(f"loading {target} takes more than {TIME_LIMIT} s: is it waiting for something?") from error
    answers = [line.removeprefix(MARK) for line in output.splitlines() if line.startswith(MARK)]
    if not answers:
        last = errors.strip().rpartition("\n")[2]
        raise TargetError(f"loading {target} ended the process (exit {process.returncode}): {last}")
    answer = json.loads(answers[-1])
    if "error" in answer:
        raise TargetError(answer["error"])
    return msgspec.convert(answer, Description)


def main(target: str) -> None:
    """Print the description of a target, or why it cannot be loaded."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            answer = msgspec.to_builtins(describe(load(target)))
    except TargetError as error:
        answer = {"error": str(error)}
    print(MARK + json.dumps(answer), flush=True)  # noqa: T201 - this is the answer
    os._exit(0)  # a target may have left threads behind


if __name__ == "__main__":
    main(sys.argv[1])
