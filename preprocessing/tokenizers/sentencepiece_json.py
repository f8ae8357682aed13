"""Reads a tokenizer.json that was converted from a SentencePiece BPE model, as Llama 2's and Mistral's."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from models.contract.errors import CheckpointError
from preprocessing.tokenizers.added_tokens import read_added_tokens
from preprocessing.tokenizers.merge_rules import made_tokens
from preprocessing.tokenizers.refusal import check_gaps, refusal
from preprocessing.tokenizers.sentencepiece_proto import (
    BYTE_PIECES,
    NO_REPLACEMENTS,
    ModelProto,
    ModelType,
    PieceType,
)
from preprocessing.tokenizers.sentencepiece_spec import SPACE, SentencepieceSpec, SpaceInFront, TextStart
from preprocessing.tokenizers.tokenizer_config import TokenizerConfig
from preprocessing.tokenizers.tokenizer_spec import SENTENCEPIECE, TokenizerSpec
from preprocessing.tokenizers.word_pattern import WordPattern

_MODEL_FILE = "or the checkpoint's tokenizer.model instead of tokenizer.json"
_SETTINGS: dict[str, tuple[Any, ...]] = {
    "type": ("BPE",),
    "byte_fallback": (True,),
    "dropout": (None, 0.0),
    "continuing_subword_prefix": (None, ""),
    "end_of_word_suffix": (None, ""),
    "ignore_merges": (False,),
}
"""Settings of `model` that change ids, and their values that are reproduced."""
_DEFAULTS = {"type": "BPE", "ignore_merges": False}

_REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
_PREPEND = {"type": "Prepend", "prepend": SPACE}
_UNREPLACE = {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}
_DECODER = [_UNREPLACE, {"type": "ByteFallback"}, {"type": "Fuse"}]
_STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
_LETTER_SCORE = -float(1 << 24)


def is_sentencepiece_json(raw: dict[str, Any]) -> bool:
    """Whether the file is of the form that conversion from SentencePiece gives."""
    unigram = isinstance(raw.get("model"), dict) and raw["model"].get("type") == "Unigram"
    spaces = json.dumps([raw.get("normalizer"), raw.get("pre_tokenizer")], ensure_ascii=False)
    return unigram or SPACE in spaces


def read_sentencepiece_json(path: Path, raw: dict[str, Any]) -> TokenizerSpec:
    """Check and take what the file and the configuration beside it say.

    Merging by rule gives the ids of a SentencePiece model with the tokens that merging makes, the
    earliest of the best score (`made_tokens`, over characters instead of bytes). Characters outside the
    vocabulary become their bytes, which no rule merges, in both.

    Args:
        path: of the file.
        raw: its content.

    Raises:
        CheckpointError: see `load_tokenizer`.
    """
    _check_settings(path, raw)
    value = _canonical(path)
    vocab, merges = value["model"]["vocab"], tuple(tuple(rule) for rule in value["model"]["merges"])
    _check_vocabulary(path, vocab, merges)
    config = TokenizerConfig.beside(path)
    nfc = value["normalizer"] is not None
    specials, ordinary = read_added_tokens(path, value["added_tokens"], vocab, nfc, config.special_names())
    if ordinary:
        raise refusal(path, "added_tokens", sorted(ordinary), f"special added tokens, {_MODEL_FILE}")
    made = made_tokens(vocab, merges)
    texts = {*made, *BYTE_PIECES}
    writable = next((one for one in specials if one in texts or len(one) == 1), None)
    if writable is not None:
        supported = "special tokens, also those that tokenizer_config.json names, that no text becomes"
        raise refusal(path, "added_tokens", writable, supported)
    adds_space, space_in_front = _space(path, value)
    ids = {**vocab, **specials}
    table = _texts(ids)
    _check_config(config, ids, bool(adds_space or space_in_front))
    own_bos = _bos(path, value["post_processor"], specials)
    if own_bos and config.get("add_bos_token") is False:
        raise config.refuse("add_bos_token", "true, as the post-processor of tokenizer.json has it")
    bos, template = own_bos or config.content("bos_token"), config.chat_template()
    if template is not None and space_in_front == SpaceInFront.FIRST:
        supported = f"always or never beside a chat template, {_MODEL_FILE}"
        raise refusal(path, "pre_tokenizer.prepend_scheme", "first", supported)
    return TokenizerSpec(
        kind=SENTENCEPIECE,
        vocab=vocab,
        merges=merges,
        specials=specials,
        pattern=WordPattern.GPT2,
        bos_id=config.token_id("bos_token", bos, ids, path.name),
        add_bos=bool(own_bos) or config.add_bos(bos),
        eos_ids=config.eos_ids(config.token_id("eos_token", config.content("eos_token"), ids, path.name)),
        chat_template=template,
        sentencepiece=SentencepieceSpec(
            model=_model(vocab, made, adds_space),
            token_bytes=table,
            start=_start(path, value["decoder"], table),
            space_in_front=space_in_front,
        ),
    )


def _canonical(path: Path) -> dict[str, Any]:
    """The file as the reference understands it, every setting written out."""
    try:
        value = json.loads(Tokenizer.from_file(str(path)).to_str())
    except Exception as error:
        raise CheckpointError(
            f"{path}: Hugging Face tokenizers cannot read it: {error}.",
            field=str(path),
            remedy="Save the tokenizer again with Hugging Face tokenizers.",
        ) from error
    return dict(value)


def _check_settings(path: Path, value: dict[str, Any]) -> None:
    for name, allowed in _SETTINGS.items():
        found = value["model"].get(name, _DEFAULTS.get(name))
        if found not in allowed:
            supported = f"{' or '.join(map(repr, allowed))} where spaces become {SPACE}, {_MODEL_FILE}"
            raise refusal(path, f"model.{name}", found, supported)
    for field in ("truncation", "padding"):
        if value.get(field) is not None:
            raise refusal(path, field, value[field], "null")


def _check_vocabulary(path: Path, vocab: dict[str, int], merges: tuple[tuple[str, str], ...]) -> None:
    if len(set(vocab.values())) < len(vocab):
        raise refusal(path, "model.vocab", "one id twice", "distinct ids")
    check_gaps(path, "model.vocab", vocab.values())
    missing = sorted(set(BYTE_PIECES) - vocab.keys())
    if missing:
        supported = f"the 256 byte tokens {BYTE_PIECES[0]} …, {_MODEL_FILE}"
        raise refusal(path, "model.vocab", missing[:4], supported)
    bytes_ = set(BYTE_PIECES)
    for rule in merges:
        if bytes_.intersection((*rule, "".join(rule))):
            raise refusal(path, "model.merges", list(rule), "rules that neither take nor make byte tokens")
    (rule, times), *_ = Counter(merges).most_common(1) or [((), 1)]
    if times > 1:
        raise refusal(path, "model.merges", list(rule), "each pair once")


def _space(path: Path, value: dict[str, Any]) -> tuple[bool, SpaceInFront | None]:
    """Whether each text gets a space in front, and which texts get one unless they begin with it."""
    normalizer, pre_tokenizer = value["normalizer"], value["pre_tokenizer"]
    if pre_tokenizer is None:
        steps = normalizer.get("normalizers", [normalizer]) if normalizer else []
        if steps in ([_PREPEND, _REPLACE], [_REPLACE]):
            return len(steps) == 2, None
        supported = f"Prepend {SPACE} and Replace ' ' by {SPACE}, or the latter alone, {_MODEL_FILE}"
        raise refusal(path, "normalizer", normalizer, supported)
    if normalizer is not None:
        raise refusal(path, "normalizer", normalizer, f"null beside a pre_tokenizer, {_MODEL_FILE}")
    scheme = pre_tokenizer.get("prepend_scheme")
    plain = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": scheme, "split": False}
    if pre_tokenizer != plain:
        supported = f"Metaspace {SPACE} with split false, {_MODEL_FILE}"
        raise refusal(path, "pre_tokenizer", pre_tokenizer, supported)
    return False, None if scheme == "never" else SpaceInFront(scheme)


def _texts(ids: dict[str, int]) -> tuple[bytes, ...]:
    """Bytes of ids 0 … n − 1, as the decoder reads tokens one by one."""
    byte = {piece: bytes([index]) for index, piece in enumerate(BYTE_PIECES)}
    table = [b""] * (max(ids.values()) + 1)
    for token, index in ids.items():
        table[index] = byte.get(token, token.replace(SPACE, " ").encode())
    return tuple(table)


def _start(path: Path, decoder: dict[str, Any] | None, table: tuple[bytes, ...]) -> TextStart | None:
    """Stripping drops one space in front of all tokens' text, whatever token it is of."""
    steps = decoder.get("decoders", [decoder]) if decoder else []
    if steps not in (_DECODER, [*_DECODER, _STRIP]):
        supported = f"Replace {SPACE} by ' ', ByteFallback, Fuse, and Strip ' ' from the start, {_MODEL_FILE}"
        raise refusal(path, "decoder", decoder, supported)
    if steps == _DECODER:
        return None
    return TextStart(tuple(raw.removeprefix(b" ") for raw in table), tuple(map(bool, table)))


