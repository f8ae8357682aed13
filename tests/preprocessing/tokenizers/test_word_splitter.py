from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, pre_tokenizers

from preprocessing.tokenizers.character_classes import CharacterClass, character_classes
from preprocessing.tokenizers.special_matcher import SpecialMatcher
from preprocessing.tokenizers.word_pattern import WordPattern
from preprocessing.tokenizers.word_splitter import WordSplitter
from tests.preprocessing.tokenizers import vocabularies
from tests.preprocessing.tokenizers.vocabularies import NASTY

TEXTS = st.lists(
    st.one_of(st.lists(st.sampled_from(NASTY)).map("".join), st.text(alphabet=st.characters(codec="utf-8"))),
    max_size=6,
)
SPLITTERS = {pattern: WordSplitter(pattern) for pattern in WordPattern}
BYTE_LEVEL = pre_tokenizers.ByteLevel(add_prefix_space=False)
REFERENCES = {
    WordPattern.GPT2: BYTE_LEVEL,
    WordPattern.GPT2_DIGITS: pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), BYTE_LEVEL]
    ),
    **{
        pattern: pre_tokenizers.Split(Regex(vocabularies.regex_of(pattern)), behavior="isolated")
        for pattern in (WordPattern.LLAMA3, WordPattern.QWEN2)
    },
}
SPECIMENS = "as1 \t\n!'"
"""One character of each class, and a letter of contractions."""


def compiled(splitter: WordSplitter) -> tf.types.experimental.GenericFunction:
    def words_and_rows(texts: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        words = splitter.split(texts)
        return words.text, words.row_splits

    return tf.function(words_and_rows, input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)


SPLITS = {pattern: compiled(splitter) for pattern, splitter in SPLITTERS.items()}


def split(texts: list[str], pattern: WordPattern) -> list[list[str]]:
    words, rows = SPLITS[pattern](tf.constant(texts, tf.string))
    rows = rows.numpy()
    text = [word.decode() for word in words.numpy()]
    return [text[a:b] for a, b in pairwise(rows)]


def expected(texts: list[str], pattern: WordPattern) -> list[list[str]]:
    reference = REFERENCES[pattern]
    return [[text[start:end] for _, (start, end) in reference.pre_tokenize_str(text)] for text in texts]


@pytest.mark.parametrize("pattern", WordPattern)
@given(texts=TEXTS)
@settings(max_examples=100, deadline=None)
def test_words_are_those_of_the_reference(texts: list[str], pattern: WordPattern):
    assert split(texts, pattern) == expected(texts, pattern)


@pytest.mark.parametrize("pattern", WordPattern)
def test_every_short_sequence_of_classes_is_split_as_by_the_reference(pattern: WordPattern):
    texts = ["".join(text) for length in range(1, 6) for text in product(SPECIMENS, repeat=length)]
    assert split(texts, pattern) == expected(texts, pattern)


@pytest.mark.parametrize("regex", vocabularies.SPLIT_PATTERNS)
@pytest.mark.parametrize(("behavior", "invert"), [("isolated", False), ("removed", True)])
def test_each_way_of_writing_a_pattern_means_the_same(regex: str, behavior: str, invert: bool):
    texts = [text for text in vocabularies.nasty_texts(12, 900) if isinstance(text, str)]
    pattern = vocabularies.SPLIT_PATTERNS[regex]
    written = pre_tokenizers.Split(Regex(regex), behavior=behavior, invert=invert)
    words = [[word for word, _ in written.pre_tokenize_str(text)] for text in texts]
    assert words == expected(texts, pattern)


@pytest.mark.parametrize(
    ("before", "after", "taken"),
    [
        ("", "", "sdmtSDMT\u017f"),
        ("r", "", "eE"),
        ("v", "", "eE"),
        ("l", "", "lL"),
        ("", "e", "rvRV"),
        ("", "l", "lL"),
    ],
)
def test_the_letters_of_contractions_are_those_that_ignoring_case_takes(before: str, after: str, taken: str):
    """Each letter stands in a contraction that a letter follows, which is a word of its own then.

    All letters take the place of the only one; of two, those outside the large scripts without case.
    """
    points = np.flatnonzero(character_classes(WordPattern.LLAMA3) == CharacterClass.LETTER)
    alone = not before and not after
    cased = ((points < 0x3000) | (points >= 0xA640)) & ((points < 0xAC00) | (points >= 0xFB00))
    letters = [chr(point) for point in (points if alone else points[cased & (points < 0x10500)])]
    cut = REFERENCES[WordPattern.LLAMA3].pre_tokenize_str(
        "".join(f"1'{before}{letter}{after}q" for letter in letters)
    )
    length = len(f"'{before}{after}") + 1
    contractions = {word for word, _ in cut if word[0] == "'" and len(word) == length and word[-1] != "q"}
    assert contractions == {f"'{before}{letter}{after}" for letter in taken}


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
    assert split([text], WordPattern.GPT2) == [words]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("it's  they'LL'd", ["it", "'s", " ", " they", "'LL", "'d"]),
        ('(x) !x "x" !!x', ["(x", ")", " !", "x", ' "', "x", '"', " !!", "x"]),
        ("a\tb  \tc", ["a", "\tb", "  ", "\tc"]),
        ("!\r\n \n  x", ["!\r\n", " \n", " ", " x"]),
        ("a \n \n  ", ["a", " \n \n", "  "]),
        ("'\u017f'\u017fx", ["'\u017f", "'\u017f", "x"]),
        ("a 12345", ["a", " ", "123", "45"]),
    ],
)
def test_words_of_known_texts_by_the_pattern_of_llama_3(text: str, words: list[str]):
    assert split([text], WordPattern.LLAMA3) == [words]


