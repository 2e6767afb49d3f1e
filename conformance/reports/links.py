"""Web addresses of what a text refers to: `Megatron-Bridge #4891`, or an address written out."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_FORGE = "https://github.com"
REPOSITORIES = {
    "Megatron-Bridge": "NVIDIA-NeMo/Megatron-Bridge",
    "Bridge": "NVIDIA-NeMo/Megatron-Bridge",
    "Megatron-LM": "NVIDIA/Megatron-LM",
    "TransformerEngine": "NVIDIA/TransformerEngine",
    "NeMo": "NVIDIA-NeMo/NeMo",
    "NeMo-RL": "NVIDIA-NeMo/RL",
    "NeMo Automodel": "NVIDIA-NeMo/Automodel",
    "torchtune": "meta-pytorch/torchtune",
    "axolotl": "axolotl-ai-cloud/axolotl",
    "slime": "THUDM/slime",
    "TRL": "huggingface/trl",
}
"""Repositories by the name that baselines and the museum use."""

_NAMES = "|".join(re.escape(name) for name in sorted(REPOSITORIES, key=len, reverse=True))
_REFERENCE = re.compile(
    rf"(?<![\w-])(?P<name>{_NAMES})(?: PR| issue)? #(?P<number>\d+)|(?P<address>https?://[^\s<>\"']+)"
)


def links(text: str) -> list[tuple[str, str]]:
    """Label and address of everything in a text that can be opened; nothing but http and https."""
    found = [(match[0], _address(match)) for match in _REFERENCE.finditer(text)]
    return [(label, address) for label, address in found if is_web_address(address)]


def is_web_address(address: str) -> bool:
    """Whether an address is one that a page may link to."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.netloc)


def _address(match: re.Match[str]) -> str:
    if match["address"]:
        return match["address"].rstrip(".,;)")
    return f"{_FORGE}/{REPOSITORIES[match['name']]}/issues/{match['number']}"
