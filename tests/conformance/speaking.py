"""Programs that speak the protocol, well or badly: `python speaking.py MANNER`; nothing but the standard library."""

import json
import sys
from typing import Any


def say(line: object) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def first_fit(lengths: list[int], capacity: int) -> list[list[int]]:
    bins: list[list[int]] = []
    for length in lengths:
        fitting = [content for content in bins if sum(content) + length <= capacity]
        if not fitting:
            bins.append([])
        (fitting or bins[-1:])[0].append(length)
    return bins


def trouble(number: int | None, kind: str, message: str) -> dict[str, Any]:
    return {"id": number, "error": {"kind": kind, "message": message}}


def answer(manner: str, line: str) -> dict[str, Any]:
    try:
        request = json.loads(line)
    except ValueError:
        if manner == "dies of a broken line":
            sys.exit(3)
        return trouble(None, "refused", "no JSON")
    number = request["id"] + 1 if manner == "forgets the id" else request["id"]
    if manner == "knows everything":
        return {"id": number, "result": []}
    if request["operation"] != "assign_bins":
        return trouble(number, "not supported", "only assign_bins")
    if len(request["arguments"]) != 4:
        return trouble(number, "refused", "4 arguments")
    if manner == "prints":
        sys.stdout.write("packing...\n")
    lengths, capacity, *_ = request["arguments"]
    return {"id": number, "result": first_fit(lengths["data"], capacity)}


def main(manner: str) -> None:
    if manner == "says nothing":
        return
    offered = ["assign_bins", "make_coffee"] if manner == "offers coffee" else ["assign_bins"]
    say({"protocol": 2 if manner == "speaks another protocol" else 1, "name": "speaking", "operations": offered})
    for line in sys.stdin:
        say(answer(manner, line))
    if manner == "fails at the end":
        sys.exit(1)


main(sys.argv[1])
