"""Only what can be opened safely becomes a link."""

from __future__ import annotations

import pytest

from conformance.reports.links import is_web_address, links


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("Megatron-Bridge #4891", "https://github.com/NVIDIA-NeMo/Megatron-Bridge/issues/4891"),
        ("Megatron-Bridge PR #5213", "https://github.com/NVIDIA-NeMo/Megatron-Bridge/issues/5213"),
        ("NeMo-RL #2529", "https://github.com/NVIDIA-NeMo/RL/issues/2529"),
        ("see https://example.org/a?b=1&c=2.", "https://example.org/a?b=1&c=2"),
    ],
)
def test_references_and_addresses_become_links(text: str, address: str) -> None:
    assert [found for _, found in links(text)] == [address]


@pytest.mark.parametrize(
    "text",
    ["own mutation", "Somebody-Else #12", "javascript:alert(1)", "data:text/html,<b>", "http://", "X-Megatron-LM #1"],
)
def test_anything_else_stays_text(text: str) -> None:
    assert links(text) == []
    assert not is_web_address(text)


def test_one_text_may_hold_several_links() -> None:
    labels = [label for label, _ in links("Megatron-Bridge #5470, Megatron-LM #6111 (specification S8)")]
    assert labels == ["Megatron-Bridge #5470", "Megatron-LM #6111"]
