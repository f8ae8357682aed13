from __future__ import annotations

import random

import numpy as np
import pytest
from tokenizers import pre_tokenizers

from preprocessing.tokenizers.character_classes import CharacterClass, character_classes

POINTS = [
    *range(0x300),
    *random.Random(7).sample([p for p in range(0x300, 0x110000) if not 0xD800 <= p < 0xE000], 4000),
    *random.Random(8).sample([p for p in range(0x300, 0x20000) if not 0xD800 <= p < 0xE000], 4000),
]


@pytest.mark.parametrize("individual_digits", [False, True])
def test_each_character_has_the_class_that_the_reference_gives_it_alone(individual_digits: bool):
    words = pre_tokenizers.ByteLevel(add_prefix_space=False)
    digits = pre_tokenizers.Digits(individual_digits=True)
    table = character_classes(individual_digits)
    for point in POINTS:
        kind = CharacterClass(table[point])
        joins = [len(words.pre_tokenize_str(other + chr(point))) == 1 for other in "a1!"]
        if individual_digits and kind in (CharacterClass.NUMBER, CharacterClass.DIGIT):
            assert (len(digits.pre_tokenize_str("a" + chr(point))) == 2) == (kind == CharacterClass.DIGIT)
        elif kind in (CharacterClass.WHITE_SPACE, CharacterClass.SPACE):
            assert joins == [False, False, False]
        else:
            expected = CharacterClass.OTHER if kind == CharacterClass.APOSTROPHE else kind
            order = (CharacterClass.LETTER, CharacterClass.NUMBER, CharacterClass.OTHER)
            assert joins == [expected == other for other in order]


def test_ascii_has_the_classes_one_expects():
    table = character_classes(True)
    assert table[ord(" ")] == CharacterClass.SPACE
    assert table[ord("'")] == CharacterClass.APOSTROPHE
    assert set(table[ord("0") : ord("9") + 1]) == {CharacterClass.DIGIT}
    assert set(table[ord("a") : ord("z") + 1]) == {CharacterClass.LETTER}
    assert set(table[9:14]) == {CharacterClass.WHITE_SPACE}
    assert table[0] == CharacterClass.OTHER


def test_every_code_point_has_a_class_and_none_is_an_edge():
    table = character_classes(False)
    assert table.shape == (0x110000,)
    assert np.bincount(table, minlength=8)[CharacterClass.EDGE] == 0
