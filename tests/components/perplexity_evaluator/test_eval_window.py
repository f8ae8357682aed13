from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from components.perplexity_evaluator.eval_window import choose_windows, fingerprint, length_class
from components.perplexity_evaluator.tokenized_document import TokenizedDocument

BYTES = [b"a", b"bc", b""]
documents = st.lists(st.lists(st.integers(0, 2), max_size=40), min_size=1, max_size=6).map(
    lambda rows: [TokenizedDocument(f"key{i}", f"source{i % 2}", row) for i, row in enumerate(rows)]
)
sizes = st.integers(2, 12).flatmap(lambda context: st.tuples(st.just(context), st.integers(1, context)))


@given(documents, sizes)
def test_enough_tokens_score_every_token_but_the_first_of_each_context(rows, size):
    context, stride = size
    chosen = choose_windows(rows, context=context, stride=stride, num_tokens=10**6, token_bytes=BYTES)
    if stride < context:
        assert sum(w.scored for w in chosen) == sum(max(0, len(row.ids) - 1) for row in rows)
    for window in chosen:
        assert 2 <= len(window.ids) <= context
        assert window.scored_bytes == sum(len(BYTES[i]) for i in window.ids[window.score_from :])


@given(documents, sizes, st.integers(1, 60), st.randoms(use_true_random=False))
def test_the_choice_does_not_depend_on_the_order_of_documents(rows, size, wanted, order: random.Random):
    settings = {"context": size[0], "stride": size[1], "num_tokens": wanted, "token_bytes": BYTES}
    shuffled = order.sample(rows, len(rows))
    first = choose_windows(rows, **settings)
    assert first == choose_windows(shuffled, **settings)
    assert fingerprint(first) == fingerprint(choose_windows(shuffled, **settings))


@given(documents, sizes, st.integers(1, 60))
def test_a_larger_sample_only_adds_windows(rows, size, wanted):
    settings = {"context": size[0], "stride": size[1], "token_bytes": BYTES}
    small = choose_windows(rows, num_tokens=wanted, **settings)
    large = choose_windows(rows, num_tokens=wanted + 20, **settings)
    assert large[: len(small)] == small
    assert sum(w.scored for w in small[:-1]) < wanted


def test_the_fingerprint_tells_ids_and_positions_apart():
    rows = [TokenizedDocument("k", "s", [0, 1, 2, 0, 1])]
    one, two, three = (
        fingerprint(choose_windows(rows, context=c, stride=s, num_tokens=99, token_bytes=BYTES))
        for c, s in ((3, 3), (3, 2), (4, 4))
    )
    assert len({one, two, three}) == 3


def test_length_classes():
    assert [length_class(n) for n in (2, 512, 513, 5000)] == [
        "up to 512 tokens",
        "up to 512 tokens",
        "513 to 2,048 tokens",
        "more than 2,048 tokens",
    ]


def test_of_conversations_the_answers_are_scored_and_their_beginnings_known():
    learned = [False, False, True, True, False, True, True, True]
    chat = TokenizedDocument("k", "chat", [0, 1, 0, 1, 1, 0, 1, 1], learned)
    settings = {"num_tokens": 99, "token_bytes": BYTES}
    chosen = choose_windows([chat], context=8, stride=4, **settings)
    found = sorted(
        (window.ids, window.score_from, window.answer_from, window.scored_bytes) for window in chosen
    )
    assert found == [((0, 1, 0, 1), 2, 2, 3), ((0, 1, 0, 1, 1, 0, 1, 1), 5, 5, 5)]
    split = choose_windows([chat], context=3, stride=1, **settings)
    assert sorted(window.answer_from is None for window in split) == [False, False, True, True, True]
    assert sum(window.scored for window in split) == 5


def test_windows_that_begin_together_have_places_of_their_own_in_the_order():
    learned = [False, True] * 8
    chats = [TokenizedDocument(f"k{i}", "chat", [0] * 16, learned) for i in range(4)]
    chosen = choose_windows(chats, context=32, stride=4, num_tokens=12, token_bytes=BYTES)
    assert len({(window.document, window.score_from) for window in chosen}) == 12
    assert len({window.score_from for window in chosen}) > 3
