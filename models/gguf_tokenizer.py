"""The tokenizer in a GGUF file's metadata, as Hugging Face files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from models.contract.errors import CheckpointError

_CONTROL, _USER_DEFINED = 3, 4
_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
_PRE_TOKENIZERS: dict[str, dict[str, Any]] = {
    "gpt-2": _BYTE_LEVEL,
    "smollm": {
        "type": "Sequence",
        "pretokenizers": [{"type": "Digits", "individual_digits": True}, _BYTE_LEVEL],
    },
}
"""How text is cut into words, by `tokenizer.ggml.pre`."""

_END_NAMES = ("<|endoftext|>", "<|im_end|>", "<|eot_id|>", "<|end_of_text|>", "<|end|>", "</s>")
"""Control tokens that end an answer by their name, as llama.cpp has it; GGUF names only one id."""


class GgufTokenizer:
    """A byte-level BPE tokenizer read from GGUF metadata.

    Args:
        metadata: field name → value.
        source: the file's name for messages.

    Raises:
        CheckpointError: another kind of tokenizer, an unknown pre-tokenizer, or an incomplete one.
    """

    def __init__(self, metadata: Mapping[str, Any], source: str) -> None:
        self._metadata = metadata
        self._source = source
        self._refuse_unknown_kinds()
        self.tokens: list[str] = self._need("tokenizer.ggml.tokens")
        self._types: list[int] = metadata.get("tokenizer.ggml.token_type") or [1] * len(self.tokens)
        self._refuse_broken_tokens()

    @property
    def bos_id(self) -> int | None:
        """Begin-of-sequence id, if there is one."""
        return self._metadata.get("tokenizer.ggml.bos_token_id")

    @property
    def pad_id(self) -> int | None:
        """Padding id, if there is one."""
        return self._metadata.get("tokenizer.ggml.padding_token_id")

    @property
    def eos_ids(self) -> tuple[int, ...]:
        """End ids: the file's own first, then the control tokens that are ends by name."""
        fields = ("eos_token_id", "eot_token_id", "eom_token_id")
        own = [self._metadata.get(f"tokenizer.ggml.{field}") for field in fields]
        named = [index for index, token, kind in self._specials() if kind == _CONTROL and token in _END_NAMES]
        return tuple(dict.fromkeys(index for index in [*own, *named] if index is not None))

    def tokenizer_json(self) -> dict[str, Any]:
        """Contents of tokenizer.json."""
        pre_tokenizer = _PRE_TOKENIZERS[self._metadata["tokenizer.ggml.pre"]]
        return {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [
                _added_token(index, token, kind == _CONTROL) for index, token, kind in self._specials()
            ],
            "normalizer": None,
            "pre_tokenizer": pre_tokenizer,
            "post_processor": self._post_processor(),
            "decoder": {
                "type": "ByteLevel",
                "add_prefix_space": True,
                "trim_offsets": True,
                "use_regex": True,
            },
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": None,
                "continuing_subword_prefix": None,
                "end_of_word_suffix": None,
                "fuse_unk": False,
                "byte_fallback": False,
                "ignore_merges": False,
                "vocab": {token: index for index, token in enumerate(self.tokens)},
                "merges": [merge.split(" ") for merge in self._need("tokenizer.ggml.merges")],
            },
        }

    def tokenizer_config(self, max_length: int) -> dict[str, Any]:
        """Contents of tokenizer_config.json."""
        settings = {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "add_bos_token": self._adds_bos,
            "add_prefix_space": False,
            "clean_up_tokenization_spaces": False,
            "model_max_length": max_length,
            "bos_token": self._token(self.bos_id),
            "eos_token": self._token(self._metadata.get("tokenizer.ggml.eos_token_id")),
            "pad_token": self._token(self.pad_id),
            "unk_token": self._token(self._metadata.get("tokenizer.ggml.unknown_token_id")),
        }
        template = self._metadata.get("tokenizer.chat_template")
        return settings if template is None else {**settings, "chat_template": template}

    def generation_config(self) -> dict[str, Any]:
        """Contents of generation_config.json."""
        ids = list(self.eos_ids)
        return {
            "bos_token_id": self.bos_id,
            "eos_token_id": ids[0] if len(ids) == 1 else ids or None,
            "pad_token_id": self.pad_id,
        }

    @property
    def _adds_bos(self) -> bool:
        return bool(self._metadata.get("tokenizer.ggml.add_bos_token", False))

    def _specials(self) -> list[tuple[int, str, int]]:
        return [
            (index, self.tokens[index], kind)
            for index, kind in enumerate(self._types)
            if kind in (_CONTROL, _USER_DEFINED)
        ]

    def _token(self, index: int | None) -> str | None:
        return None if index is None else self.tokens[index]

    def _need(self, field: str) -> Any:
        if not self._metadata.get(field):
            raise CheckpointError(
                f"{self._source}: lacks `{field}`.", field=field, remedy="Use a GGUF file with its tokenizer."
            )
        return self._metadata[field]

    def _post_processor(self) -> dict[str, Any] | None:
        if not self._adds_bos:
            return None
        bos = self._token(self.bos_id)
        text = {"Sequence": {"id": "A", "type_id": 0}}
        start = {"SpecialToken": {"id": bos, "type_id": 0}}
        return {
            "type": "TemplateProcessing",
            "single": [start, text],
            "pair": [start, text, start, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {bos: {"id": bos, "ids": [self.bos_id], "tokens": [bos]}},
        }

    def _refuse_unknown_kinds(self) -> None:
        supported = {
            "tokenizer.ggml.model": ("gpt2",),
            "tokenizer.ggml.pre": tuple(_PRE_TOKENIZERS),
            "tokenizer.ggml.add_eos_token": (None, False),
        }
        for field, allowed in supported.items():
            if self._metadata.get(field) not in allowed:
                raise CheckpointError(
                    f"{self._source}: `{field}` is {self._metadata.get(field)!r}; this version reads "
                    f"{', '.join(repr(value) for value in allowed if value is not None)}.",
                    field=field,
                    remedy="Import the model's Hugging Face checkpoint instead: `tokenmill import hf`.",
                )

    def _refuse_broken_tokens(self) -> None:
        ids = [value for name, value in self._metadata.items() if name.endswith("_token_id")]
        broken = {
            "tokenizer.ggml.tokens": len(set(self.tokens)) != len(self.tokens),
            "tokenizer.ggml.token_type": len(self._types) != len(self.tokens),
            "a special token's id": any(not 0 <= value < len(self.tokens) for value in ids),
            "tokenizer.ggml.bos_token_id": self._adds_bos and self.bos_id is None,
        }
        for field, is_broken in broken.items():
            if is_broken:
                raise CheckpointError(
                    f"{self._source}: {field} does not fit the vocabulary of {len(self.tokens)} tokens.",
                    field=field,
                    remedy="Use an intact GGUF file.",
                )


def _added_token(index: int, content: str, special: bool) -> dict[str, Any]:
    return {
        "id": index,
        "content": content,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": special,
    }
