"""ATT: attention over a packed stream is attention of each document alone, however ranks share it."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from properties.claims import near, refuses, same
from properties.law import Activity, law
from properties.oracles import attention_of_documents, documents, segments
from properties.segments import is_padding, layout_of, segment_of, slots_per_segment, valid_per_segment
from properties.strategies.layouts import undivisible_layouts, worlds
from properties.strategies.numerics import HEADS, attention_inputs, few_ranks, numbers, seeds, small_layouts
from reference_impl.batches import Layout
from reference_impl.documents import BoolArray
from reference_impl.interface import Implementation, Op
from reference_impl.ranks import AttentionInputs, Exchange

NEEDS = {Op.ATTENTION}
HEAD_COUNTS = st.sampled_from(HEADS)
EXCHANGES = st.sampled_from((Exchange.RING, Exchange.ALL_GATHER))
"""Those that need no number of heads; all-to-all has facets of its own."""


def _two_documents(layout: Layout, **_: object) -> bool:
    return sum(valid_per_segment(layout) > 0) > 1


def _some_padding(layout: Layout, **_: object) -> bool:
    return bool(is_padding(layout).any())


def _three_tokens(layout: Layout, **_: object) -> bool:
    return max(valid_per_segment(layout)) > 2


TWO_DOCUMENTS = Activity("two or more documents", _two_documents, 0.25)
SOME_PADDING = Activity("padding", _some_padding, 0.4)
SPLIT = worlds(at_least=2)

Heads = tuple[int, int]


def _out_is_the_documents(
    implementation: Implementation,
    layout: Layout,
    world: int,
    inputs: AttentionInputs,
    exchange: Exchange,
    causal: bool,
) -> None:
    result = implementation.attention(inputs, layout, world, exchange, causal)
    expected = attention_of_documents(inputs, layout, causal)
    near(result.out, expected.out, "outputs are those of each document alone, and 0 at padding")


def _gradients_are_the_documents(
    implementation: Implementation,
    layout: Layout,
    world: int,
    inputs: AttentionInputs,
    exchange: Exchange,
    causal: bool,
) -> None:
    result = implementation.attention(inputs, layout, world, exchange, causal)
    expected = attention_of_documents(inputs, layout, causal)
    for name in ("grad_q", "grad_k", "grad_v"):
        near(getattr(result, name), getattr(expected, name), f"{name} is that of each document alone, 0 at padding")


# Equal to the documents ----------------------------------------------------------------------------------------------


@law(
    "ATT-001",
    facet="ring",
    needs=NEEDS,
    harm="documents are computed from other tokens than their own",
    sources=("I13", "P-EQUIV", "TE-02", "TE-03"),
    activity=TWO_DOCUMENTS,
)
@given(layout=small_layouts(), world=few_ranks(), heads=HEAD_COUNTS, seed=seeds(), causal=st.booleans())
def test_ring_gives_the_outputs_of_each_document_alone(
    implementation: Implementation, layout: Layout, world: int, heads: Heads, seed: int, causal: bool
) -> None:
    """Merging what the ranks' keys give a query, one rank after another, is attention of its document alone."""
    inputs = attention_inputs(layout, heads, seed)
    _out_is_the_documents(implementation, layout, world, inputs, Exchange.RING, causal)


@law(
    "ATT-001",
    facet="all-gather",
    needs=NEEDS,
    harm="documents are computed from other tokens than their own",
    sources=("I13", "P-EQUIV"),
    activity=TWO_DOCUMENTS,
)
@given(layout=small_layouts(), world=few_ranks(), heads=HEAD_COUNTS, seed=seeds(), causal=st.booleans())
def test_all_gather_gives_the_outputs_of_each_document_alone(
    implementation: Implementation, layout: Layout, world: int, heads: Heads, seed: int, causal: bool
) -> None:
    """The two chunks of a rank against all keys that they may see are attention of their document alone."""
    inputs = attention_inputs(layout, heads, seed)
    _out_is_the_documents(implementation, layout, world, inputs, Exchange.ALL_GATHER, causal)


