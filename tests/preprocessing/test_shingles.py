from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preprocessing.shingles import shingles

words = st.lists(st.text("abcäö1_", min_size=1, max_size=4), max_size=30)


@given(words, st.integers(1, 6))
def test_equal_runs_of_words_have_equal_hashes_and_others_do_not(texts, size):
    found = shingles(" ".join(texts), size)
    runs = [tuple(texts[i : i + size]) for i in range(max(len(texts) - size + 1, min(1, len(texts))))]
    assert len(found) == len(runs)
    assert len(set(found.tolist())) == len(set(runs))
    assert found.dtype == np.uint64


@settings(deadline=None)
@given(words, st.integers(1, 6), st.sampled_from(["\n", " , ", "\t— ", ".\n", "; “", "? "]))
def test_case_space_and_the_punctuation_of_sentences_do_not_matter(texts, size, between):
    plain = shingles(" ".join(texts), size)
    np.testing.assert_array_equal(plain, shingles(between.join(texts).upper(), size))


def test_order_and_size_matter():
    assert shingles("a b", 2) != shingles("b a", 2)
    assert shingles("a a", 2) != shingles("a", 2)
    assert shingles("a b", 2) == shingles("a b", 5)


def test_the_hashes_are_the_same_on_every_machine():
    assert shingles("The quick brown fox", 2).tolist() == [
        15166165718632324157,
        16167121680100493174,
        9842711747593323457,
    ]


OPERATORS = ("+", "-", "*", "/", "%", "&", "|", "^", "**", "==", "!=", "<", "<=", "≤", "=", ":=", "->", "@")
FUNCTION = """def f(a, b):
    total = a {op} b
    values = [total {op} a, total {op} b, a, b]
    return values
"""


def likeness(one: str, other: str, size: int = 7) -> float:
    a, b = (set(shingles(text, size).tolist()) for text in (one, other))
    return len(a & b) / len(a | b)


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(OPERATORS, 2)))
def test_code_with_another_operator_is_another_text(one, other):
    assert likeness(FUNCTION.format(op=one), FUNCTION.format(op=other)) < 0.5


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("(a + b) * c", "a + (b * c)"),
        ("x[1:]", "x[:1]"),
        ("[a, b]", "{a, b}"),
        ("f(a.b)", "f(a, b)"),
        ("if (!found)", "if (found)"),
        ("price: €5", "price: $5"),
        ("nice 🎉", "nice 💣"),
    ],
)
def test_a_sign_that_changes_the_meaning_counts(one, other):
    assert likeness(one, other) < 0.5


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('He said, "It\'s late."', "HE SAID: “it’s late”".replace(":", " —")),
        ("It is late. We go!", "it is late; we go..."),
        ("for x in values: f( x,y )", "for x in values:\n\tf(x, y)"),
        ("caf\u00e9 \ufb01ne", "cafe\u0301 fine"),
        ("hm . . . . . yes", "hm yes"),
    ],
)
def test_a_sign_that_does_not_change_the_meaning_does_not(one, other):
    assert likeness(one, other) == 1


def test_long_runs_of_dots_take_no_time():
    assert len(shingles("." * 1_000_000 + " a", 7)) == 1


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), (" ,;\n.“”", 0), ("++", 1), ("日本語の文", 4), ("ab日本cd", 3), ("x", 1)]
)
def test_scripts_without_spaces_have_a_word_per_letter(text, count):
    assert len(shingles(text, 2)) == count


def test_words_are_forgotten_but_hashed_alike_again():
    before = shingles("one two three", 2)
    shingles(" ".join(f"w{i}" for i in range(120_000)), 1)
    np.testing.assert_array_equal(before, shingles("one two three", 2))
