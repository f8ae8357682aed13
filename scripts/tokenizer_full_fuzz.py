"""Texts made to hurt a tokenizer: families of documents, endless, the same for the same seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

NASTY = [
    *" \t\n\r\v\f\0'aAsStTmMdDrReEvVlL0123456789!<|>_#.,-/\x1f\x7f\x80\x85",
    *"éßΩжあ日本한🙂👩\u200d\u0300\u0301\u0661\u00a0\u2028\u2029\u3000\ufeff\ufffd\u096c½Ⅷ\U000e0001\U0001d7d8",
    *"ſKÅﬁﬀŉΐΰǰẖİıⅷ\u2581\ue000\ue001\u2019`´\u200b\u2060\u180e\u1680\u3164\U0010ffff",
    *("'s", "'S", "'ſ", "'re", "'RE", "'Ve", "'ll", "'lL", "'d", "'M", " '", "''", "'\n", "’s"),
    *("  ", "   ", "\r\n", "\n\n", " \n", "\n ", "\t\t", " \r", "\r ", " \n ", "\u00a0 ", " \u3000"),
]
MARKS = [
    *"\u0300\u0301\u0302\u0304\u0307\u0308\u030a\u0323\u0327\u0328\u0331\u0334\u0338\u0344\u0345\u035c\u3099\u309a",
    *"aAeEoOuUsSdDkKiI\u00e4\u01d6\u1e69\u1ec7\u0f71\u0f72\u0f74\u0f80\u0fb2\u0fb3\u09c7\u09be\u09d7\u0bc6\u0bbe",
    *"\u0dd9\u0dcf\u0dca\u0cc6\u0cc2\u0cd5\u1100\u1112\u1161\u1175\u11a8\u11c2\uac00\uac01\ud7a3\u2126\u212b\u0958",
    *"\ufb1d\u05b4\u0f43\u2adc\U0001d15e\U0001d165\U0001109a\U000110ba\U00011131\U00011127\U0001134b\U0001133e",
    *"\u3046\u30ab\u304b\u0b47\u0b56\u0b3e\u1025\u102e\u1b05\u1b35\u0627\u0653\u0654\u0655\u093c\u0915 '1",
]
_LEADS = bytes.fromhex("2061270a80bfc1c2c3a9e0a0e38182ed9fefbbbff0909f98f48ff5ff00")
"""Bytes that make valid and invalid UTF-8 sequences often."""
_LONG = 40_000
_SURROGATES = range(0xD800, 0xE000)

Maker = Callable[[random.Random], bytes]


def families(tokens: Sequence[bytes], specials: Sequence[str]) -> dict[str, Maker]:
    """Name → maker of one document.

    Args:
        tokens: bytes of the vocabulary's ordinary tokens.
        specials: contents of its special tokens.
    """
    letters = [token for token in tokens if token.isalpha()] or [b"a"]
    looks = [*specials[:200], *(name[:-1] for name in specials[:50]), *(name[1:] for name in specials[:50])]
    looks = looks or ["<s>", "</s>", "<|endoftext|>"]
    return {
        "raw bytes": _raw_bytes,
        "NUL": lambda rng: _joined(rng, [*NASTY, *["\0"] * 40], 2_000),
        "code points": _code_points,
        "white space and contractions": lambda rng: _joined(rng, _some(rng, NASTY), 3_000),
        "marks and Hangul": lambda rng: _joined(rng, _some(rng, MARKS), 3_000),
        "vocabulary": lambda rng: _concatenated(rng, tokens),
        "special look-alikes": lambda rng: _joined(rng, [*looks, *looks, *rng.choices(NASTY, k=12)], 500),
        "long runs of a few": _long_run,
        "letter runs of 40 KB": lambda rng: _letters(rng, letters),
    }


def stream(make: Maker, size: int, seed: str) -> Iterator[bytes]:
    """Documents of at least so many bytes in all."""
    rng = random.Random(seed)
    while size > 0:
        document = make(rng)
        size -= len(document)
        yield document


def _length(rng: random.Random, most: int) -> int:
    """Between 1 and `most`, spread evenly in logarithm."""
    return max(1, round(most ** rng.random()))


def _some(rng: random.Random, pieces: Sequence[str]) -> Sequence[str]:
    """All pieces, or a few of them: then runs and repetitions are common."""
    return pieces if rng.random() < 0.5 else rng.sample(pieces, rng.randrange(2, 9))


def _joined(rng: random.Random, pieces: Sequence[str], most: int) -> bytes:
    return "".join(rng.choices(pieces, k=_length(rng, most))).encode()


def _raw_bytes(rng: random.Random) -> bytes:
    length = _length(rng, 20_000)
    return rng.randbytes(length) if rng.random() < 0.5 else bytes(rng.choices(_LEADS, k=length))


def _code_points(rng: random.Random) -> bytes:
    """Of all planes, of the first one, or of one block of 256."""
    kind = rng.randrange(3)
    start = 0 if kind < 2 else rng.randrange(0x110) << 12 | rng.randrange(16) << 8
    span = (0x110000, 0x10000, 0x100)[kind]
    points = rng.choices(range(start, min(start + span, 0x110000)), k=_length(rng, 6_000))
    return "".join(chr(point) for point in points if point not in _SURROGATES).encode()


def _concatenated(rng: random.Random, tokens: Sequence[bytes]) -> bytes:
    """Tokens one after the other, now and then with other bytes between, cut anywhere."""
    between = rng.choice([b"", b"", b" ", b"'", b"\n"])
    joined = between.join(rng.choices(tokens, k=_length(rng, 3_000)))
    return joined[rng.randrange(3) : len(joined) - rng.randrange(3)]


def _long_run(rng: random.Random) -> bytes:
    """One to three pieces over and over: spaces, line ends, digits, punctuation, one letter, marks."""
    pieces = rng.choices([*NASTY, *MARKS], k=rng.randrange(1, 4))
    run = "".join(rng.choices(pieces, k=_length(rng, _LONG // 2)))
    return ("x" * rng.randrange(2) + run + "y" * rng.randrange(2)).encode()


def _letters(rng: random.Random, letters: Sequence[bytes]) -> bytes:
    """One word of 40 KB."""
    kind = rng.randrange(5)
    if kind == 0:
        return rng.choice(["a", "e", "ß", "ж", "日", "한"]).encode() * (_LONG // 2)
    if kind == 1:
        return "".join(rng.choices("etaoinshrdlu", k=_LONG)).encode()
    if kind == 2:
        return "".join(map(chr, rng.choices(range(0x4E00, 0x9FFF), k=_LONG // 3))).encode()
    if kind == 3:
        return "".join(rng.choices("abé\u0301жあ", k=_LONG // 2)).encode()
    return b"".join(rng.choices(letters, k=_LONG // 5))