@law(
    "ATT-001",
    facet="all-to-all",
    needs=NEEDS,
    harm="documents are computed from other tokens than their own",
    sources=("I13", "I22", "P-EQUIV"),
    activity=TWO_DOCUMENTS,
)
@given(layout=small_layouts(), world=few_ranks(), seed=seeds(), causal=st.booleans())
def test_all_to_all_gives_the_outputs_of_each_document_alone(
    implementation: Implementation, layout: Layout, world: int, seed: int, causal: bool
) -> None:
    """Exchanging slots for heads and back leaves attention of each document alone."""
    inputs = attention_inputs(layout, (world, world), seed)
    _out_is_the_documents(implementation, layout, world, inputs, Exchange.ALL_TO_ALL, causal)


@law(
    "ATT-002",
    facet="ring",
    needs=NEEDS,
    harm="the model is trained with the gradients of other documents",
    sources=("I13", "P-EQUIV"),
    activity=TWO_DOCUMENTS,
)
@given(layout=small_layouts(), world=few_ranks(), heads=HEAD_COUNTS, seed=seeds(), causal=st.booleans())
def test_ring_gives_the_gradients_of_each_document_alone(
    implementation: Implementation, layout: Layout, world: int, heads: Heads, seed: int, causal: bool
) -> None:
    """Gradients of keys and values are summed over the ranks whose queries saw them."""
    inputs = attention_inputs(layout, heads, seed)
    _gradients_are_the_documents(implementation, layout, world, inputs, Exchange.RING, causal)


@law(
    "ATT-002",
    facet="all-gather",
    needs=NEEDS,
    harm="the model is trained with the gradients of other documents",
    sources=("I13", "P-EQUIV"),
    activity=TWO_DOCUMENTS,
)
@given(layout=small_layouts(), world=few_ranks(), heads=HEAD_COUNTS, seed=seeds(), causal=st.booleans())
def test_all_gather_gives_the_gradients_of_each_document_alone(
    implementation: Implementation, layout: Layout, world: int, heads: Heads, seed: int, causal: bool
) -> None:
    """Gradients of gathered keys and values are summed over ranks, and scattered back to their slots."""
    inputs = attention_inputs(layout, heads, seed)
    _gradients_are_the_documents(implementation, layout, world, inputs, Exchange.ALL_GATHER, causal)


@law(
    "ATT-002",
    facet="all-to-all",
    needs=NEEDS,
    harm="the model is trained with the gradients of other documents",
    sources=("I13", "I22", "P-EQUIV"),
    activity=TWO_DOCUMENTS,
)
@given(layout=small_layouts(), world=few_ranks(), seed=seeds(), causal=st.booleans())
def test_all_to_all_gives_the_gradients_of_each_document_alone(
    implementation: Implementation, layout: Layout, world: int, seed: int, causal: bool
) -> None:
    """Gradients take the way of heads and slots back."""
    inputs = attention_inputs(layout, (world, world), seed)
    _gradients_are_the_documents(implementation, layout, world, inputs, Exchange.ALL_TO_ALL, causal)


@law(
    "ATT-003",
    needs=NEEDS,
    harm="grouped-query models attend with the keys of another group",
    sources=("I13",),
)
@given(layout=small_layouts(), world=few_ranks(), exchange=EXCHANGES, seed=seeds())
def test_groups_of_heads_share_their_own_keys(
    implementation: Implementation, layout: Layout, world: int, exchange: Exchange, seed: int
) -> None:
    """Of 4 query heads and 2 key heads, the first two queries read the first key head and the others the second."""
    inputs = attention_inputs(layout, (4, 2), seed)
    _out_is_the_documents(implementation, layout, world, inputs, exchange, causal=True)


# No leakage ----------------------------------------------------------------------------------------------------------


