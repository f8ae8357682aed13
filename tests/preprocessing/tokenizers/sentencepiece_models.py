"""SentencePiece models for tests: trained by the sentencepiece library, which is the reference too."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import sentencepiece

from preprocessing.tokenizers.sentencepiece_proto import ModelProto, PieceType
from tests.preprocessing.tokenizers import vocabularies

SPACE = "\u2581"
CONTROL = ("[INST]", "[/INST]", "<|im_end|>")
USER_DEFINED = ("<tool>", "\n", "  ", "99")
PROSE = (
    "Größe und Maß; naïve café; Ελληνικά, кириллица; 日本語のテキスト。 中文文本, 한국어; "
    "x² ½ ﬁ ﬂ Ⅷ ①; tabs\tand  double   spaces. "
)


@cache
def trained(kind: str = "bpe", vocab_size: int = 700, **settings: Any) -> bytes:
    """A serialised model; settings as sentencepiece's trainer takes them, tuples for lists."""
    wanted = {
        "model_type": kind,
        "vocab_size": vocab_size,
        "byte_fallback": True,
        "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
        "control_symbols": CONTROL,
        "user_defined_symbols": USER_DEFINED,
        "hard_vocab_limit": False,
        **settings,
    }
    wanted = {name: list(value) if isinstance(value, tuple) else value for name, value in wanted.items()}
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(_lines()), model_writer=model, num_threads=1, minloglevel=2, **wanted
    )
    return model.getvalue()


def _lines() -> list[str]:
    sources = sorted(Path("preprocessing/tokenizers").glob("word_*.py"))
    return [*PROSE.split(";") * 20, *(line for path in sources for line in path.read_text().splitlines())]


def changed(model: bytes, change: Callable[[Any], None]) -> bytes:
    """A model with something else in its message."""
    message = ModelProto.FromString(model)
    change(message)
    return bytes(message.SerializeToString())


def as_control(model: bytes, pieces: Iterable[str]) -> bytes:
    """A model with pieces as control pieces."""

    def change(message: Any) -> None:
        for piece in message.pieces:
            if piece.piece in pieces:
                piece.type = PieceType.CONTROL

    return changed(model, change)


def reference(model: bytes) -> sentencepiece.SentencePieceProcessor:
    """The library's own tokenizer."""
    return sentencepiece.SentencePieceProcessor(model_proto=model)


def reference_ids(model: bytes, texts: list[str | bytes]) -> list[list[int]]:
    processor = reference(model)
    return [processor.encode(plain(text)) for text in texts]


def plain(text: str | bytes) -> str:
    """A text as Python's "replace" reads its bytes."""
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else text


def pieces(model: bytes) -> list[str]:
    """Texts of the pieces, spaces as spaces."""
    return [piece.piece.replace(SPACE, " ") for piece in ModelProto.FromString(model).pieces]


def nasty_texts(model: bytes, seed: int, count: int) -> list[str | bytes]:
    """Strings made to hurt, of the model's own pieces among others."""
    return vocabularies.nasty_texts(seed, count, [*pieces(model), SPACE, *CONTROL, *USER_DEFINED])
