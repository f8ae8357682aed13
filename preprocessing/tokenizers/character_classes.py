"""Character classes of all code points, as the reference pre-tokenizer sees them.

Libraries follow different Unicode versions: TensorFlow's RE2 and the reference disagree on 4,924
code points for letters alone. So the classes are not taken from any Unicode table but probed from
the pre-tokenizers of Hugging Face tokenizers, whose split of a page of code points shows them: from
the ByteLevel pre-tokenizer for patterns that it brings itself, from Split for those it is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from functools import cache

import numpy as np
from tokenizers import Regex, pre_tokenizers

from preprocessing.tokenizers.word_pattern import WordPattern

_CODE_POINTS = 0x110000
_PAGE = 1024
_ASCII_END = 0x80
_SURROGATES = range(0xD800, 0xE000)


class CharacterClass(IntEnum):
    """What the split into words depends on; OTHER also stands for what follows no rule of its own."""

    OTHER = 0
    LETTER = 1
    NUMBER = 2
    WHITE_SPACE = 3
    SPACE = 4
    APOSTROPHE = 5
    DIGIT = 6
    EDGE = 7
    LINE_END = 8


_PROPERTIES = {
    CharacterClass.LETTER: r"\p{L}+",
    CharacterClass.NUMBER: r"\p{N}+",
    CharacterClass.WHITE_SPACE: r"\s+",
    CharacterClass.LINE_END: r"[\r\n]+",
}


@cache
def character_classes(pattern: WordPattern) -> np.ndarray:
    """Class of every code point.

    Args:
        pattern: where it splits numeric characters off one by one beforehand, they are DIGIT and
            NUMBER stays for those the digit splitter does not take.

    Returns:
        uint8 [0x110000] of CharacterClass, read-only. SPACE is U+0020 alone; LINE_END stands for line
        ends where the pattern knows them, which are WHITE_SPACE elsewhere; surrogates, which no text
        holds, are OTHER; EDGE is no character's class.
    """
    if pattern in (WordPattern.LLAMA3, WordPattern.QWEN2):
        table = _classes_of_properties().copy()
    else:
        table = _classes_of_byte_level(pattern == WordPattern.GPT2_DIGITS)
    table[ord(" ")] = CharacterClass.SPACE
    table[ord("'")] = CharacterClass.APOSTROPHE
    table.flags.writeable = False
    return table


@cache
def _classes_of_properties() -> np.ndarray:
    """As the regular expressions of a Split see them."""
    table = np.zeros(_CODE_POINTS, np.uint8)
    for kind, regex in _PROPERTIES.items():
        splitter = pre_tokenizers.Split(Regex(regex), behavior="removed", invert=True)
        for page in _pages(0):
            for _, (start, end) in splitter.pre_tokenize_str("".join(map(chr, page))):
                table[page[start] : page[start] + end - start] = kind
    return table


def _classes_of_byte_level(individual_digits: bool) -> np.ndarray:
    table = np.zeros(_CODE_POINTS, np.uint8)
    splitter = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    for start, length in _runs(splitter):
        table[start : start + length] = _class_of(splitter, chr(start))
    if individual_digits:
        digits = pre_tokenizers.Digits(individual_digits=True)
        runs = pre_tokenizers.Digits(individual_digits=False)
        for start, length in _runs(runs):
            if len(digits.pre_tokenize_str("a" + chr(start))) == 2:
                table[start : start + length] = CharacterClass.DIGIT
    return table


def _runs(splitter: pre_tokenizers.PreTokenizer) -> Iterator[tuple[int, int]]:
    """(first code point, length) of runs whose characters the splitter treats alike.

    ASCII goes one by one: only there words join characters of different classes (a space before a
    word, contractions). A page's words are runs because its code points follow in order.
    """
    for point in range(_ASCII_END):
        yield point, 1
    for page in _pages(_ASCII_END):
        text = "".join(map(chr, page))
        for _, (start, end) in splitter.pre_tokenize_str(text):
            yield page[start], end - start


def _pages(first: int) -> Iterator[range]:
    """The code points from `first` on, a page at a time, without the surrogates."""
    for start in range(0, _CODE_POINTS, _PAGE):
        page = range(max(start, first), start + _PAGE)
        if page.start not in _SURROGATES:
            yield page


def _class_of(splitter: pre_tokenizers.PreTokenizer, character: str) -> CharacterClass:
    """The class whose specimen forms one word with the character; white space joins none of them."""
    specimens = {CharacterClass.LETTER: "a", CharacterClass.NUMBER: "1", CharacterClass.OTHER: "!"}
    for kind, specimen in specimens.items():
        if len(splitter.pre_tokenize_str(specimen + character)) == 1:
            return kind
    return CharacterClass.WHITE_SPACE
