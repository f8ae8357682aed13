"""Reads a SentencePiece model file and refuses by name what would not be reproduced exactly."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError

from models.contract.errors import CheckpointError
from preprocessing.tokenizers.refusal import check_gaps, refusal
from preprocessing.tokenizers.sentencepiece_proto import (
    BYTE_PIECES,
    NO_REPLACEMENTS,
    ModelProto,
    ModelType,
    PieceType,
)
from preprocessing.tokenizers.sentencepiece_spec import SPACE, SentencepieceSpec, TextStart


@dataclass(frozen=True, eq=False)
class SentencepieceFile:
    """A model file that can be reproduced exactly.

    Args:
        path: for messages.
        message: a ModelProto.
        ids: piece → id.
    """

    path: Path
    message: Any
    ids: dict[str, int]

    def type_of(self, index: int) -> PieceType:
        """Type of the piece `index`."""
        return PieceType(self.message.pieces[index].type)

    @property
    def control(self) -> dict[str, int]:
        """Content of each control piece → id."""
        return self.of_type(PieceType.CONTROL)

    def of_type(self, kind: PieceType) -> dict[str, int]:
        """Piece → id of the pieces of a type."""
        return {piece: index for piece, index in self.ids.items() if self.type_of(index) == kind}

    @property
    def bos(self) -> str | None:
        """The piece that the model names as the beginning of a text, if it has it as a control piece."""
        return self._role(self.message.trainer_spec.bos_piece)

    @property
    def eos(self) -> str | None:
        """The piece that ends a text, likewise."""
        return self._role(self.message.trainer_spec.eos_piece)

    @property
    def adds_space(self) -> bool:
        """Whether a text gets a space in front."""
        return bool(self.message.normalizer_spec.add_dummy_prefix)

    def spec(self, specials: dict[str, int]) -> SentencepieceSpec:
        """The model with `specials` as control pieces, which no text becomes.

        Args:
            specials: content → id; pieces by their ids, others with ids behind those of the pieces.

        Raises:
            CheckpointError: one of them is a single character: in BPE the operation fails on such a text;
                or a byte piece, which text may need; or their ids leave too many numbers unused.
        """
        single = next((content for content in specials if len(content) == 1), None)
        if single is not None:
            raise refusal(self.path, "pieces", single, "control pieces of more than one character")
        byte = next((content for content in specials if content in self.of_type(PieceType.BYTE)), None)
        if byte is not None:
            raise refusal(self.path, "pieces", byte, "special tokens that are no byte pieces")
        check_gaps(self.path, "added tokens", {*self.ids.values(), *specials.values()})
        model = ModelProto()
        model.CopyFrom(self.message)
        pieces = range(len(model.pieces))
        for index in set(specials.values()).intersection(pieces):
            model.pieces[index].type = PieceType.CONTROL
        if not model.normalizer_spec.precompiled_charsmap:
            model.normalizer_spec.precompiled_charsmap = NO_REPLACEMENTS
        table = [b""] * (max([len(pieces) - 1, *specials.values()]) + 1)
        for content, index in specials.items():
            table[index] = content.encode()
        for index in pieces:
            table[index] = self._bytes(model.pieces[index])
        serialised = model.SerializeToString(deterministic=True)
        return SentencepieceSpec(serialised, tuple(table), self._start(table, frozenset(specials.values())))

    def _bytes(self, piece: Any) -> bytes:
        if piece.type == PieceType.UNKNOWN:
            return str(self.message.trainer_spec.unk_surface).encode()
        if piece.type == PieceType.CONTROL:
            return str(piece.piece).encode()
        if piece.type == PieceType.BYTE:
            return bytes([BYTE_PIECES.index(piece.piece)])
        return str(piece.piece).replace(SPACE, " ").encode()

    def _start(self, table: list[bytes], silent: frozenset[int]) -> TextStart | None:
        normalizer = self.message.normalizer_spec
        if not (normalizer.add_dummy_prefix or normalizer.remove_extra_whitespaces):
            return None
        spaced = {
            index
            for index, piece in enumerate(self.message.pieces)
            if piece.piece.startswith(SPACE) and piece.type != PieceType.UNKNOWN and index not in silent
        }
        return TextStart.of_pieces(table, spaced, silent, every=normalizer.remove_extra_whitespaces)

    def _role(self, content: str) -> str | None:
        index = self.ids.get(content)
        return content if index is not None and self.type_of(index) == PieceType.CONTROL else None


def read_sentencepiece(path: Path) -> SentencepieceFile:
    """Read the file.

    Raises:
        CheckpointError: it is unreadable, is no model, or asks for something that would not be
            reproduced exactly; the message names the setting.
    """
    message = _message(path)
    counts = Counter(piece.piece for piece in message.pieces)
    twice = next((piece for piece, count in counts.items() if count > 1 or not piece), None)
    if twice is not None or not counts:
        raise refusal(path, "pieces", twice, "distinct pieces, none of them empty")
    _check_settings(path, message)
    _check_pieces(path, message)
    return SentencepieceFile(path, message, {one.piece: index for index, one in enumerate(message.pieces)})


def _message(path: Path) -> Any:
    try:
        message = ModelProto.FromString(path.read_bytes())
    except OSError as error:
        raise CheckpointError(
            f"{path}: cannot be read: {error.strerror}.",
            field=str(path),
            remedy="Name a SentencePiece model file.",
        ) from error
    except DecodeError as error:
        raise CheckpointError(
            f"{path}: is no SentencePiece model: {error}.",
            field=str(path),
            remedy="Copy the file again, in binary mode.",
        ) from error
    message.DiscardUnknownFields()
    return message


def _check_settings(path: Path, message: Any) -> None:
    kind = message.trainer_spec.model_type
    if kind not in (ModelType.BPE, ModelType.UNIGRAM):
        names = {one.value: one.name for one in ModelType}
        raise refusal(path, "trainer_spec.model_type", names.get(kind, kind), "BPE or UNIGRAM")
    charsmap = message.denormalizer_spec.precompiled_charsmap
    if charsmap:
        shown = f"{len(charsmap)} bytes"
        raise refusal(
            path, "denormalizer_spec.precompiled_charsmap", shown, "none: ids are decoded as they are"
        )
    message.ClearField("denormalizer_spec")


def _check_pieces(path: Path, message: Any) -> None:
    known = {kind.value for kind in PieceType}
    for one in message.pieces:
        if one.type not in known or not math.isfinite(one.score):
            shown = {"piece": one.piece, "type": one.type, "score": one.score}
            raise refusal(path, "pieces", shown, "finite scores, and types from 1 to 6")
    unknown = [one.piece for one in message.pieces if one.type == PieceType.UNKNOWN]
    if len(unknown) != 1:
        raise refusal(path, "pieces", unknown, "one unknown piece")
    found = {one.piece for one in message.pieces if one.type == PieceType.BYTE}
    wanted = set(BYTE_PIECES) if message.trainer_spec.byte_fallback else set()
    if found != wanted:
        supported = "the 256 byte pieces with trainer_spec.byte_fallback, none without"
        raise refusal(path, "pieces", sorted(found ^ wanted)[:4], supported)
