"""Loads a GraphTokenizer from a Hugging Face checkpoint directory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from models.contract.errors import CheckpointError
from preprocessing.tokenizers.byte_alphabet import LETTER_SET
from preprocessing.tokenizers.graph_tokenizer import GraphTokenizer
from preprocessing.tokenizers.refusal import read_json_object, refusal
from preprocessing.tokenizers.tokenizer_json import TokenizerJson, read_tokenizer_json
from preprocessing.tokenizers.tokenizer_spec import BYTE_LEVEL_BPE, BYTES, TokenizerSpec

_TOKENIZER, _CONFIG, _GENERATION = "tokenizer.json", "tokenizer_config.json", "generation_config.json"
_TEMPLATE = "chat_template.jinja"


def load_tokenizer(path: Path) -> GraphTokenizer:
    """Load a tokenizer.

    Args:
        path: checkpoint directory, or a tokenizer.json. tokenizer_config.json, generation_config.json
            and chat_template.jinja beside it give special roles and the chat template.

    Returns:
        A tokenizer whose ids equal those of Hugging Face tokenizers for every text.

    Raises:
        CheckpointError: a file is missing or unreadable, or asks for something that would not be
            reproduced exactly; the message names the setting.
    """
    return GraphTokenizer(read_spec(Path(path)))


def read_spec(path: Path) -> TokenizerSpec:
    """Read and check a tokenizer's files; arguments and errors as for `load_tokenizer`."""
    file = path / _TOKENIZER if path.is_dir() else path
    try:
        return _spec(file)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise CheckpointError(
            f"{file}, or a configuration beside it, is not of the form Hugging Face tokenizers writes: "
            f"{type(error).__name__}: {error}.",
            field=str(file),
            remedy="Save the tokenizer again with Hugging Face tokenizers.",
        ) from error


def _spec(file: Path) -> TokenizerSpec:
    parts = read_tokenizer_json(file)
    config_file = file.parent / _CONFIG
    config = read_json_object(config_file) if config_file.is_file() else {}
    _check_config(config_file, config, parts)
    bos = parts.bos or _content(config.get("bos_token"))
    return TokenizerSpec(
        kind=BYTES if _is_bytes(parts) else BYTE_LEVEL_BPE,
        vocab=parts.vocab,
        merges=parts.merges,
        specials=parts.specials,
        pattern=parts.pattern,
        bos_id=_token_id(config_file, "bos_token", bos, parts),
        add_bos=bool(parts.bos) or _add_bos(config_file, config, bos),
        eos_ids=_eos_ids(file.parent / _GENERATION, config_file, config, parts),
        chat_template=_chat_template(file.parent / _TEMPLATE, config_file, config),
        nfc=parts.nfc,
        ignore_merges=parts.ignore_merges,
        added=parts.added,
    )


def _is_bytes(parts: TokenizerJson) -> bool:
    """Whether every byte of a text is a token, whatever text it is."""
    changes = parts.merges or parts.added or parts.nfc
    return not changes and parts.vocab.keys() >= LETTER_SET


def _check_config(file: Path, config: dict[str, Any], parts: TokenizerJson) -> None:
    """Refuse settings by which the configuration would change what tokenizer.json says."""
    for name in ("add_prefix_space", "add_eos_token"):
        if config.get(name):
            raise refusal(file, name, config[name], "false")
    for index, token in (config.get("added_tokens_decoder") or {}).items():
        content = token.get("content")
        if {**parts.added, **parts.specials}.get(content) != int(index):
            supported = "the added tokens of tokenizer.json"
            raise refusal(file, "added_tokens_decoder", {index: content}, supported)


def _content(token: str | dict[str, Any] | None) -> str | None:
    return token.get("content") if isinstance(token, dict) else token


def _token_id(file: Path, field: str, content: str | None, parts: TokenizerJson) -> int | None:
    if content is None:
        return None
    index = parts.specials.get(content, parts.added.get(content, parts.vocab.get(content)))
    if index is None:
        raise CheckpointError(
            f"{file}: `{field}` is {content!r}, which tokenizer.json does not have.", field=field
        )
    return index


def _add_bos(file: Path, config: dict[str, Any], bos: str | None) -> bool:
    add = bool(config.get("add_bos_token"))
    if add and bos is None:
        raise CheckpointError(
            f"{file}: `add_bos_token` is true but `bos_token` is null.",
            field="add_bos_token",
            remedy="Name the token or set `add_bos_token` to false.",
        )
    return add


def _eos_ids(generation: Path, file: Path, config: dict[str, Any], parts: TokenizerJson) -> tuple[int, ...]:
    """The tokenizer's end token and those that generation_config.json adds."""
    own = _token_id(file, "eos_token", _content(config.get("eos_token")), parts)
    more = read_json_object(generation).get("eos_token_id") if generation.is_file() else None
    more = more if isinstance(more, list) else [more]
    return tuple(sorted({index for index in (own, *more) if index is not None}))


def _chat_template(template: Path, file: Path, config: dict[str, Any]) -> str | None:
    """A template file goes before the configuration; of several named ones the one named "default"."""
    if template.is_file():
        return template.read_text(encoding="utf-8")
    value = config.get("chat_template")
    if isinstance(value, list):
        value = next((entry.get("template") for entry in value if entry.get("name") == "default"), None)
    if value is not None and not isinstance(value, str):
        raise refusal(file, "chat_template", value, "a Jinja template")
    return value
