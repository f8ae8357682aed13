from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from models.contract.errors import CheckpointError
from preprocessing.tokenizers.sentencepiece_file import read_sentencepiece
from preprocessing.tokenizers.sentencepiece_proto import ModelProto, PieceType
from tests.preprocessing.tokenizers import sentencepiece_models as models


def set_type(piece: str, kind: int) -> Callable[[Any], None]:
    def change(message: Any) -> None:
        next(one for one in message.pieces if one.piece == piece).type = kind

    return change


def set_field(spec: str, field: str, value: Any) -> Callable[[Any], None]:
    return lambda message: setattr(getattr(message, spec), field, value)


def add_piece(text: str, kind: int = PieceType.NORMAL, score: float = -9.0) -> Callable[[Any], None]:
    return lambda message: message.pieces.add(piece=text, type=kind, score=score)


REFUSED = {
    "a word model": ("trainer_spec.model_type", "WORD", set_field("trainer_spec", "model_type", 3)),
    "a denormalizer": (
        "denormalizer_spec.precompiled_charsmap",
        "4 bytes",
        set_field("denormalizer_spec", "precompiled_charsmap", b"abcd"),
    ),
    "a piece twice": ("pieces", "the", lambda message: [add_piece("the")(message) for _ in range(2)]),
    "an empty piece": ("pieces", '""', add_piece("")),
    "no pieces": ("pieces", "null", lambda message: message.ClearField("pieces")),
    "a type of tomorrow": ("pieces", '"type": 7', set_type("<s>", 7)),
    "no number": ("pieces", "NaN", add_piece("xyzzy", score=float("nan"))),
    "two unknown pieces": ("pieces", "</s>", set_type("</s>", PieceType.UNKNOWN)),
    "a byte too few": ("pieces", "<0x41>", set_type("<0x41>", PieceType.NORMAL)),
    "bytes without use": ("pieces", "<0x00>", set_field("trainer_spec", "byte_fallback", False)),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_would_not_be_exact_is_refused_by_name(tmp_path: Path, case: str):
    field, shown, change = REFUSED[case]
    path = tmp_path / "tokenizer.model"
    path.write_bytes(models.changed(models.trained(), change))
    with pytest.raises(CheckpointError, match="Supported: ") as caught:
        read_sentencepiece(path)
    assert caught.value.field == field
    assert shown in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("content", [None, b"{}", b"\x0a\xff\xff"])
def test_what_is_no_model_is_refused(tmp_path: Path, content: bytes | None):
    path = tmp_path / "tokenizer.model"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(CheckpointError, match=r"tokenizer\.model"):
        read_sentencepiece(path)


def test_a_control_piece_of_one_character_is_refused(tmp_path: Path):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(models.changed(models.trained(), add_piece("@", PieceType.CONTROL)))
    file = read_sentencepiece(path)
    with pytest.raises(CheckpointError, match="more than one character"):
        file.spec(file.control)


def test_special_tokens_that_are_byte_pieces_or_have_far_ids_are_refused(tmp_path: Path):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(models.trained())
    file = read_sentencepiece(path)
    with pytest.raises(CheckpointError, match="no byte pieces"):
        file.spec({"<0x0A>": file.ids["<0x0A>"]})
    with pytest.raises(CheckpointError, match="at most 65536"):
        file.spec({"<far>": 10**9})


def test_texts_of_pieces_follow_their_types(tmp_path: Path):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(models.trained())
    file = read_sentencepiece(path)
    spec = file.spec({**file.control, "<added>": 905})
    ids = file.ids
    texts = {piece: spec.token_bytes[ids[piece]] for piece in ("<unk>", "<s>", "<0x0A>", "<tool>", "▁the")}
    assert texts == {
        "<unk>": " ⁇ ".encode(),
        "<s>": b"<s>",
        "<0x0A>": b"\n",
        "<tool>": b"<tool>",
        "▁the": b" the",
    }
    assert len(spec.token_bytes) == 906
    assert (spec.token_bytes[905], spec.token_bytes[904]) == (b"<added>", b"")
    assert spec.start is not None
    assert spec.start.first_bytes[ids["▁the"]] == b"the"
    assert not spec.start.begins[ids["<s>"]]
    assert spec.start.begins[ids["▁"]]
    assert (file.bos, file.eos, file.adds_space) == ("<s>", "</s>", True)


def test_the_model_of_the_graph_knows_which_pieces_are_special_and_nothing_of_its_training(tmp_path: Path):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(models.trained())
    file = read_sentencepiece(path)
    spec = file.spec({**file.control, "<tool>": file.ids["<tool>"]})
    message = ModelProto.FromString(spec.model)
    assert message.pieces[file.ids["<tool>"]].type == PieceType.CONTROL
    assert file.type_of(file.ids["<tool>"]) == PieceType.USER_DEFINED
    assert len(spec.model) < len(path.read_bytes()) + 1100


def test_without_a_space_in_front_nothing_is_dropped(tmp_path: Path):
    path = tmp_path / "tokenizer.model"
    path.write_bytes(
        models.changed(models.trained(), set_field("normalizer_spec", "add_dummy_prefix", False))
    )
    file = read_sentencepiece(path)
    assert file.spec(file.control).start is None
    assert not file.adds_space
