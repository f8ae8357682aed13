"""A SentencePiece BPE model whose piece numbers are the token ids of a byte-level BPE vocabulary.

Written field by field as sentencepiece_model.proto defines it, so that neither training nor the
sentencepiece library is needed: pieces (1), trainer settings (2), normaliser settings (3).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache

from preprocessing.tokenizers.byte_alphabet import LETTER_SET
from preprocessing.tokenizers.sentencepiece_proto import NO_REPLACEMENTS

BEGIN, END = "\ue003", "\ue000"
"""Pieces of their own, outside the byte alphabet: keep words apart within one string."""

_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED = 1, 2, 3, 4
_BPE = 2
_LETTER_SCORE = -1e6
_ABSENT = -1


def sentencepiece_model(
    vocab: dict[str, int], made: Sequence[str], whole: Sequence[str], vocab_size: int
) -> bytes:
    """Serialised ModelProto.

    Piece i is token i, of the better score the more urgent it is; whatever merging never makes (special
    tokens, unused ids) is a control piece, which text never becomes. Piece vocab_size is the unknown
    piece, which words in the byte alphabet never need; END and BEGIN follow, then BEGIN, token and END
    in one piece for each of `whole`. User-defined pieces go before merging and take no part in it.

    Args:
        vocab: token in the byte alphabet → id.
        made: at most 2^24 tokens that merging makes, the most urgent first: float32 holds their scores.
            Of the byte alphabet, as `whole`: the names of other pieces are outside it.
        whole: tokens that words become without merging.
        vocab_size: number of ids.
    """
    score = dict.fromkeys(LETTER_SET, _LETTER_SCORE)
    score.update((token, -float(place)) for place, token in enumerate(made))
    normal = {index: token for token, index in vocab.items() if token in score}
    pieces = [
        _piece(normal[index], score[normal[index]], _NORMAL)
        if index in normal
        else _piece(f"\ue001{index}", 0.0, _CONTROL)
        for index in range(vocab_size)
    ]
    pieces.append(_piece("\ue002", 0.0, _UNKNOWN))
    pieces.extend(_piece(mark, 0.0, _USER_DEFINED) for mark in (END, BEGIN))
    pieces.extend(_piece(f"{BEGIN}{token}{END}", 0.0, _USER_DEFINED) for token in whole)
    return b"".join(pieces) + _message(2, _trainer(vocab_size, len(pieces))) + _message(3, _normalizer())


def _trainer(unknown_id: int, pieces: int) -> bytes:
    model_type, size, unknown = _integer(3, _BPE), _integer(4, pieces), _integer(40, unknown_id)
    begin, end, pad = (_integer(field, _ABSENT) for field in (41, 42, 43))
    return model_type + size + unknown + begin + end + pad


def _normalizer() -> bytes:
    """The identity: no replacements, no dummy prefix, white space neither removed nor escaped.

    Without a table of replacements each load would log that there is none. So there is one without
    entries.
    """
    table = _message(2, NO_REPLACEMENTS)
    return _message(1, b"identity") + table + _integer(3, 0) + _integer(4, 0) + _integer(5, 0)


def _piece(text: str, score: float, kind: int) -> bytes:
    said = b"" if kind == _NORMAL else _integer(3, kind)
    return _message(1, _message(1, text.encode()) + struct.pack("<Bf", 2 << 3 | 5, score) + said)


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
