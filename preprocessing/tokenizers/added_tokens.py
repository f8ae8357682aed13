"""Reads the added tokens of a tokenizer.json and refuses what would not be reproduced exactly.

The reference looks for added tokens in a text before anything else. Special ones it leaves alone if
asked to; the others it finds always, so they are as ordinary as letters.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from preprocessing.tokenizers.refusal import refusal
from preprocessing.tokenizers.special_matcher import overlapping

_FLAGS = ("single_word", "lstrip", "rstrip")


def read_added_tokens(
    path: Path,
    raw: list[dict[str, Any]],
    vocab: dict[str, int],
    nfc: bool,
    named: Collection[str] = (),
) -> tuple[dict[str, int], dict[str, int]]:
    """Ids of added tokens by their content: the special ones and the others.

    Args:
        path: file that has them.
        raw: `added_tokens` of the file.
        vocab: the model's vocabulary.
        nfc: whether text is normalised, after which tokens with `normalized` true are looked for.
        named: contents that the configuration names as special: they are, whatever the file says, as
            transformers has it. Those that are in no file are nobody's.

    Raises:
        CheckpointError: a token's setting or id is another than is reproduced, or tokens may overlap.
    """
    kinds: dict[bool, dict[str, int]] = {True: {}, False: {}}
    raw, used, following = _with_named(raw, vocab, named), set(vocab.values()), len(vocab)
    for token in raw:
        content, index = token.get("content"), token.get("id")
        for flag in _FLAGS:
            if token.get(flag, False) is not False or not content:
                raise refusal(path, f"added_tokens[{content!r}].{flag}", token.get(flag), "false")
        if type(token.get("special", False)) is not bool:
            raise refusal(path, f"added_tokens[{content!r}].special", token["special"], "true or false")
        if nfc and token.get("normalized", False):
            raise refusal(path, f"added_tokens[{content!r}].normalized", True, "false beside a normalizer")
        if content in kinds[True] or content in kinds[False]:
            raise refusal(path, "added_tokens", content, "each token once")
        expected = vocab.get(content, following)
        if index != expected:
            supported = f"{expected}, the id that loading the file gives it"
            raise refusal(path, f"added_tokens[{content!r}].id", index, supported)
        if content not in vocab and index in used:
            raise refusal(path, f"added_tokens[{content!r}].id", index, "an id that no other token has")
        following = max(following, index + 1)
        kinds[token.get("special", False) or content in named][content] = index
    _check_matchable(path, raw, kinds[True], kinds[False])
    return kinds[True], kinds[False]


def _with_named(
    raw: list[dict[str, Any]], vocab: dict[str, int], named: Collection[str]
) -> list[dict[str, Any]]:
    """The tokens, and those that are named but in the vocabulary only."""
    missing = sorted({*named} & vocab.keys() - {token.get("content") for token in raw})
    extra = [{"content": one, "id": vocab[one], "special": True} for one in missing]
    return [*raw, *extra]


def _check_matchable(
    path: Path, raw: list[dict[str, Any]], special: dict[str, int], ordinary: dict[str, int]
) -> None:
    """Refuse tokens whose matches depend on more than where they begin and which is the longest."""
    tokens = {**special, **ordinary}
    as_bytes = {content.encode().decode("latin-1"): index for content, index in tokens.items()}
    content = overlapping(tokens) or overlapping(as_bytes)
    if content:
        raise refusal(path, "added_tokens", content, "added tokens that cannot overlap in a text")
    beginnings = {one[:end] for one in special for end in range(1, len(one) + 1)}
    for content in ordinary:
        if content in beginnings or _begins_with(content, special):
            supported = "added tokens that neither begin a special one nor begin with one"
            raise refusal(path, "added_tokens", content, supported)
    early = {token["content"] for token in raw if not token.get("normalized", False)}
    late = [token["content"] for token in raw if token.get("normalized", False)]
    hidden = next((token for token in late if _begins_with(token, early)), None)
    if hidden:
        raise refusal(path, f"added_tokens[{hidden!r}].normalized", True, "false")


def _begins_with(content: str, others: Collection[str]) -> bool:
    """Whether it is one of the others or begins with one."""
    return any(content[:end] in others for end in range(1, len(content) + 1))
