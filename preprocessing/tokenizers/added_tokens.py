"""Reads the added tokens of a tokenizer.json and refuses what would not be reproduced exactly.

The reference looks for added tokens in a text before anything else. Special ones it leaves alone if
asked to; the others it finds always, so they are as ordinary as letters.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from preprocessing.tokenizers.refusal import refusal
from preprocessing.tokenizers.special_matcher import overlapping

_FLAGS = ("single_word", "lstrip", "rstrip")


def read_added_tokens(
    path: Path, raw: list[dict[str, Any]], vocab: dict[str, int], nfc: bool
) -> tuple[dict[str, int], dict[str, int]]:
    """Ids of added tokens by their content: the special ones and the others.

    Args:
        path: file that has them.
        raw: `added_tokens` of the file.
        vocab: the model's vocabulary.
        nfc: whether text is normalised, after which tokens with `normalized` true are looked for.

    Raises:
        CheckpointError: a token's setting or id is another than is reproduced, or tokens may overlap.
    """
    kinds: dict[bool, dict[str, int]] = {True: {}, False: {}}
    for token in raw:
        content, index = token.get("content"), token.get("id")
        for flag in _FLAGS:
            if token.get(flag, False) is not False or not content:
                raise refusal(path, f"added_tokens[{content!r}].{flag}", token.get(flag), "false")
        if type(token.get("special", False)) is not bool:
            raise refusal(path, f"added_tokens[{content!r}].special", token["special"], "true or false")
        if nfc and token.get("normalized", False):
            raise refusal(path, f"added_tokens[{content!r}].normalized", True, "false beside a normalizer")
        expected = vocab.get(content, _next_id(vocab, [*kinds[True].values(), *kinds[False].values()]))
        if index != expected:
            supported = f"{expected}, the id that loading the file gives it"
            raise refusal(path, f"added_tokens[{content!r}].id", index, supported)
        kinds[token.get("special", False)][content] = index
    _check_matchable(path, raw, kinds[True], kinds[False])
    return kinds[True], kinds[False]


def _next_id(vocab: dict[str, int], taken: list[int]) -> int:
    """The id that the reference gives to a token which its vocabulary does not have."""
    return max([len(vocab) - 1, *taken]) + 1


def _check_matchable(
    path: Path, raw: list[dict[str, Any]], special: dict[str, int], ordinary: dict[str, int]
) -> None:
    """Refuse tokens whose matches depend on more than where they begin and which is the longest."""
    tokens = {**special, **ordinary}
    as_bytes = {content.encode().decode("latin-1"): index for content, index in tokens.items()}
    content = overlapping(tokens) or overlapping(as_bytes)
    if content:
        raise refusal(path, "added_tokens", content, "added tokens that cannot overlap in a text")
    for content in ordinary:
        if any(content.startswith(other) or other.startswith(content) for other in special):
            supported = "added tokens that neither begin a special one nor begin with one"
            raise refusal(path, "added_tokens", content, supported)
    early = [token["content"] for token in raw if not token.get("normalized", False)]
    late = [token["content"] for token in raw if token.get("normalized", False)]
    hidden = next((token for token in late if any(token.startswith(other) for other in early)), None)
    if hidden:
        raise refusal(path, f"added_tokens[{hidden!r}].normalized", True, "false")