def _bos(path: Path, processor: dict[str, Any] | None, specials: dict[str, int]) -> str | None:
    """The one token that the post-processor puts before a text."""
    if processor is None:
        return None
    supported = "null, or a TemplateProcessing that puts at most one special token before a text"
    *prefix, last = processor.get("single") or [{}]
    names = [part.get("SpecialToken", {}).get("id") for part in prefix]
    known = processor.get("special_tokens") or {}
    contents = [content for name in names for content in known.get(name, {}).get("tokens", [None])]
    ids = [index for name in names for index in known.get(name, {}).get("ids", [None])]
    is_template = processor.get("type") == "TemplateProcessing" and last.get("Sequence", {}).get("id") == "A"
    if not is_template or len(contents) > 1 or ids != [specials.get(content) for content in contents]:
        raise refusal(path, "post_processor", processor, supported)
    return contents[0] if contents else None


def _check_config(config: TokenizerConfig, ids: dict[str, int], space: bool) -> None:
    """Refuse settings by which the configuration would change what tokenizer.json says."""
    if config.get("add_eos_token"):
        raise config.refuse("add_eos_token", "false")
    if config.get("add_prefix_space") not in (None, space):
        raise config.refuse("add_prefix_space", f"{str(space).lower()}, as tokenizer.json has it")
    for index, token in config.added_tokens().items():
        if ids.get(token.get("content")) != index:
            shown = {index: token.get("content")}
            raise refusal(config.file, "added_tokens_decoder", shown, "the added tokens of tokenizer.json")


