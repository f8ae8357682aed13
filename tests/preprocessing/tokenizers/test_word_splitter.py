from __future__ import annotations

from itertools import pairwise

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import pre_tokenizers

from preprocessing.tokenizers.special_matcher import SpecialMatcher
from preprocessing.tokenizers.word_splitter import WordSplitter
from tests.preprocessing.tokenizers.vocabularies import NASTY

TEXTS = st.lists(
    st.one_of(st.lists(st.sampled_from(NASTY)).map("".join), st.text(alphabet=st.characters(codec="utf-8"))),
    max_size=6,
)
SPLITTERS = {digits: WordSplitter(digits) for digits in (False, True)}
BYTE_LEVEL = pre_tokenizers.ByteLevel(add_prefix_space=False)
REFERENCES = {
    False: BYTE_LEVEL,
    True: pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), BYTE_LEVEL]),
}


def compiled(splitter: WordSplitter) -> tf.types.experimental.GenericFunction:
    def words_and_rows(texts: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        words = splitter.split(texts)
        return words.text, words.row_splits

    return tf.function(words_and_rows, input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)


SPLITS = {digits: compiled(splitter) for digits, splitter in SPLITTERS.items()}


def split(texts: list[str], digits: bool) -> list[list[str]]:
    words, rows = SPLITS[digits](tf.constant(texts, tf.string))
    rows = rows.numpy()
    text = [word.decode() for word in words.numpy()]
    return [text[a:b] for a, b in pairwise(rows)]


@pytest.mark.parametrize("digits", [False, True])
@given(texts=TEXTS)
@settings(max_examples=100, deadline=None)
def test_words_are_those_of_the_reference(texts: list[str], digits: bool):
    expected = [
        [text[start:end] for _, (start, end) in REFERENCES[digits].pre_tokenize_str(text)] for text in texts
    ]
    assert split(texts, digits) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("it's  they'll", ["it", "'s", " ", " they", "'ll"]),
        ("x''s 'tis", ["x", "''", "s", " '", "tis"]),
        ("'r 're're", ["'", "r", " '", "re", "'re"]),
        ("a \n b\n\nc ", ["a", " \n", " b", "\n", "\n", "c", " "]),
        ("12 3", ["12", " 3"]),
        ("nul\0in", ["nul", "\0", "in"]),
    ],
)
def test_words_of_known_texts(text: str, words: list[str]):
    assert split([text], False) == [words]


def test_digits_stand_alone_and_bound_their_neighbours():
    assert split(["ab12 3  4"], True) == [["ab", "1", "2", " ", "3", "  ", "4"]]


def test_a_word_never_crosses_texts():
    assert split(["ab", "cd", "'", "s", " ", " "], False) == [["ab"], ["cd"], ["'"], ["s"], [" "], [" "]]


def test_wrong_bytes_become_replacement_characters_as_in_python():
    raw = [b"\xff\xfe", b"\xe6\x97", b"\xed\xa0\x80", b"\xf0\x9f\x99", b"a\xc3"]
    words = SPLITTERS[False].split(tf.constant(raw)).text
    assert tf.strings.reduce_join(words).numpy().decode() == "".join(
        b.decode("utf-8", "replace") for b in raw
    )


def test_special_tokens_are_words_of_their_own():
    matcher = SpecialMatcher({"<a>": 7, "<a>>": 8})
    words = SPLITTERS[False].split(tf.constant(["x<a>'s <a>>y", "<a", ">"]), matcher)
    assert words.text.numpy().tolist() == [b"x", b"", b"'s", b" ", b"", b"y", b"<", b"a", b">"]
    assert words.special_id.numpy().tolist() == [-1, 7, -1, -1, 8, -1, -1, -1, -1]
    assert words.row_splits.numpy().tolist() == [0, 6, 8, 9]
