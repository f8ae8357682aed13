"""Reads a Hugging Face tokenizer.json and refuses by name what would not be reproduced exactly."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from preprocessing.tokenizers.added_tokens import read_added_tokens
from preprocessing.tokenizers.byte_alphabet import BYTE_LETTERS, LETTER_SET, token_to_bytes
from preprocessing.tokenizers.pre_tokenizer_settings import read_pattern
from preprocessing.tokenizers.refusal import check_gaps, refusal
from preprocessing.tokenizers.word_pattern import WordPattern

_MODEL_SETTINGS: dict[str, tuple[Any, ...]] = {
    "dropout": (None, 0),
    "continuing_subword_prefix": (None, ""),
    "end_of_word_suffix": (None, ""),
    "byte_fallback": (None, False),
    "ignore_merges": (None, False, True),
}
"""Settings of `model` that change ids, and their values that are reproduced."""

_SPECIAL = "special tokens, also those that tokenizer_config.json names"
_SURROGATE = re.compile("[\ud800-\udfff]")
_MOST_IDS = 1 << 24
"""Merging orders rules by their ranks as float32."""


@dataclass(frozen=True)
class TokenizerJson:
    """The parts of a tokenizer.json that decide ids.

    Args:
        vocab: token in the byte alphabet → id.
        merges: the most urgent first; without those of letters outside the alphabet, which no text has.
        specials: content of each special token → id.
        pattern: how text is split into words.
        bos: content of the special token that the post-processor puts first, or None.
        nfc: whether the normalizer is NFC.
        ignore_merges: whether a word that is a token becomes it without merging.
        added: content of each added token that is not special → id.
    """

    vocab: dict[str, int]
    merges: tuple[tuple[str, str], ...]
    specials: dict[str, int]
    pattern: WordPattern
    bos: str | None
    nfc: bool
    ignore_merges: bool
    added: dict[str, int]


def read_tokenizer_json(path: Path, raw: dict[str, Any], named: Collection[str] = ()) -> TokenizerJson:
    """Check and take what the file says.

    Args:
        path: of the file, for messages.
        raw: its content.
        named: tokens that the configuration beside it names as special.

    Raises:
        CheckpointError: it asks for something that would not be reproduced exactly; the message names the
            setting.
    """
    _check_plain(path, raw)
    model = raw.get("model")
    if not isinstance(model, dict) or model.get("type", "BPE") != "BPE":
        kind = model.get("type") if isinstance(model, dict) else model
        raise refusal(path, "model.type", kind, "BPE over bytes")
    vocab = _vocab(path, model)
    _check_model(path, model, vocab)
    merges = _merges(path, model, vocab)
    nfc = bool(_flatten(raw.get("normalizer"), "normalizers"))
    specials, added = read_added_tokens(path, raw.get("added_tokens") or [], vocab, nfc, named)
    parts = TokenizerJson(
        vocab=vocab,
        merges=merges,
        specials=specials,
        pattern=read_pattern(path, _flatten(raw.get("pre_tokenizer"), "pretokenizers")),
        bos=_bos(path, raw, specials),
        nfc=nfc,
        ignore_merges=bool(model.get("ignore_merges")),
        added=added,
    )
    _check_specials(path, parts, raw["pre_tokenizer"])
    return parts


def _check_plain(path: Path, raw: dict[str, Any]) -> None:
    """Refuse whatever changes text before or ids after."""
    for field in ("truncation", "padding"):
        if raw.get(field) is not None:
            raise refusal(path, field, raw[field], "null")
    if _flatten(raw.get("normalizer"), "normalizers") not in ([], [{"type": "NFC"}]):
        raise refusal(path, "normalizer", raw["normalizer"], "null or NFC")
    decoders = _flatten(raw.get("decoder"), "decoders")
    if [step.get("type") for step in decoders] != ["ByteLevel"]:
        raise refusal(path, "decoder", raw.get("decoder"), "ByteLevel")


def _flatten(step: dict[str, Any] | None, key: str) -> list[dict[str, Any]]:
    """The steps of a possibly nested Sequence."""
    if step is None:
        return []
    if step.get("type") != "Sequence":
        return [step]
    return [inner for part in step.get(key, []) for inner in _flatten(part, key)]


def _check_model(path: Path, model: dict[str, Any], vocab: dict[str, int]) -> None:
    for name, allowed in _MODEL_SETTINGS.items():
        if model.get(name) not in allowed:
            raise refusal(path, f"model.{name}", model[name], " or ".join(map(repr, allowed)))
    if not vocab.keys() >= set(BYTE_LETTERS):
        for name in ("unk_token", "ignore_merges"):
            if model.get(name) not in (None, False):
                supported = f"{name} only if the vocabulary has all 256 bytes"
                raise refusal(path, f"model.{name}", model[name], supported)


def _vocab(path: Path, model: dict[str, Any]) -> dict[str, int]:
    vocab = model.get("vocab")
    if not isinstance(vocab, dict) or not vocab:
        raise refusal(path, "model.vocab", vocab, "an object of token → id")
    uses = Counter(vocab.values())
    wrong = [
        token
        for token, index in vocab.items()
        if type(index) is not int or not 0 <= index < _MOST_IDS or uses[index] > 1
    ]
    if wrong:
        shown = {token: vocab[token] for token in wrong[:4]}
        raise refusal(path, "model.vocab", shown, f"distinct ids from 0 to {_MOST_IDS - 1}")
    check_gaps(path, "model.vocab", vocab.values())
    unwritable = next((token for token in vocab if not token or _SURROGATE.search(token)), None)
    if unwritable is not None:
        supported = "tokens of at least one character, none of them half of a surrogate pair"
        raise refusal(path, "model.vocab", ascii(unwritable), supported)
    return vocab


def _merges(path: Path, model: dict[str, Any], vocab: dict[str, int]) -> tuple[tuple[str, str], ...]:
    """Pairs, written "a b" or ["a", "b"]."""
    raw = model.get("merges") or []
    merges = tuple(tuple(rule.split(" ") if isinstance(rule, str) else rule) for rule in raw)
    for rule, pair in zip(raw, merges, strict=True):
        known = len(pair) == 2 and pair[0] in vocab and pair[1] in vocab and pair[0] + pair[1] in vocab
        if not known:
            raise refusal(path, "model.merges", rule, "pairs whose parts and whole are in the vocabulary")
    if len(set(merges)) < len(merges):
        pair = Counter(merges).most_common(1)[0][0]
        raise refusal(path, "model.merges", list(pair), "each pair once")
    return tuple(pair for pair in merges if LETTER_SET.issuperset("".join(pair)))


def _check_specials(path: Path, parts: TokenizerJson, pre_tokenizer: dict[str, Any]) -> None:
    """Refuse special tokens that ordinary text could become.

    Text becomes bytes, what merges make of them, and beside ignore_merges whole words. A word alone is
    one word if it is one in any text: only white space looks at what follows, and alone nothing does.
    """
    made = {*(left + right for left, right in parts.merges), *(LETTER_SET & parts.vocab.keys())}
    bare = {"model": {"type": "BPE", "vocab": {}, "merges": []}, "pre_tokenizer": pre_tokenizer}
    splitter = Tokenizer.from_str(json.dumps(bare)).pre_tokenizer
    for content in parts.specials:
        if content in made:
            supported = f"{_SPECIAL}, that are no byte and that no merge makes from text"
            raise refusal(path, "added_tokens", content, supported)
        text = _text(content) if parts.ignore_merges and content in parts.vocab else None
        if text is not None and len(splitter.pre_tokenize_str(text)) == 1:
            supported = f"{_SPECIAL}, that are no word beside ignore_merges"
            raise refusal(path, "added_tokens", content, supported)


def _text(token: str) -> str | None:
    """The text that becomes a token of the vocabulary as a word; None if no text does."""
    try:
        return token_to_bytes(token).decode() if LETTER_SET.issuperset(token) else None
    except UnicodeDecodeError:
        return None


def _bos(path: Path, raw: dict[str, Any], specials: dict[str, int]) -> str | None:
    """The one token that a template puts before a text; a ByteLevel post-processor changes no ids."""
    steps = _flatten(raw.get("post_processor"), "processors")
    templates = [step for step in steps if step.get("type") != "ByteLevel"]
    if not templates:
        return None
    supported = "null, ByteLevel, or one TemplateProcessing that puts at most one special token before a text"
    contents = _template_prefix(templates[0], specials) if len(templates) == 1 else None
    if contents is None:
        raise refusal(path, "post_processor", raw["post_processor"], supported)
    return contents[0] if contents else None


def _template_prefix(template: dict[str, Any], specials: dict[str, int]) -> list[str] | None:
    """At most one special token before the text; None if the template is of another form.

    The reference writes `ids`, whatever `tokens` are: they have to say the same.
    """
    if template.get("type") != "TemplateProcessing":
        return None
    *prefix, last = template.get("single") or [{}]
    names = [part.get("SpecialToken", {}).get("id") for part in prefix]
    if last.get("Sequence", {}).get("id") != "A" or len(names) > 1:
        return None
    known = template.get("special_tokens") or {}
    contents = [content for name in names for content in known.get(name, {}).get("tokens", [None])]
    ids = [index for name in names for index in known.get(name, {}).get("ids", [None])]
    told = len(contents) <= 1 and ids == [specials.get(content) for content in contents]
    return contents if told else None
