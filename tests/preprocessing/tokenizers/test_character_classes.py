from __future__ import annotations

import random

import numpy as np
import pytest
from tokenizers import Regex, pre_tokenizers

from preprocessing.tokenizers.character_classes import CharacterClass, character_classes
from preprocessing.tokenizers.word_pattern import WordPattern
from tests.preprocessing.tokenizers import vocabularies

POINTS = [
    *range(0x300),
    *random.Random(7).sample([p for p in range(0x300, 0x110000) if not 0xD800 <= p < 0xE000], 4000),
    *random.Random(8).sample([p for p in range(0x300, 0x20000) if not 0xD800 <= p < 0xE000], 4000),
]


@pytest.mark.parametrize("pattern", [WordPattern.GPT2, WordPattern.GPT2_DIGITS])
def test_each_character_has_the_class_that_the_reference_gives_it_alone(pattern: WordPattern):
    words = pre_tokenizers.ByteLevel(add_prefix_space=False)
    digits = pre_tokenizers.Digits(individual_digits=True)
    table = character_classes(pattern)
    for point in POINTS:
        kind = CharacterClass(table[point])
        joins = [len(words.pre_tokenize_str(other + chr(point))) == 1 for other in "a1!"]
        if pattern == WordPattern.GPT2_DIGITS and kind in (CharacterClass.NUMBER, CharacterClass.DIGIT):
            assert (len(digits.pre_tokenize_str("a" + chr(point))) == 2) == (kind == CharacterClass.DIGIT)
        elif kind in (CharacterClass.WHITE_SPACE, CharacterClass.SPACE):
            assert joins == [False, False, False]
        else:
            expected = CharacterClass.OTHER if kind == CharacterClass.APOSTROPHE else kind
            order = (CharacterClass.LETTER, CharacterClass.NUMBER, CharacterClass.OTHER)
            assert joins == [expected == other for other in order]


def test_each_character_has_the_class_that_the_pattern_of_llama_3_gives_it_alone():
    regex = vocabularies.regex_of(WordPattern.LLAMA3)
    words = pre_tokenizers.Split(Regex(regex), behavior="isolated")
    joins = {
        CharacterClass.LETTER: (True, False, True),
        CharacterClass.NUMBER: (False, True, False),
        CharacterClass.WHITE_SPACE: (False, False, False),
        CharacterClass.SPACE: (False, False, False),
        CharacterClass.LINE_END: (False, False, True),
        CharacterClass.OTHER: (False, False, True),
        CharacterClass.APOSTROPHE: (False, False, True),
    }
    table = character_classes(WordPattern.LLAMA3)
    for point in POINTS:
        found = tuple(len(words.pre_tokenize_str(other + chr(point))) == 1 for other in "a1!")
        assert found == joins[CharacterClass(table[point])]
    assert np.flatnonzero(table == CharacterClass.LINE_END).tolist() == [ord("\n"), ord("\r")]


def test_ascii_has_the_classes_one_expects():
    table = character_classes(WordPattern.GPT2_DIGITS)
    assert table[ord(" ")] == CharacterClass.SPACE
    assert table[ord("'")] == CharacterClass.APOSTROPHE
    assert set(table[ord("0") : ord("9") + 1]) == {CharacterClass.DIGIT}
    assert set(table[ord("a") : ord("z") + 1]) == {CharacterClass.LETTER}
    assert set(table[9:14]) == {CharacterClass.WHITE_SPACE}
    assert table[0] == CharacterClass.OTHER


@pytest.mark.parametrize("pattern", WordPattern)
def test_every_code_point_has_a_class_and_none_is_an_edge(pattern: WordPattern):
    table = character_classes(pattern)
    assert table.shape == (0x110000,)
    assert np.bincount(table, minlength=8)[CharacterClass.EDGE] == 0
