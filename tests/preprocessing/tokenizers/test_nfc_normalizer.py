from __future__ import annotations

import random

import numpy as np
import pytest
import tensorflow as tf
from tokenizers import normalizers

from preprocessing.tokenizers.nfc_normalizer import NfcNormalizer
from preprocessing.tokenizers.nfc_tables import nfc_tables

NFC, NFD = normalizers.NFC().normalize_str, normalizers.NFD().normalize_str
NORMALIZER = NfcNormalizer()
NORMALIZE = tf.function(
    NORMALIZER.normalize, input_signature=[tf.RaggedTensorSpec([None, None], tf.int32)], autograph=False
)
TABLES = nfc_tables()
CHANGING = [chr(point) for point in np.flatnonzero(TABLES.kind)]
MARKS = [letter for letter in CHANGING if TABLES.order[TABLES.kind[ord(letter)]]]
SECONDS = [letter for letter in CHANGING if TABLES.is_second[TABLES.kind[ord(letter)]]]
FIRSTS = [chr(point) for point in np.unique(TABLES.pairs // 0x200000)]
DECOMPOSABLE = [chr(point) for point in TABLES.decomposable]
JAMO = [*map(chr, range(0x10FE, 0x1118)), *map(chr, range(0x115E, 0x117A)), *map(chr, range(0x11A5, 0x11C6))]
SCRIPTS = {
    "latin": [*"aAeo éÅạǖṩỗ\u0301\u0308\u0323\u031b\u0302\u0303\u0307\u0327\u0344\u0345"],
    "greek": [*"αωΩηῃΐᾂ\u0313\u0300\u0342\u0345\u0308\u0301\u1fbd\u2126"],
    "vietnamese": [*"aăâeêoôơuưyộểữ\u0300\u0301\u0303\u0309\u0323\u0306\u0302\u031b"],
    "hangul": [*JAMO, *map(chr, range(0xAC00, 0xAC40)), chr(0xD7A3), chr(0xD7A4), "\u0301", "a"],
    "indic": [
        *"\u0915\u0928\u093c\u0929\u0958\u094d\u0995\u09c7\u09be\u09d7\u09cb\u09dc\u0b92\u0bd7\u0bc6\u0bbe",
        *"\u0cc6\u0cc2\u0cd5\u0cca\u0ccb\u0d46\u0d3e\u0d57\u0dd9\u0dcf\u0dca\u0ddd\u0ddc\u0ddf\u1025\u102e",
        *"\U00011131\U00011127\U00011347\U0001133e\U000110a5\U000110ba\u1b05\u1b35",
    ],
    "tibetan": [*"\u0f40\u0fb5\u0f69\u0f71\u0f72\u0f74\u0f73\u0f75\u0f80\u0f81\u0f43\u0f39\u0fb2\u0f76"],
    "hebrew and arabic": [*"\u05d0\u05b7\u05bc\u05b0\ufb1d\ufb2c\u0627\u0653\u0654\u0655\u064e\u0651\u0670"],
    "music and more": [*"\U0001d158\U0001d165\U0001d16e\U0001d15e\u2adc\u2add\u0338=<≠\ufa10\U0002f800"],
    "marks": MARKS,
    "whatever changes": [*CHANGING, *FIRSTS],
    "whatever decomposes": [*DECOMPOSABLE, *MARKS],
}


def first_difference(texts: list[str]) -> tuple[str, str, str] | None:
    """Text, what the graph gives and what the reference gives, of the first where they differ."""
    points = np.frombuffer("".join(texts).encode("utf-32-le"), np.int32)
    given = NORMALIZE(tf.RaggedTensor.from_row_lengths(points, [len(text) for text in texts]))
    expected = [NFC(text) for text in texts]
    lengths = given.row_lengths().numpy()
    if lengths.tolist() == [len(text) for text in expected] and _text(given.values) == "".join(expected):
        return None
    rows = zip(texts, map(_text, given), expected, strict=True)
    return next(row for row in rows if row[1] != row[2])


def _text(points: tf.Tensor) -> str:
    return points.numpy().astype("<i4").tobytes().decode("utf-32-le")


def strings(seed: int, alphabet: list[str], count: int, longest: int = 12) -> list[str]:
    rng = random.Random(seed)
    return ["".join(rng.choices(alphabet, k=rng.randint(1, longest))) for _ in range(count)]


def test_every_code_point_alone():
    """NUL, which nothing joins, keeps them apart: one text is seconds faster than a million."""
    assert (
        first_difference(["\0".join(chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000)])
        is None
    )


def test_every_first_part_with_every_second():
    assert (
        first_difference(
            [first + second for first in [*FIRSTS, "\u1100", "\uac00", "\uac01"] for second in SECONDS]
        )
        is None
    )


def test_every_syllable_from_its_parts():
    syllables = [chr(point) for point in range(0xAC00, 0xD7A4)]
    assert first_difference([NFD(syllable) for syllable in syllables]) is None
    assert first_difference([syllable + letter for syllable in syllables[:60] for letter in JAMO]) is None


def test_pairs_of_anything_with_what_changes():
    rng = random.Random(3)
    firsts = rng.choices([*FIRSTS, *DECOMPOSABLE, *CHANGING], k=50_000)
    pairs = zip(firsts, rng.choices(CHANGING, k=50_000), strict=True)
    assert first_difference([first + second for first, second in pairs]) is None


@pytest.mark.parametrize("script", SCRIPTS)
def test_strings_of_awkward_letters(script: str):
    assert first_difference(strings(1, SCRIPTS[script], 15_000)) is None
    assert first_difference(strings(2, [*SCRIPTS[script], *"ab \0"], 3_000, longest=40)) is None


def test_strings_of_any_code_points():
    rng = random.Random(4)
    plain = [chr(point) for point in rng.choices(range(0x20000), k=3000) if not 0xD800 <= point < 0xE000]
    texts = strings(4, [*plain, *rng.choices(CHANGING, k=1000), *FIRSTS], 20_000, longest=30)
    assert first_difference(texts) is None
    assert first_difference([NFD(text) for text in texts]) is None
    assert first_difference([NFC(text) for text in texts]) is None


@pytest.mark.parametrize("text", ["a\u0301" * 20_000, "\u0301\u0323" * 30_000, "\u1100\u1161\u11a8" * 20_000])
def test_long_texts_have_the_references_form(text: str):
    assert first_difference([text, "e" + text, "".join(random.Random(5).sample(text, len(text)))]) is None


def test_a_text_never_touches_another():
    assert (
        first_difference(
            ["e", "\u0301", "", "\u0301\u0323", "\u0323", "\u1100", "\u1161", "", "\u0345", "e\u0301"]
        )
        is None
    )


@pytest.mark.parametrize("texts", [[], [""], ["", ""], ["plain", "", "text"], ["é日本"], ["\u0316\u0301"]])
def test_texts_without_anything_to_do(texts: list[str]):
    assert first_difference(texts) is None


def test_known_answers():
    assert (
        first_difference(
            ["\u1ea1\u0302", "e\u0301\u0323", "\u0344", "\u2126", "\u0958", "\u0dd9\u0dcf\u0dca"]
        )
        is None
    )
    assert NFC("e\u0301\u0323") == "\u1eb9\u0301"
