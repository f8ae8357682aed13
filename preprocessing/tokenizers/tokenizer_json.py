"""Reads a Hugging Face tokenizer.json and refuses by name what would not be reproduced exactly."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from preprocessing.tokenizers.byte_alphabet import BYTE_LETTERS
from preprocessing.tokenizers.refusal import read_json_object, refusal
from preprocessing.tokenizers.special_matcher import overlapping
from preprocessing.tokenizers.word_pattern import WordPattern

_MODEL_SETTINGS: dict[str, tuple[Any, ...]] = {
    "dropout": (None, 0),
    "continuing_subword_prefix": (None, ""),
    "end_of_word_suffix": (None, ""),
    "byte_fallback": (None, False),
    "ignore_merges": (None, False),
}
"""Settings of `model` that would change ids, and their values that do not."""

_MOST_IDS = 1 << 24
"""Merging orders rules by their ranks as float32."""

_BYTE_LEVEL = "ByteLevel with add_prefix_space false and use_regex true"
_PRE_TOKENIZERS = f"{_BYTE_LEVEL}, alone or after Digits with individual_digits true"


@dataclass(frozen=True)
class TokenizerJson:
    """The parts of a tokenizer.json that decide ids.

    Args:
        vocab: token in the byte alphabet → id.
        merges: the most urgent first.
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


def read_tokenizer_json(path: Path) -> TokenizerJson:
    """Read the file.

    Raises:
        CheckpointError: it is unreadable, or asks for something that would not be reproduced
            exactly; the message names the setting.
    """
    raw = read_json_object(path)
    _check_plain(path, raw)
    model = raw.get("model")
    if not isinstance(model, dict) or model.get("type", "BPE") != "BPE":
        kind = model.get("type") if isinstance(model, dict) else model
        raise refusal(path, "model.type", kind, "BPE over bytes")
    vocab = _vocab(path, model)
    _check_model(path, model, vocab)
    merges = _merges(path, model, vocab)
    specials = _specials(path, raw.get("added_tokens") or [], vocab)
    made = {left + right for left, right in merges}
    mergeable = next((content for content in specials if content in made), None)
    if mergeable is not None:
        raise refusal(path, "added_tokens", mergeable, "special tokens that no merge makes from text")
    return TokenizerJson(
        vocab=vocab,
        merges=merges,
        specials=specials,
        pattern=_pattern(path, raw),
        bos=_bos(path, raw, specials),
        nfc=False,
        ignore_merges=False,
        added={},
    )


def _check_plain(path: Path, raw: dict[str, Any]) -> None:
    """Refuse whatever changes text before or ids after."""
    for field in ("truncation", "padding"):
        if raw.get(field) is not None:
            raise refusal(path, field, raw[field], "null")
    if _flatten(raw.get("normalizer"), "normalizers"):
        raise refusal(path, "normalizer", raw["normalizer"], "null")
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
    if model.get("unk_token") is not None and not vocab.keys() >= set(BYTE_LETTERS):
        supported = "null, or any token if the vocabulary has all 256 bytes"
        raise refusal(path, "model.unk_token", model["unk_token"], supported)


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
    return vocab


def _merges(path: Path, model: dict[str, Any], vocab: dict[str, int]) -> tuple[tuple[str, str], ...]:
    """Pairs, written "a b" or ["a", "b"]."""
    raw = model.get("merges") or []
    merges = tuple(tuple(rule.split(" ") if isinstance(rule, str) else rule) for rule in raw)
    for rule, pair in zip(raw, merges, strict=True):
        if len(pair) != 2 or not {*pair, "".join(pair)} <= vocab.keys():
            raise refusal(path, "model.merges", rule, "pairs whose parts and whole are in the vocabulary")
    (pair, times), *_ = Counter(merges).most_common(1) or [((), 1)]
    if times > 1:
        raise refusal(path, "model.merges", list(pair), "each pair once")
    return merges


def _specials(path: Path, added: list[dict[str, Any]], vocab: dict[str, int]) -> dict[str, int]:
    specials: dict[str, int] = {}
    next_id = len(vocab)
    for token in added:
        content, index = token.get("content"), token.get("id")
        for flag, allowed in (
            ("special", True),
            ("single_word", False),
            ("lstrip", False),
            ("rstrip", False),
        ):
            if token.get(flag, False) is not allowed or not content:
                raise refusal(
                    path, f"added_tokens[{content!r}].{flag}", token.get(flag), str(allowed).lower()
                )
        if index != vocab.get(content, next_id):
            supported = f"{vocab.get(content, next_id)}, the id that loading the file gives it"
            raise refusal(path, f"added_tokens[{content!r}].id", index, supported)
        next_id += content not in vocab
        specials[content] = index
    _check_matchable(path, added, specials)
    return specials


def _check_matchable(path: Path, added: list[dict[str, Any]], specials: dict[str, int]) -> None:
    as_bytes = {content.encode().decode("latin-1"): index for content, index in specials.items()}
    content = overlapping(specials) or overlapping(as_bytes)
    if content:
        supported = "special tokens that cannot overlap in a text"
        raise refusal(path, "added_tokens", content, supported)
    early = [token["content"] for token in added if not token.get("normalized", False)]
    late = [token["content"] for token in added if token.get("normalized", False)]
    hidden = next((token for token in late if any(token.startswith(other) for other in early)), None)
    if hidden:
        raise refusal(path, f"added_tokens[{hidden!r}].normalized", True, "false")


def _pattern(path: Path, raw: dict[str, Any]) -> WordPattern:
    steps = _flatten(raw.get("pre_tokenizer"), "pretokenizers")
    if not steps or not _is_byte_level(steps[-1]):
        raise refusal(path, "pre_tokenizer", raw.get("pre_tokenizer"), _PRE_TOKENIZERS)
    if steps[:-1] not in ([], [{"type": "Digits", "individual_digits": True}]):
        raise refusal(path, "pre_tokenizer", raw.get("pre_tokenizer"), _PRE_TOKENIZERS)
    return WordPattern.GPT2_DIGITS if len(steps) == 2 else WordPattern.GPT2


def _is_byte_level(step: dict[str, Any]) -> bool:
    plain = step.get("add_prefix_space", True) is False and step.get("use_regex", True) is True
    return step.get("type") == "ByteLevel" and plain


def _bos(path: Path, raw: dict[str, Any], specials: dict[str, int]) -> str | None:
    """The one token that a template puts before a text; a ByteLevel post-processor changes no ids."""
    steps = _flatten(raw.get("post_processor"), "processors")
    templates = [step for step in steps if step.get("type") != "ByteLevel"]
    if not templates:
        return None
    supported = "null, ByteLevel, or one TemplateProcessing that puts at most one special token before a text"
    contents = _template_prefix(templates[0]) if len(templates) == 1 else None
    if contents is None or not set(contents) <= specials.keys():
        raise refusal(path, "post_processor", raw["post_processor"], supported)
    return contents[0] if contents else None


def _template_prefix(template: dict[str, Any]) -> list[str] | None:
    """Special tokens before the text; None if the template is of another form."""
    if template.get("type") != "TemplateProcessing":
        return None
    *prefix, last = template.get("single") or [{}]
    names = [part.get("SpecialToken", {}).get("id") for part in prefix]
    if last.get("Sequence", {}).get("id") != "A" or len(names) > 1:
        return None
    known = template.get("special_tokens") or {}
    return [content for name in names for content in known.get(name, {}).get("tokens", [None])]