def _model(vocab: dict[str, int], made: list[str], adds_space: bool) -> bytes:
    """The model: what merging never makes is a control piece, which no text becomes."""
    score = {token: -float(rank) for rank, token in enumerate(made)}
    names = {index: token for token, index in vocab.items() if token}
    bytes_, own = set(BYTE_PIECES), _own_prefix(vocab)
    message = ModelProto()
    for index in range(max(vocab.values()) + 1):
        token = names.get(index, f"{own}{index}")
        kind = PieceType.NORMAL if token in score or len(token) == 1 else PieceType.CONTROL
        kind = PieceType.BYTE if token in bytes_ else kind
        message.pieces.add(piece=token, score=score.get(token, _LETTER_SCORE), type=kind)
    message.pieces.add(piece=f"{own}unknown", type=PieceType.UNKNOWN)
    message.trainer_spec.model_type = ModelType.BPE
    message.trainer_spec.byte_fallback = True
    message.trainer_spec.unk_id = len(message.pieces) - 1
    normalizer = message.normalizer_spec
    normalizer.precompiled_charsmap = NO_REPLACEMENTS
    normalizer.add_dummy_prefix = adds_space
    normalizer.remove_extra_whitespaces = False
    return bytes(message.SerializeToString(deterministic=True))


def _own_prefix(vocab: dict[str, int]) -> str:
    """What no token begins with, for the names of pieces that are no token; tokens may hold any character."""
    prefix = "\ue001"
    while any(token.startswith(prefix) for token in vocab):
        prefix += "\ue001"
    return prefix
