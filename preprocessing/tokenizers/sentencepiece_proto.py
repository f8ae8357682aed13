"""SentencePiece's model file as a protobuf message, without the sentencepiece library.

The fields are those of sentencepiece_model.proto that decide ids and texts; what else a file holds
(settings of its training, samples) is unknown here.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Any

from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass


class PieceType(IntEnum):
    """Values of `pieces.type`."""

    NORMAL = 1
    UNKNOWN = 2
    CONTROL = 3
    USER_DEFINED = 4
    UNUSED = 5
    BYTE = 6


class ModelType(IntEnum):
    """Values of `trainer_spec.model_type`."""

    UNIGRAM = 1
    BPE = 2
    WORD = 3
    CHAR = 4


BYTE_PIECES = tuple(f"<0x{byte:02X}>" for byte in range(256))
"""The piece of byte 0 … 255."""


def _no_replacements() -> bytes:
    """A double-array trie whose root leads to units that carry no byte's label.

    The root's offset of 1 keeps NUL from leading back to the root, whose label is 0: the search would
    walk to the end of a run of NULs from each of them.
    """
    trie = struct.pack("<256I", 1 << 10, *[1 << 31] * 255)
    return struct.pack("<I", len(trie)) + trie + b"\0"


NO_REPLACEMENTS = _no_replacements()
"""`normalizer_spec.precompiled_charsmap` without an entry; without one each load would log so."""

_PACKAGE = "tokenmill.sentencepiece"

_NORMALIZER = "NormalizerSpec"
_FIELDS: dict[str, dict[str, tuple[int, Any, str]]] = {
    "SentencePiece": {
        "piece": (1, Field.TYPE_STRING, ""),
        "score": (2, Field.TYPE_FLOAT, ""),
        "type": (3, Field.TYPE_INT32, "1"),
    },
    "TrainerSpec": {
        "model_type": (3, Field.TYPE_INT32, "1"),
        "treat_whitespace_as_suffix": (24, Field.TYPE_BOOL, "false"),
        "byte_fallback": (35, Field.TYPE_BOOL, "false"),
        "unk_id": (40, Field.TYPE_INT32, "0"),
        "bos_id": (41, Field.TYPE_INT32, "1"),
        "eos_id": (42, Field.TYPE_INT32, "2"),
        "pad_id": (43, Field.TYPE_INT32, "-1"),
        "unk_surface": (44, Field.TYPE_STRING, " \u2047 "),
        "unk_piece": (45, Field.TYPE_STRING, "<unk>"),
        "bos_piece": (46, Field.TYPE_STRING, "<s>"),
        "eos_piece": (47, Field.TYPE_STRING, "</s>"),
        "pad_piece": (48, Field.TYPE_STRING, "<pad>"),
    },
    _NORMALIZER: {
        "name": (1, Field.TYPE_STRING, ""),
        "precompiled_charsmap": (2, Field.TYPE_BYTES, ""),
        "add_dummy_prefix": (3, Field.TYPE_BOOL, "true"),
        "remove_extra_whitespaces": (4, Field.TYPE_BOOL, "true"),
        "escape_whitespaces": (5, Field.TYPE_BOOL, "true"),
    },
    "ModelProto": {
        "pieces": (1, "SentencePiece", ""),
        "trainer_spec": (2, "TrainerSpec", ""),
        "normalizer_spec": (3, _NORMALIZER, ""),
        "denormalizer_spec": (5, _NORMALIZER, ""),
    },
}
"""Message → field → number, type or message, default."""


def _message_class() -> Any:
    file = FileDescriptorProto(name="sentencepiece.proto", package=_PACKAGE, syntax="proto2")
    for name, fields in _FIELDS.items():
        message = file.message_type.add(name=name)
        for field, (number, kind, default) in fields.items():
            label = Field.LABEL_REPEATED if field == "pieces" else Field.LABEL_OPTIONAL
            entry = message.field.add(name=field, number=number, label=label)
            if isinstance(kind, str):
                entry.type, entry.type_name = Field.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
            else:
                entry.type = kind
            if default:
                entry.default_value = default
    pool = DescriptorPool()
    pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.ModelProto"))


ModelProto: Any = _message_class()
"""The message class; it has a descriptor pool of its own, so no other copy of the schema is in its way."""
