"""Texts of a tokenizer benchmark: batches, prompts, and families of texts that grow."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

from serving.benchmarks.machine_texts import TEXT_KINDS, documents

FAMILIES = (
    "one letter",
    "spaces",
    "line ends",
    "mixed CJK",
    "combining marks",
    "vocabulary soup",
    "letter soup",
    "contractions",
    "digits",
    "NUL",
    "special look-alikes",
)
"""Each is one text of any length; a cost that grows faster than the length shows in some of them."""

_FILE_PIECE = 6_000


def batches(count: int, size: int, files: Sequence[Path] = ()) -> list[list[bytes]]:
    """Batches of documents, each of so many bytes or a little more.

    Args:
        count: of batches, fewer if there is less text.
        size: bytes of a batch.
        files: whose texts are taken; without them, a mixture of what this machine has.
    """
    found: list[list[bytes]] = [[]]
    left = size
    for document in _from_files(files) if files else _mixed(count * size * 2):
        found[-1].append(document)
        left -= len(document)
        if left <= 0:
            if len(found) == count:
                return found
            found.append([])
            left = size
    return found if found[-1] else found[:-1]


def prompts(length: int, count: int, source: Sequence[Sequence[bytes]]) -> list[bytes]:
    """Texts of one length, cut one after the other out of batches, from the start again at the end."""
    text = b"".join(document for batch in source for document in batch)
    text *= -(-length // max(1, len(text)))
    places = max(1, len(text) - length + 1)
    return [text[start : start + length] for start in (place * length % places for place in range(count))]


def adversarial(family: str, size: int, tokens: Sequence[bytes], specials: Sequence[str]) -> bytes:
    """A text of one family, the same at each call; a shorter one is the start of a longer one.

    Args:
        family: one of FAMILIES.
        size: bytes.
        tokens: bytes of the vocabulary's ordinary tokens.
        specials: contents of its special tokens.
    """
    rng = random.Random(family)
    letters = [token for token in tokens if token.isalpha()] or [b"a"]
    names = [*specials, *(name[:-1] for name in specials)] or ["<s>", "</s"]
    pieces: dict[str, Sequence[bytes]] = {
        "one letter": [b"a"],
        "spaces": [b" "],
        "line ends": [b"\n"],
        "mixed CJK": [chr(point).encode() for point in (*range(0x4E00, 0x5E00), *range(0x3041, 0x3094))],
        "combining marks": [chr(point).encode() for point in range(0x300, 0x370)],
        "vocabulary soup": tokens or [b"a"],
        "letter soup": letters,
        "contractions": [b"'s", b"'S", b"'re", b"'ll", b"'", b"s'", b"'d'", b"'ve "],
        "digits": [str(digit).encode() for digit in range(10)],
        "NUL": [b"\0"],
        "special look-alikes": [name.encode() for name in names],
    }
    choice = pieces[family]
    shortest = max(1, min(map(len, choice)))
    return b"".join(rng.choices(choice, k=-(-size // shortest)))[:size]


def _mixed(size: int) -> Iterator[bytes]:
    """Documents of every kind in turn."""
    streams = [documents(kind, size // len(TEXT_KINDS)) for kind in TEXT_KINDS]
    for group in zip_longest(*streams):
        yield from (document for document in group if document)


def _from_files(files: Sequence[Path]) -> Iterator[bytes]:
    for file in files:
        text = file.read_bytes()
        yield from (text[start : start + _FILE_PIECE] for start in range(0, len(text), _FILE_PIECE))