def _changed(inputs: AttentionInputs, where: BoolArray, seed: int) -> AttentionInputs:
    """Other numbers in every input at the slots ``where`` (T,)."""
    arrays = {field.name: getattr(inputs, field.name) for field in fields(inputs)}
    return replace(
        inputs,
        **{
            name: np.where(where[:, None, None], 1 + numbers(array.shape, seed + 7), array)
            for name, array in arrays.items()
        },
    )


def _unmoved(
    implementation: Implementation,
    layout: Layout,
    world: int,
    exchange: Exchange,
    changed: BoolArray,
    watched: BoolArray,
    seed: int,
    causal: bool,
    sentence: str,
) -> None:
    """Outputs and gradients at ``watched`` slots stay bit for bit when ``changed`` slots get other numbers."""
    inputs = attention_inputs(layout, (2, 1), seed)
    before = implementation.attention(inputs, layout, world, exchange, causal)
    after = implementation.attention(_changed(inputs, changed, seed), layout, world, exchange, causal)
    for field in fields(before):
        same(getattr(after, field.name)[watched], getattr(before, field.name)[watched], f"{field.name}: {sentence}")


@law(
    "ATT-004",
    needs=NEEDS,
    harm="documents learn from their neighbours in the pack",
    sources=("I14", "P-EQUIV", "MB-20"),
    activity=TWO_DOCUMENTS,
)
@given(
    layout=small_layouts(),
    world=few_ranks(),
    exchange=EXCHANGES,
    document=st.integers(0, 2),
    seed=seeds(),
    causal=st.booleans(),
)
def test_a_document_does_not_change_another(
    implementation: Implementation,
    layout: Layout,
    world: int,
    exchange: Exchange,
    document: int,
    seed: int,
    causal: bool,
) -> None:
    """Other contents of one document leave outputs and gradients of all others as they were, bit for bit."""
    changed = (segment_of(layout) == document) & ~is_padding(layout)
    sentence = "a document does not change another"
    _unmoved(
        implementation, layout, world, exchange, changed, (segment_of(layout) != document), seed, causal, sentence
    )


@law(
    "ATT-005",
    needs=NEEDS,
    harm="padding is attended to",
    sources=("I14", "B31", "ML-30", "TE-03"),
    activity=SOME_PADDING,
)
@given(layout=small_layouts(), world=few_ranks(), exchange=EXCHANGES, seed=seeds(), causal=st.booleans())
def test_padding_changes_nothing(
    implementation: Implementation, layout: Layout, world: int, exchange: Exchange, seed: int, causal: bool
) -> None:
    """Other contents of padding leave outputs and gradients of all documents as they were, bit for bit."""
    padding = is_padding(layout)
    _unmoved(
        implementation, layout, world, exchange, padding, ~padding, seed, causal, "padding does not change documents"
    )


@law(
    "ATT-006",
    needs=NEEDS,
    harm="uninitialised memory at padding reaches weights through the gradients of projections",
    sources=("I13", "TE-03"),
    activity=SOME_PADDING,
)
@given(layout=small_layouts(), world=few_ranks(), exchange=EXCHANGES, seed=seeds())
def test_padding_gets_nothing(
    implementation: Implementation, layout: Layout, world: int, exchange: Exchange, seed: int
) -> None:
    """Outputs and gradients at padding are exactly 0."""
    padding = is_padding(layout)
    result = implementation.attention(attention_inputs(layout, (2, 1), seed), layout, world, exchange, True)
    for field in fields(result):
        values = getattr(result, field.name)[padding]
        same(values, np.zeros_like(values), f"{field.name} is 0 at padding")


