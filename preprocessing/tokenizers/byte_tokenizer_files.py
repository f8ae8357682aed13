"""Writes the files of a byte tokenizer, for models without a vocabulary of their own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from preprocessing.tokenizers.byte_alphabet import BYTE_LETTERS


def write_byte_tokenizer(directory: Path, specials: Sequence[str] = ("<|endoftext|>",)) -> None:
    """Write tokenizer.json and tokenizer_config.json as Hugging Face libraries read them.

    Ids 0 … 255 are the bytes, the special tokens follow in order; the first one ends a text.

    Args:
        directory: must exist.
        specials: at least one.
    """
    tokens = {letter: byte for byte, letter in enumerate(BYTE_LETTERS)}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    added = [_added_token(256 + index, content) for index, content in enumerate(specials)]
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": {"type": "BPE", "vocab": tokens, "merges": []},
    }
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": specials[0]}
    _write(directory / "tokenizer.json", tokenizer)
    _write(directory / "tokenizer_config.json", config)


def _added_token(index: int, content: str) -> dict[str, object]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": index, "content": content, **flags}


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