def test_digits_stand_alone_and_bound_their_neighbours():
    words = ["ab", "1", "2", " ", "3", "  ", "4"]
    assert split(["ab12 3  4"], WordPattern.GPT2_DIGITS) == [words]


@pytest.mark.parametrize("pattern", WordPattern)
def test_a_word_never_crosses_texts(pattern: WordPattern):
    texts = [*"ab'sl12 \n \t!!\n", "'", "l", "l", "!", "\n", " ", "\n", "12", "34"]
    assert split(texts, pattern) == expected(texts, pattern)


def test_wrong_bytes_become_replacement_characters_as_in_python():
    raw = [b"\xff\xfe", b"\xe6\x97", b"\xed\xa0\x80", b"\xf0\x9f\x99", b"a\xc3"]
    words = SPLITTERS[WordPattern.GPT2].split(tf.constant(raw)).text
    assert tf.strings.reduce_join(words).numpy().decode() == "".join(
        b.decode("utf-8", "replace") for b in raw
    )


def test_special_tokens_are_words_of_their_own():
    matcher = SpecialMatcher({"<a>": 7, "<a>>": 8})
    words = SPLITTERS[WordPattern.GPT2].split(tf.constant(["x<a>'s <a>>y", "<a", ">"]), matcher)
    assert words.text.numpy().tolist() == [b"x", b"", b"'s", b" ", b"", b"y", b"<", b"a", b">"]
    assert words.special_id.numpy().tolist() == [-1, 7, -1, -1, 8, -1, -1, -1, -1]
    assert words.row_splits.numpy().tolist() == [0, 6, 8, 9]


def test_what_stands_between_special_tokens_is_normalised_by_itself():
    splitter = WordSplitter(WordPattern.QWEN2, nfc=True)
    matcher = SpecialMatcher({"<a>": 7})
    words = splitter.split(tf.constant(["e\u0301<a>\u0338e", "\u0301>\u0338"]), matcher)
    text = [word.decode() for word in words.text.numpy()]
    assert text == ["\u00e9", "", "\u0338e", "\u0301\u226f"]
    assert words.row_splits.numpy().tolist() == [0, 3, 4]
