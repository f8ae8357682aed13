"""Loads a GraphTokenizer from a Hugging Face checkpoint directory or a SentencePiece model file."""

from __future__ import annotations

from pathlib import Path

from models.contract.errors import CheckpointError
from preprocessing.tokenizers.byte_alphabet import LETTER_SET
from preprocessing.tokenizers.graph_tokenizer import GraphTokenizer
from preprocessing.tokenizers.refusal import read_json_object, refusal
from preprocessing.tokenizers.sentencepiece_checkpoint import read_sentencepiece_checkpoint
from preprocessing.tokenizers.sentencepiece_json import is_sentencepiece_json, read_sentencepiece_json
from preprocessing.tokenizers.tokenizer_config import TokenizerConfig
from preprocessing.tokenizers.tokenizer_json import TokenizerJson, read_tokenizer_json
from preprocessing.tokenizers.tokenizer_spec import BYTE_LEVEL_BPE, BYTES, TokenizerSpec

_JSON, _MODEL = "tokenizer.json", "tokenizer.model"


def load_tokenizer(path: Path) -> GraphTokenizer:
    """Load a tokenizer.

    Args:
        path: checkpoint directory, a tokenizer.json, or a SentencePiece model file (.model). Of a
            directory tokenizer.json is read, tokenizer.model if there is no tokenizer.json.
            tokenizer_config.json, added_tokens.json, generation_config.json and chat_template.jinja
            beside them give special tokens, their roles and the chat template.

    Returns:
        A tokenizer whose ids equal, for every text, those of Hugging Face tokenizers or, of a model
        file, those of SentencePiece; of a unigram model those of TF Text's SentencePiece operation.

    Raises:
        CheckpointError: a file is missing or unreadable, or asks for something that would not be
            reproduced exactly; the message names the setting.
    """
    return GraphTokenizer(read_spec(Path(path)))


def read_spec(path: Path) -> TokenizerSpec:
    """Read and check a tokenizer's files; arguments and errors as for `load_tokenizer`."""
    file = _file(path)
    try:
        spec = read_sentencepiece_checkpoint(file) if _is_model(file) else _json_spec(file)
        _check_ends(file, spec)
        return spec
    except CheckpointError as error:
        model = file.with_name(_MODEL)
        if _is_model(file) or not model.is_file():
            raise
        remedy = f"{error.remedy or ''} Or remove {_JSON}: {_MODEL} beside it is read then.".strip()
        raise CheckpointError(error.message, field=error.field, remedy=remedy) from error
    except (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise CheckpointError(
            f"{file}, or a configuration beside it, is not of the form Hugging Face tokenizers writes: "
            f"{type(error).__name__}: {error}.",
            field=str(file),
            remedy="Save the tokenizer again with Hugging Face tokenizers.",
        ) from error


def _file(path: Path) -> Path:
    if not path.is_dir():
        return path
    file = next((path / name for name in (_JSON, _MODEL) if (path / name).is_file()), None)
    if file is None:
        kind = TokenizerConfig(path).get("tokenizer_class")
        raise CheckpointError(
            f"{path}: holds neither {_JSON} nor {_MODEL}{f', but names a {kind}' if kind else ''}.",
            field=_JSON,
            remedy="Name a Hugging Face checkpoint directory that has one of them.",
        )
    return file


def _is_model(file: Path) -> bool:
    """Files are published as tokenizer.model, tokenizer.model.v3, spiece.model …"""
    return ".model" in file.name and file.suffix != ".json"


def _json_spec(file: Path) -> TokenizerSpec:
    raw = read_json_object(file)
    if is_sentencepiece_json(raw):
        return read_sentencepiece_json(file, raw)
    config = TokenizerConfig.beside(file)
    parts = read_tokenizer_json(file, raw, config.special_names())
    _check_config(config, parts)
    ids = {**parts.vocab, **parts.added, **parts.specials}
    bos = parts.bos or config.content("bos_token")
    return TokenizerSpec(
        kind=BYTES if _is_bytes(parts) else BYTE_LEVEL_BPE,
        vocab=parts.vocab,
        merges=parts.merges,
        specials=parts.specials,
        pattern=parts.pattern,
        bos_id=config.token_id("bos_token", bos, ids, _JSON),
        add_bos=bool(parts.bos) or config.add_bos(bos),
        eos_ids=config.eos_ids(config.token_id("eos_token", config.content("eos_token"), ids, _JSON)),
        chat_template=config.chat_template(),
        nfc=parts.nfc,
        ignore_merges=parts.ignore_merges,
        added=parts.added,
    )


def _check_ends(file: Path, spec: TokenizerSpec) -> None:
    """Refuse ids that end an answer but can never come; the vocabulary's own are never of this kind."""
    beyond = [index for index in spec.eos_ids if not 0 <= index < spec.vocab_size]
    if beyond:
        source = file.with_name("generation_config.json")
        raise refusal(
            source, "eos_token_id", beyond, f"ids from 0 to {spec.vocab_size - 1}, as {file.name} has"
        )


def _is_bytes(parts: TokenizerJson) -> bool:
    """Whether every byte of a text is a token, whatever text it is."""
    whole_words = parts.ignore_merges and not parts.vocab.keys() <= LETTER_SET
    changes = parts.merges or parts.added or parts.nfc or whole_words
    return not changes and parts.vocab.keys() >= LETTER_SET


def _check_config(config: TokenizerConfig, parts: TokenizerJson) -> None:
    """Refuse settings by which the configuration would change what tokenizer.json says."""
    for name in ("add_prefix_space", "add_eos_token"):
        if config.get(name):
            raise config.refuse(name, "false")
    known = {**parts.added, **parts.specials}
    for index, token in (config.get("added_tokens_decoder") or {}).items():
        content = token.get("content")
        if known.get(content) != int(index):
            supported = "the added tokens of tokenizer.json"
            raise refusal(config.file, "added_tokens_decoder", {index: content}, supported)
