"""A SentencePiece BPE model whose piece numbers are the token ids of a byte-level BPE vocabulary.

Written field by field as sentencepiece_model.proto defines it, so that neither training nor the
sentencepiece library is needed: pieces (1), trainer settings (2), normaliser settings (3).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import lru_cache

from preprocessing.tokenizers.byte_alphabet import LETTER_SET

SEPARATOR = "\ue000"
"""A piece of its own, outside the byte alphabet: keeps words apart within one string."""

_NORMAL, _UNKNOWN, _CONTROL = 1, 2, 3
_BPE = 2
_LETTER_SCORE = -1e6
_ABSENT = -1


def sentencepiece_model(vocab: dict[str, int], merges: Iterable[tuple[str, str]], vocab_size: int) -> bytes:
    """Serialised ModelProto.

    Piece i is token i with −rank as its score; whatever no merge makes (special tokens, unused ids)
    is a control piece, which text never becomes. Piece vocab_size is the unknown piece, which words
    in the byte alphabet never need, piece vocab_size + 1 is SEPARATOR.

    Args:
        vocab: token in the byte alphabet → id.
        merges: at most 2^24 rules, the most urgent first, one per token: float32 holds their ranks.
        vocab_size: number of ids.
    """
    score = dict.fromkeys(LETTER_SET, _LETTER_SCORE)
    score.update((left + right, -float(rank)) for rank, (left, right) in enumerate(merges))
    token = {index: token for token, index in vocab.items() if token in score}
    pieces = [
        _piece(token[index], score[token[index]], _NORMAL)
        if index in token
        else _piece(f"\ue001{index}", 0.0, _CONTROL)
        for index in range(vocab_size)
    ]
    pieces.append(_piece("\ue002", 0.0, _UNKNOWN))
    pieces.append(_piece(SEPARATOR, _LETTER_SCORE, _NORMAL))
    return b"".join(pieces) + _message(2, _trainer(vocab_size)) + _message(3, _normalizer())


def _trainer(vocab_size: int) -> bytes:
    model_type, size, unknown = _integer(3, _BPE), _integer(4, vocab_size + 2), _integer(40, vocab_size)
    begin, end, pad = (_integer(field, _ABSENT) for field in (41, 42, 43))
    return model_type + size + unknown + begin + end + pad


def _normalizer() -> bytes:
    """The identity: no replacements, no dummy prefix, white space neither removed nor escaped.

    Without a table of replacements each load would log that there is none. So there is one without
    entries: a double-array trie whose root leads to units that carry no byte's label.
    """
    trie = struct.pack("<256I", 0, *[1 << 31] * 255)
    table = struct.pack("<I", len(trie)) + trie + b"\0"
    return _message(1, b"identity") + _message(2, table) + _integer(3, 0) + _integer(4, 0) + _integer(5, 0)


def _piece(text: str, score: float, kind: int) -> bytes:
    return _message(1, _message(1, text.encode()) + struct.pack("<Bf", 2 << 3 | 5, score) + _integer(3, kind))


def _message(field: int, payload: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(payload)) + payload


def _integer(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value % (1 << 64))


@lru_cache(1 << 10)
def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
