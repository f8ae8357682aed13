"""TokenizerConfig: what the files beside a vocabulary say about a tokenizer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from models.contract.errors import CheckpointError
from preprocessing.tokenizers.refusal import read_json_object, refusal

_CONFIG, _GENERATION, _MODEL = "tokenizer_config.json", "generation_config.json", "config.json"
_TEMPLATE, _ADDED = "chat_template.jinja", "added_tokens.json"
_LISTS = ("additional_special_tokens", "extra_special_tokens")

_BOS_FIRST = ("LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer")
"""Classes that put the BOS token first unless `add_bos_token` says otherwise."""
_BOS_FIRST_MODELS = ("llama", "mistral", "gemma", "gemma2")
"""Values of config.json's `model_type` whose tokenizers are of these classes."""


class TokenizerConfig:
    """tokenizer_config.json, generation_config.json, chat_template.jinja and added_tokens.json.

    Args:
        folder: theirs; each may be missing.

    Raises:
        CheckpointError: a file is unreadable.
    """

    def __init__(self, folder: Path) -> None:
        self.file = folder / _CONFIG
        self._folder = folder
        self._values = _optional(self.file)

    @classmethod
    def beside(cls, file: Path) -> Self:
        """The files in the folder of a vocabulary file."""
        return cls(file.parent)

    def get(self, name: str) -> Any:
        """Value of a setting of tokenizer_config.json, None if absent."""
        return self._values.get(name)

    def content(self, name: str) -> str | None:
        """Content of a token that is given as such or with its properties."""
        return _content(self.get(name))

    def roles(self) -> Iterator[tuple[str, str]]:
        """Setting and content of each token that the configuration names as special."""
        for name in self._values:
            content = self.content(name) if name.endswith("_token") else None
            if content:
                yield name, content
        for name in _LISTS:
            listed = self.get(name) or []
            for token in listed.values() if isinstance(listed, Mapping) else listed:
                if content := _content(token):
                    yield name, content

    def special_names(self) -> frozenset[str]:
        """Contents of the tokens that it names as special: by their roles, or as such by their ids."""
        listed = (self.get("added_tokens_decoder") or {}).values()
        special = {token["content"] for token in listed if token.get("special") is True}
        return frozenset({*special, *(content for _, content in self.roles())})

    def added_tokens(self) -> dict[int, dict[str, Any]]:
        """Properties of each added token by id; those of added_tokens.json alone are special."""
        listed = _optional(self._folder / _ADDED)
        tokens: dict[int, dict[str, Any]] = {
            int(index): {"content": content, "special": True} for content, index in listed.items()
        }
        given = self.get("added_tokens_decoder") or {}
        return tokens | {int(index): dict(token) for index, token in given.items()}

    def refuse(self, name: str, supported: str) -> CheckpointError:
        """The error for a setting that would not be reproduced exactly."""
        return refusal(self.file, name, self.get(name), supported)

    def token_id(self, name: str, content: str | None, ids: Mapping[str, int], owner: str) -> int | None:
        """Id of the token that plays a role; None without one.

        Raises:
            CheckpointError: the vocabulary, which `owner` names, does not have it.
        """
        if content is None:
            return None
        if content not in ids:
            raise CheckpointError(
                f"{self.file}: `{name}` is {content!r}, which {owner} does not have.", field=name
            )
        return ids[content]

    def add_bos(self, bos: str | None) -> bool:
        """Whether a prompt starts with the BOS token.

        Raises:
            CheckpointError: it does, but there is none.
        """
        add = bool(self.get("add_bos_token"))
        if add and bos is None:
            raise CheckpointError(
                f"{self.file}: `add_bos_token` is true but `bos_token` is null.",
                field="add_bos_token",
                remedy="Name the token or set `add_bos_token` to false.",
            )
        return add

    def puts_bos_first(self) -> bool:
        """Whether the tokenizer's class does so by itself, where `add_bos_token` is not given."""
        name = str(self.get("tokenizer_class") or "").removesuffix("Fast")
        model = _optional(self._folder / _MODEL).get("model_type")
        return name in _BOS_FIRST or (not name and model in _BOS_FIRST_MODELS)

    def eos_ids(self, own: int | None) -> tuple[int, ...]:
        """The tokenizer's end token and those that generation_config.json adds.

        Raises:
            CheckpointError: the latter are no ids.
        """
        file = self._folder / _GENERATION
        given = _optional(file).get("eos_token_id")
        more = given if isinstance(given, list) else [given]
        if any(index is not None and type(index) is not int for index in more):
            raise refusal(file, "eos_token_id", given, "an id, a list of ids, or null")
        return tuple(sorted({index for index in (own, *more) if index is not None}))

    def chat_template(self) -> str | None:
        """A template file goes before the configuration; of several named ones the one named "default"."""
        template = self._folder / _TEMPLATE
        if template.is_file():
            return template.read_text(encoding="utf-8")
        value = self.get("chat_template")
        if isinstance(value, list):
            value = next((entry.get("template") for entry in value if entry.get("name") == "default"), None)
        if value is not None and not isinstance(value, str):
            raise refusal(self.file, "chat_template", value, "a Jinja template")
        return value


def _content(token: object) -> str | None:
    content = token.get("content") if isinstance(token, dict) else token
    return content if isinstance(content, str) else None


def _optional(file: Path) -> dict[str, Any]:
    return read_json_object(file) if file.is_file() else {}
