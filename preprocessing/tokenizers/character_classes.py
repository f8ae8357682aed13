"""Character classes of all code points, as the reference pre-tokenizer sees them.

Libraries follow different Unicode versions: TensorFlow's RE2 and the reference disagree on 4,924
code points for letters alone. So the classes are not taken from any Unicode table but probed from
the pre-tokenizers of Hugging Face tokenizers, whose split of a page of code points shows them.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from functools import cache

import numpy as np
from tokenizers import pre_tokenizers

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


@cache
def character_classes(individual_digits: bool) -> np.ndarray:
    """Class of every code point.

    Args:
        individual_digits: whether numeric characters are split off one by one first; they are
            DIGIT then and NUMBER stays for those the digit splitter does not take.

    Returns:
        uint8 [0x110000] of CharacterClass, read-only. SPACE is U+0020 alone; surrogates, which no
        text holds, are OTHER; EDGE is no character's class.
    """
    table = np.zeros(_CODE_POINTS, np.uint8)
    splitter = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    for start, length in _runs(splitter):
        table[start : start + length] = _class_of(splitter, chr(start))
    table[ord(" ")] = CharacterClass.SPACE
    table[ord("'")] = CharacterClass.APOSTROPHE
    if individual_digits:
        digits = pre_tokenizers.Digits(individual_digits=True)
        runs = pre_tokenizers.Digits(individual_digits=False)
        for start, length in _runs(runs):
            if len(digits.pre_tokenize_str("a" + chr(start))) == 2:
                table[start : start + length] = CharacterClass.DIGIT
    table.flags.writeable = False
    return table


def _runs(splitter: pre_tokenizers.PreTokenizer) -> Iterator[tuple[int, int]]:
    """(first code point, length) of runs whose characters the splitter treats alike.

    ASCII goes one by one: only there words join characters of different classes (a space before a
    word, contractions). A page's words are runs because its code points follow in order.
    """
    for point in range(_ASCII_END):
        yield point, 1
    for page in _pages():
        text = "".join(map(chr, page))
        for _, (start, end) in splitter.pre_tokenize_str(text):
            yield page[start], end - start


def _pages() -> Iterator[range]:
    for start in range(0, _CODE_POINTS, _PAGE):
        page = range(max(start, _ASCII_END), start + _PAGE)
        if page.start not in _SURROGATES:
            yield page


def _class_of(splitter: pre_tokenizers.PreTokenizer, character: str) -> CharacterClass:
    """The class whose specimen forms one word with the character; white space joins none of them."""
    specimens = {CharacterClass.LETTER: "a", CharacterClass.NUMBER: "1", CharacterClass.OTHER: "!"}
    for kind, specimen in specimens.items():
        if len(splitter.pre_tokenize_str(specimen + character)) == 1:
            return kind
    return CharacterClass.WHITE_SPACE
