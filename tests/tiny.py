"""A tiny random Llama checkpoint with a real byte-level BPE tokenizer, for tests of every room."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from models.checkpoint_files import tensor_shapes, write_checkpoint, write_json
from models.decoder_config import DecoderConfig

END_OF_TEXT = "<|endoftext|>"
IM_START, IM_END = "<|im_start|>", "<|im_end|>"
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] "
    "+ '<|im_end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}"
    "{% endif %}"
)
MERGES = [
    "Ġ t",
    "h e",
    "i n",
    "Ġ a",
    "r e",
    "o n",
    "Ġt he",
    "e r",
    "Ġ Ġ",
    "d e",
    "de f",
    "Ġ s",
    "in g",
    "ĠĠ ĠĠ",
]
TINY = DecoderConfig(
    vocab_size=259 + len(MERGES),
    hidden_size=32,
    intermediate_size=48,
    num_layers=2,
    num_heads=4,
    num_kv_heads=2,
    head_dim=8,
    max_length=256,
    rope_theta=5000.0,
    eos_ids=(0,),
)
"""Ids: 0 end of text, 1 and 2 chat marks, 3 … 258 the bytes, then the merged tokens."""


def byte_alphabet() -> list[str]:
    """GPT-2's printable character of each byte 0 … 255."""
    printable = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(256, 512))
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]


def tokenizer_json(merges: list[str], *, digits: bool = True) -> dict[str, Any]:
    """A Hugging Face tokenizer.json: the bytes, some merges, three special tokens."""
    specials = [END_OF_TEXT, IM_START, IM_END]
    tokens = specials + byte_alphabet() + [merge.replace(" ", "") for merge in merges]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    splits = [{"type": "Digits", "individual_digits": True}, byte_level]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": index,
                "content": content,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for index, content in enumerate(specials)
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": splits} if digits else byte_level,
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {token: index for index, token in enumerate(tokens)},
            "merges": [merge.split(" ") for merge in merges],
        },
    }


def write_tiny_tokenizer(directory: Path) -> None:
    """Write tokenizer.json, tokenizer_config.json and generation_config.json."""
    (directory / "tokenizer.json").write_text(json.dumps(tokenizer_json(MERGES), ensure_ascii=False))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": None,
        "eos_token": END_OF_TEXT,
        "pad_token": None,
        "unk_token": None,
        "add_bos_token": False,
        "clean_up_tokenization_spaces": False,
        "model_max_length": TINY.max_length,
        "chat_template": CHAT_TEMPLATE,
    }
    write_json(directory / "tokenizer_config.json", settings)
    write_json(directory / "generation_config.json", {"eos_token_id": 0})


def tiny_tensors(config: DecoderConfig, seed: int = 0, scale: float = 0.3) -> dict[str, np.ndarray]:
    """Random weights by checkpoint name; large enough that different contexts give different ids."""
    random = np.random.default_rng(seed)
    tensors = {}
    for name, shape in tensor_shapes(config).items():
        is_norm = len(shape) == 1 and name.endswith("weight")
        draw = random.normal(0, scale, shape) + is_norm
        tensors[name] = draw.astype(np.float32)
    return tensors


def write_tiny_checkpoint(directory: Path, seed: int = 0, **overrides: Any) -> Path:
    """Write a checkpoint directory that load_checkpoint, load_tokenizer and transformers read.

    Args:
        directory: created if absent.
        seed: of the random weights; the same seed gives the same weights.
        overrides: fields of DecoderConfig other than TINY's, e.g. `tied=False`, `num_layers=1`.

    Returns:
        `directory`.
    """
    config = replace(TINY, **overrides)
    directory.mkdir(parents=True, exist_ok=True)
    write_tiny_tokenizer(directory)
    write_checkpoint(directory, config, tiny_tensors(config, seed))
    return directory