@law(
    "ATT-007",
    needs=NEEDS,
    harm="results depend on which documents were packed before",
    sources=("I14", "P-EQUIV"),
    activity=TWO_DOCUMENTS,
)
@given(layout=small_layouts(), world=few_ranks(), exchange=EXCHANGES, seed=seeds())
def test_the_order_of_documents_does_not_matter(
    implementation: Implementation, layout: Layout, world: int, exchange: Exchange, seed: int
) -> None:
    """With its documents in reverse order, a stream has the same outputs in reverse order of documents."""
    inputs = attention_inputs(layout, (2, 1), seed)
    slots = slots_per_segment(layout)
    turned = layout_of(slots[::-1].tolist(), valid_per_segment(layout)[::-1].tolist())
    order = np.array([slot for own in reversed(list(segments(layout))) for slot in range(own.start, own.stop)])
    arrays = {field.name: getattr(inputs, field.name)[order] for field in fields(inputs)}
    straight = implementation.attention(inputs, layout, world, exchange, True)
    reverse = implementation.attention(AttentionInputs(**arrays), turned, world, exchange, True)
    near(reverse.out, straight.out[order], "documents keep their outputs in another order")


@law(
    "ATT-008",
    needs=NEEDS,
    harm="the model sees what it is to predict",
    sources=("I13", "I15"),
    activity=Activity("a document of three tokens", _three_tokens, 0.4),
)
@given(layout=small_layouts(), world=few_ranks(), exchange=EXCHANGES, seed=seeds())
def test_later_tokens_do_not_change_earlier_ones(
    implementation: Implementation, layout: Layout, world: int, exchange: Exchange, seed: int
) -> None:
    """Under a causal mask, another last token of a document leaves the outputs of all earlier ones as they were."""
    inputs = attention_inputs(layout, (1, 1), seed)
    last = np.zeros(layout.padded[-1], dtype=np.bool_)
    last[[own.stop - 1 for own in documents(layout) if own.start < own.stop]] = True
    before = implementation.attention(inputs, layout, world, exchange, True)
    after = implementation.attention(_changed(inputs, last, seed), layout, world, exchange, True)
    same(after.out[~last], before.out[~last], "a token does not change those before it")


@law("ATT-009", needs=NEEDS, harm="runs cannot be reproduced", sources=("TE-09", "P-DET"))
@given(layout=small_layouts(), world=few_ranks(), exchange=EXCHANGES, seed=seeds())
def test_attention_is_the_same_twice(
    implementation: Implementation, layout: Layout, world: int, exchange: Exchange, seed: int
) -> None:
    """The same inputs give the same outputs and gradients, bit for bit."""
    inputs = attention_inputs(layout, (2, 1), seed)
    first = implementation.attention(inputs, layout, world, exchange, True)
    second = implementation.attention(inputs, layout, world, exchange, True)
    for field in fields(first):
        same(getattr(second, field.name), getattr(first, field.name), f"{field.name} is the same twice")


@law(
    "ATT-010",
    needs=NEEDS,
    harm="large scores, as long training brings them, end in NaN",
    sources=("I13", "B32", "P-NAN"),
)
@given(layout=small_layouts(), world=few_ranks(), exchange=EXCHANGES, seed=seeds())
def test_large_scores_stay_finite(
    implementation: Implementation, layout: Layout, world: int, exchange: Exchange, seed: int
) -> None:
    """Scores beyond the range of exp give the outputs of each document alone."""
    small = attention_inputs(layout, (1, 1), seed)
    inputs = replace(small, q=2000 * small.q)
    result = implementation.attention(inputs, layout, world, exchange, True)
    near(result.out, attention_of_documents(inputs, layout, True).out, "large scores give finite outputs")


@law("ATT-011", needs=NEEDS, harm="ranks attend with chunks of different sizes", sources=("I10", "I13"))
@given(layout=undivisible_layouts("no multiple of W", SPLIT), world=SPLIT, exchange=EXCHANGES)
def test_attention_of_undivisible_segments_is_refused(
    implementation: Implementation, layout: Layout, world: int, exchange: Exchange
) -> None:
    """Segments that cannot be cut into 2W equal chunks are refused."""
    inputs = attention_inputs(layout, (1, 1), 0)
    refuses(
        lambda: implementation.attention(inputs, layout, world, exchange, True),
        "every segment has 2W equal chunks, or is refused",
    )
