"""The printable letter that GPT-2's byte-level BPE writes for each byte.

Printable Latin-1 bytes stand for themselves, the others for the letters from U+0100 on, in order;
so a vocabulary file never holds white space or control characters.
"""

from __future__ import annotations


def _letters() -> list[str]:
    printable = {*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte if byte in printable else next(others)) for byte in range(256)]


BYTE_LETTERS: list[str] = _letters()
"""The letter of byte 0 … 255."""

LETTER_SET = frozenset(BYTE_LETTERS)

_TO_LATIN1 = {ord(letter): byte for byte, letter in enumerate(BYTE_LETTERS)}


def token_to_bytes(token: str) -> bytes:
    """Bytes that a token of a byte-level vocabulary stands for.

    A token with a character outside the alphabet stands for its own UTF-8, as in the byte-level
    decoder of Hugging Face tokenizers.
    """
    if not LETTER_SET.issuperset(token):
        return token.encode("utf-8")
    return token.translate(_TO_LATIN1).encode("latin-1")
