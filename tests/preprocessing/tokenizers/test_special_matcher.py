from __future__ import annotations

import re
from itertools import pairwise

import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from preprocessing.tokenizers.special_matcher import SpecialMatcher, overlapping

SPECIALS = {"<a>": 3, "<ab>": 1, "<a>b": 2, "<abba": 9, "éa": 4}
MATCHER = SpecialMatcher(SPECIALS)
LONGEST_FIRST = re.compile("|".join(sorted(SPECIALS, key=len, reverse=True)))


@tf.function(input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)
def find(texts: tf.Tensor) -> tuple[tf.Tensor, ...]:
    points = tf.strings.unicode_decode(texts, "UTF-8")
    matches = MATCHER.find(points.values, points.row_splits)
    return points.row_splits, matches.start, matches.end, matches.id


def found(texts: list[str]) -> list[list[tuple[str, int]]]:
    rows, starts, ends, ids = (part.numpy() for part in find(tf.constant(texts, tf.string)))
    everything = "".join(texts)
    triples = zip(starts, ends, ids, strict=True)
    spans = [(start, everything[start:end], int(index)) for start, end, index in triples]
    return [
        [(text, index) for start, text, index in spans if low <= start < high] for low, high in pairwise(rows)
    ]


@given(st.lists(st.text(alphabet="<ab>éx"), max_size=5))
@settings(max_examples=200, deadline=None)
def test_it_finds_the_leftmost_longest(texts: list[str]):
    expected = [[(m.group(), SPECIALS[m.group()]) for m in LONGEST_FIRST.finditer(text)] for text in texts]
    assert found(texts) == expected


def test_a_match_never_crosses_texts():
    assert found(["<a", ">b", "<a>", "b"]) == [[], [], [("<a>", 3)], []]


def test_special_tokens_that_may_overlap_are_told():
    assert overlapping(SPECIALS) is None
    assert overlapping({"<a>": 1, "a<b": 2}) == "<a>"
    assert overlapping({"<<": 1}) == "<<"


def test_its_tables_grow_with_the_tokens_letters_only():
    """A table of states and letters would hold two billion numbers here."""
    tokens = {f"<{chr(0x3400 + index)}>": index for index in range(23_000)}
    matcher = SpecialMatcher(tokens)

    signature = [tf.TensorSpec([None], tf.int32), tf.TensorSpec([None], tf.int64)]

    @tf.function(input_signature=signature, autograph=False)
    def find_many(points: tf.Tensor, row_splits: tf.Tensor) -> tf.Tensor:
        return matcher.find(points, row_splits).id

    function = find_many.get_concrete_function()
    assert function.graph.as_graph_def().ByteSize() < 3_000_000
    text = "<\u3400>\u3401<\u3402<\u3403><" + chr(0x3400 + 22_999) + "><" + chr(0x3400 + 23_000) + ">"
    assert function(
        tf.constant(list(map(ord, text))), tf.constant([0, len(text)], tf.int64)
    ).numpy().tolist() == [
        0,
        3,
        22_999,
    ]
