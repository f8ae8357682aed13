"""Shingles: overlapping runs of words and symbols, as hashes that are equal on every machine."""

from __future__ import annotations

import hashlib
import re
import unicodedata

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
"""Scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, Japanese, Chinese."""

_OPERATOR = (
    r"#$%&*+/:<=>@\\^|~\-\u00a2-\u00a9\u00ac\u00ae-\u00b1\u00d7\u00f7\u20a0-\u20cf\u2190-\u2bff"
    r"\U0001f000-\U0001faff"
)
"""Signs with a meaning of their own: operators, currencies, arrows, emoji."""

_TOKEN = re.compile(
    rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+"  # a word
    rf"|[!?.]?[{_OPERATOR}][{_OPERATOR}!?]*"  # a run of signs: `+`, `!=`, `:=`
    r"|[()\[\]{}]"
    r"|!(?=[\w(])|(?<=\w)\.(?=\w)"  # `!found` and `a.b`, not those that end a sentence
)
_MULTIPLIER = 0x9E3779B97F4A7C15
_MASK = 2**64 - 1
_KNOWN_TOKENS = 100_000


class _TokenHashes(dict[str, int]):
    """Hash of each token, computed once; bounded, so that a corpus without end does not fill it."""

    def __missing__(self, token: str) -> int:
        if len(self) >= _KNOWN_TOKENS:
            self.clear()
        digest = hashlib.blake2b(token.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        self[token] = value = int.from_bytes(digest, "little")
        return value


_hashes = _TokenHashes()


def shingles(text: str, size: int) -> Hashes:
    """Hashes of all runs of `size` tokens, in the order of the text.

    A token is a word (what `\\w+` matches; of scripts that write no spaces each letter), a run of
    operators, a bracket, or a sign that stands where no sentence has one. So code with another operator
    is another text, while prose with other commas, stops, quotation marks or dashes is not. Case, white
    space and how Unicode composes a letter (NFKC) do not matter.

    Args:
        text: any.
        size: tokens per shingle; a shorter text is one shingle.

    Returns:
        [max(tokens − size + 1, 1)] uint64, or [0] for a text without tokens.
    """
    tokens = _TOKEN.findall(unicodedata.normalize("NFKC", text).casefold())
    if not tokens:
        return np.empty(0, np.uint64)
    values = np.fromiter(map(_hashes.__getitem__, tokens), np.uint64, len(tokens))
    return _mixed(_combined(values, min(size, len(tokens))))


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
