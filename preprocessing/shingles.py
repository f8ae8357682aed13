"""Shingles: overlapping runs of words, as hashes that are equal on every machine."""

from __future__ import annotations

import hashlib
import re

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese."""

_WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_MULTIPLIER = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1
_KNOWN_WORDS = 100_000


class _WordHashes(dict[str, int]):
    """Hash of each word, computed once; bounded, so that a corpus without end does not fill it."""

    def __missing__(self, word: str) -> int:
        if len(self) >= _KNOWN_WORDS:
            self.clear()
        digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        self[word] = value = int.from_bytes(digest, "little")
        return value


_hashes = _WordHashes()


def shingles(text: str, size: int) -> Hashes:
    """Hashes of all runs of `size` words, in the order of the text.

    Words are what `\\w+` matches, without regard to case; of scripts that write no spaces each letter
    counts as a word. White space and punctuation do not matter.

    Args:
        text: any.
        size: words per shingle; a shorter text is one shingle.

    Returns:
        [max(words − size + 1, 1)] uint64, or [0] for a text without words.
    """
    words = _WORD.findall(text.casefold())
    if not words:
        return np.empty(0, np.uint64)
    values = np.fromiter(map(_hashes.__getitem__, words), np.uint64, len(words))
    return _mixed(_combined(values, min(size, len(words))))


def _combined(values: Hashes, size: int) -> Hashes:
    """A polynomial of each window's hashes, modulo 2^64; starts differ by size."""
    count = len(values) - size + 1
    total = np.full(count, size, np.uint64)
    factor = 1
    for offset in range(size):
        factor = factor * _MULTIPLIER & _MASK
        total += values[offset : offset + count] * np.uint64(factor)
    return total


def _mixed(values: Hashes) -> Hashes:
    """MurmurHash3's 64-bit finaliser: every bit of the input reaches every bit of the output."""
    for multiplier in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        values = (values ^ (values >> np.uint64(33))) * np.uint64(multiplier)
    return values ^ (values >> np.uint64(33))
