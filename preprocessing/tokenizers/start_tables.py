"""Where words start, by the classes of a character and its neighbours.

Both families of patterns look at few characters around a place, so their alternatives, tried in
order at each word's start, come down to a table. What needs more than the table holds (contractions,
numbers cut after three characters, white space after a line end) is left to WordStarts.
"""

from __future__ import annotations

import numpy as np

from preprocessing.tokenizers.character_classes import CharacterClass
from preprocessing.tokenizers.word_pattern import WordPattern

_CLASSES = len(CharacterClass)
_BLANK = (CharacterClass.WHITE_SPACE, CharacterClass.SPACE)
_SIGN = (CharacterClass.OTHER, CharacterClass.APOSTROPHE)
"""An apostrophe that begins no contraction is a character like any other."""


def start_table(pattern: WordPattern) -> np.ndarray:
    """Whether a word starts at a character.

    Returns:
        For GPT-2's patterns bool [C, C, C] by the classes of the character before, the character and
        the one after; for the others bool [C, C, C, C], the second one before first. A neighbour of
        another text has the class EDGE.
    """
    if pattern in (WordPattern.GPT2, WordPattern.GPT2_DIGITS):
        table = np.zeros([_CLASSES] * 3, bool)
        for before, kind, after in np.ndindex(table.shape):
            table[before, kind, after] = _starts_gpt2(before, kind, after)
        return table
    table = np.zeros([_CLASSES] * 4, bool)
    single = pattern == WordPattern.QWEN2
    for second, before, kind, after in np.ndindex(table.shape):
        table[second, before, kind, after] = _starts_llama3(second, before, kind, after, single)
    return table


def _starts_gpt2(before: int, kind: int, after: int) -> bool:
    """After ` ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+`."""
    separate = (CharacterClass.EDGE, CharacterClass.DIGIT)
    if before in separate or kind == CharacterClass.DIGIT:
        return True
    if kind in _BLANK:  # `\s+(?!\S)` leaves the last white space before a word to what follows
        return before not in _BLANK or (after not in separate and after not in _BLANK)
    return _run(before) != _run(kind) and before != CharacterClass.SPACE


def _starts_llama3(second: int, before: int, kind: int, after: int, single_numbers: bool) -> bool:
    """After the alternatives that follow, in this order.

    `[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}+| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`

    A sign joins the letters after it if it is the first of its word, which a space or another sign
    before it would be instead. White space after a line end starts a word here; whether it does
    depends on more.
    """
    if before == CharacterClass.EDGE:
        return True
    if kind == CharacterClass.NUMBER:
        return single_numbers or before != CharacterClass.NUMBER
    if kind == CharacterClass.LETTER:
        if before in _SIGN:
            return second in _SIGN or second == CharacterClass.SPACE
        return before not in _BLANK and before != CharacterClass.LETTER
    if kind in _SIGN:
        return before not in _SIGN and before != CharacterClass.SPACE
    if kind == CharacterClass.LINE_END:
        return before in (CharacterClass.LETTER, CharacterClass.NUMBER)
    if before in _BLANK:
        return after not in (*_BLANK, CharacterClass.LINE_END, CharacterClass.EDGE)
    return True


def _run(kind: int) -> int:
    return CharacterClass.OTHER if kind == CharacterClass.APOSTROPHE else kind
