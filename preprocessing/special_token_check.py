"""Whether a merge could make what a special token is called."""

from __future__ import annotations

from functools import cache
from itertools import product

from tokenizers import pre_tokenizers

_NEIGHBOURS = ("", "a", "\u0301", "1", "!", " ", "\n", "\r\n")
"""One of each class that the patterns know."""

_CODE_POINTS = (
    *range(0xC0),
    *range(0xC0, 0x800, 64),
    0x800,
    *range(0x1000, 0x10000, 0x1000),
    *range(0x10000, 0x110000, 0x40000),
    0x10FFFF,
)
_ALL_BYTES = "".join(map(chr, _CODE_POINTS))
"""Characters whose UTF-8 has each byte that text can hold."""


def could_be_made(content: str, words: pre_tokenizers.PreTokenizer) -> bool:
    """Whether bytes of a text could merge to a token that is written like a special token.

    Only within a word do bytes merge. A vocabulary writes each byte as a letter, so `Ġ<` is the special token
    of that name as well as a space and a mark, merged: the content must be no part of a word as text, and
    nor must the bytes that it is written for.

    Args:
        content: of the special token, not empty.
        words: splits text into words.
    """
    readings = [content]
    letters = _byte_letters()
    if letters.keys() >= set(content):
        text = _complete(bytes(letters[letter] for letter in content))
        if text is not None:
            readings.append(text)
    return any(_within_a_word(reading, words) for reading in readings)


@cache
def _byte_letters() -> dict[str, int]:
    """Letter → byte; not from `preprocessing.tokenizers`, which loads TensorFlow."""
    writer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    ((letters, _),) = writer.pre_tokenize_str(_ALL_BYTES)
    return dict(zip(letters, _ALL_BYTES.encode(), strict=True))


def _within_a_word(text: str, words: pre_tokenizers.PreTokenizer) -> bool:
    for before, after in product(_NEIGHBOURS, repeat=2):
        start, end = len(before), len(before) + len(text)
        spans = (span for _, span in words.pre_tokenize_str(before + text + after))
        if any(first <= start and end <= last for first, last in spans):
            return True
    return False


def _complete(raw: bytes) -> str | None:
    """The whole characters of bytes that may begin and end within one; None if no text holds such bytes."""
    start = next((place for place, byte in enumerate(raw) if not 0x80 <= byte <= 0xBF), len(raw))
    try:
        return raw[start:].decode("utf-8")
    except UnicodeDecodeError as error:
        is_cut = error.end == len(raw) and error.reason == "unexpected end of data"
        return raw[start : start + error.start].decode("utf-8") if is_cut else None
