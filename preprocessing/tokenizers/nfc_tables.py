"""What normalisation form C does to each code point, as the reference normaliser does it.

Unicode versions differ between libraries: the reference leaves U+11938 alone, which others decompose
since version 13. So nothing is taken from a Unicode table: decompositions, the order of combining
marks and compositions are probed from the NFD and NFC of Hugging Face tokenizers. Hangul syllables
alone are left to arithmetic (The Unicode Standard, section 3.12).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cmp_to_key

import numpy as np
from tokenizers import normalizers

from models.contract.errors import CheckpointError

LEADING = range(0x1100, 0x1113)
VOWELS = range(0x1161, 0x1176)
TRAILING = range(0x11A8, 0x11C3)
SYLLABLES = range(0xAC00, 0xD7A4)
_CODE_POINTS = 0x110000
_PAGE = 256
_SURROGATES = range(0xD800, 0xE000)
_LOW_MARK, _HIGH_MARK = "\u0334", "\u0345"
"""Marks of which the first goes before the second; between them in the wrong order no mark stays put."""

_nfd = normalizers.NFD().normalize_str
_nfc = normalizers.NFC().normalize_str


@dataclass(frozen=True, eq=False)
class NfcTables:
    """Tables of form C; a code point's kind says what it can do in a text.

    Args:
        kind: uint8 [0x110000]; 0: never changes alone, nor by what stands before it.
        order: int32 [K] of each kind, 0 for a starter; marks after a starter ascend by it.
        is_boundary: bool [K], whether what stands before never changes it nor is changed by it.
        is_unsettled: bool [K], whether it is replaced, or may be joined to what stands before.
        is_second: bool [K], whether it may be joined to what stands before.
        decomposable: int32 [D], ascending: code points with a decomposition, without Hangul.
        decomposition: int32, the full decompositions, one after another.
        decomposition_splits: int32 [D + 1], where each begins.
        pairs: int64 [C], ascending: `pair_key` of the code points that are joined, without Hangul.
        composites: int32 [C], what they are joined to.
    """

    kind: np.ndarray
    order: np.ndarray
    is_boundary: np.ndarray
    is_unsettled: np.ndarray
    is_second: np.ndarray
    decomposable: np.ndarray
    decomposition: np.ndarray
    decomposition_splits: np.ndarray
    pairs: np.ndarray
    composites: np.ndarray


@cache
def nfc_tables() -> NfcTables:
    """Probe the reference: half a second, once per process.

    Raises:
        CheckpointError: this version of the reference joins code points in a way that
            `NfcNormalizer` does not reproduce.
    """
    changing = [chr(point) for point in _reordering_or_decomposed()]
    parts = {letter: _nfd(letter) for letter in changing if ord(letter) not in SYLLABLES}
    marks = {letter for letter, part in parts.items() if part == letter}
    parts = {letter: part for letter, part in parts.items() if letter not in marks}
    pairs = _pairs(parts)
    order = _orders(marks)
    _check(pairs, parts, order)
    seconds = {second for _, second in pairs} | {chr(point) for point in (*VOWELS, *TRAILING)}
    kinds: dict[tuple[int, bool, bool, bool], int] = {(0, True, False, False): 0}
    table = np.zeros(_CODE_POINTS, np.uint8)
    for letter in sorted(marks | seconds | parts.keys()):
        first = parts.get(letter, letter)[0]
        joined = first in seconds
        unsettled = joined or _nfc(letter) != letter
        boundary = not joined and first not in order
        kind = (order.get(letter, 0), boundary, unsettled, letter in seconds)
        table[ord(letter)] = kinds.setdefault(kind, len(kinds))
    ranks, *flags = zip(*kinds, strict=True)
    decomposable = sorted(parts)
    lengths = [len(parts[letter]) for letter in decomposable]
    keys = {pair_key(*map(ord, pair)): ord(composite) for pair, composite in pairs.items()}
    table.flags.writeable = False
    return NfcTables(
        table,
        np.array(ranks, np.int32),
        *(np.array(flag) for flag in flags),
        decomposable=np.array([ord(letter) for letter in decomposable], np.int32),
        decomposition=np.array([ord(letter) for each in decomposable for letter in parts[each]], np.int32),
        decomposition_splits=np.cumsum([0, *lengths], dtype=np.int32),
        pairs=np.array(sorted(keys), np.int64),
        composites=np.array([keys[key] for key in sorted(keys)], np.int32),
    )


def pair_key(first: int, second: int) -> int:
    """One number for two code points, or an int64 tensor for two such tensors."""
    return first * 0x200000 + second


def _reordering_or_decomposed() -> Iterable[int]:
    """Code points that do not stay where they are between two marks in the wrong order.

    A starter holds the marks apart, and a page of starters is seen to do so in one call.
    """
    for start in range(0, _CODE_POINTS, _PAGE):
        if start in _SURROGATES:
            continue
        page = range(start, start + _PAGE)
        if _moves("".join(map(_between_marks, page))):
            yield from (point for point in page if _moves(_between_marks(point)))


def _between_marks(point: int) -> str:
    return _HIGH_MARK + chr(point) + _LOW_MARK


def _moves(text: str) -> bool:
    return _nfd(text) != text


def _pairs(parts: dict[str, str]) -> dict[tuple[str, str], str]:
    """What the reference joins: a decomposition's last code point and what the others are joined to."""
    composites = [letter for letter in parts if _nfc(letter) == letter]
    return {(_nfc(parts[letter][:-1]), parts[letter][-1]): letter for letter in composites}


def _orders(marks: set[str]) -> dict[str, int]:
    """1, 2, … for the marks in the order the reference brings them into; equal where it leaves them."""

    def compare(first: str, second: str) -> int:
        return _moves(first + second) - _moves(second + first)

    ranked = sorted(sorted(marks), key=cmp_to_key(compare))
    ranks, rank = {}, 1
    for before, mark in zip([None, *ranked], ranked, strict=False):
        rank += before is not None and compare(before, mark) != 0
        ranks[mark] = rank
    return ranks


def _check(pairs: dict[tuple[str, str], str], parts: dict[str, str], order: dict[str, int]) -> None:
    """Refuse joins that need more than one look at each mark, or that could overlap.

    A composite's last mark comes after those of its first part, so that joining it never lets an
    earlier mark be joined; and no starter is both a first and a second part, so that of a row of
    starters no two joins want the same one.
    """
    rank = defaultdict(int, order)
    firsts = {first for first, _ in pairs} | {chr(point) for point in (*LEADING, *SYLLABLES)}
    for (first, second), composite in pairs.items():
        last = parts.get(first, first)[-1]
        single = len(first) == 1 and not rank[parts[composite][0]]
        ascending = not rank[second] or rank[last] <= rank[second]
        if not single or not ascending or (not rank[second] and second in firsts):
            raise CheckpointError(
                f"`normalizer`: this version of tokenizers joins {first!a} and {second!a} to {composite!a}, "
                "which is not reproduced exactly.",
                field="normalizer",
                remedy="Install the version of tokenizers that is pinned.",
            )
