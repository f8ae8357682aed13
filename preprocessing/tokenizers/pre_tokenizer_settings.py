"""Reads how a tokenizer.json splits text into words and refuses what would not be reproduced exactly."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

from preprocessing.tokenizers.refusal import refusal
from preprocessing.tokenizers.word_pattern import WordPattern

_DIGITS = [{"type": "Digits", "individual_digits": True}]
_KEEPS_ALL = (("Isolated", False), ("Removed", True))
"""(behavior, invert) of a Split whose pattern leaves no character over: its matches are the words."""

_CONTRACTIONS = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)", r"'(?i:[sdmt]|ll|ve|re)")
_NUMBERS = {r"\p{N}{1,3}": WordPattern.LLAMA3, r"\p{N}": WordPattern.QWEN2}
_LINE_ENDS = (r"\s*[\r\n]+", r"\s*[\r\n]")
"""Two ways of writing the same: what `\\s*` leaves over is the last line end of the white space."""

SPLIT_PATTERNS: dict[str, WordPattern] = {
    rf"{contraction}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{number}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*"
    rf"|{line_end}|\s+(?!\S)|\s+": pattern
    for contraction, (number, pattern), line_end in product(_CONTRACTIONS, _NUMBERS.items(), _LINE_ENDS)
}
"""Regular expressions as files give them, each with the split it means."""

_SUPPORTED = (
    "ByteLevel with add_prefix_space false and use_regex true, alone or after Digits with "
    "individual_digits true; or a Split by the pattern of Llama 3, cl100k or Qwen2 before ByteLevel with "
    "add_prefix_space and use_regex false"
)


def read_pattern(path: Path, steps: list[dict[str, Any]]) -> WordPattern:
    """The split that the pre-tokenizer's steps make.

    Args:
        path: file that asks for it.
        steps: of `pre_tokenizer`, one after another.

    Raises:
        CheckpointError: it is none that is reproduced exactly; a Split's pattern is shown.
    """
    *before, last = steps or [{}]
    if last.get("type") == "ByteLevel" and last.get("add_prefix_space", True) is False:
        if last.get("use_regex", True) is True and before in ([], _DIGITS):
            return WordPattern.GPT2_DIGITS if before else WordPattern.GPT2
        if last.get("use_regex", True) is False and len(before) == 1:
            pattern = _split_pattern(path, before[0])
            if pattern:
                return pattern
    raise refusal(path, "pre_tokenizer", steps, _SUPPORTED)


def _split_pattern(path: Path, step: dict[str, Any]) -> WordPattern | None:
    """None if it is no Split that gives all matches of a regular expression."""
    regex = (step.get("pattern") or {}).get("Regex")
    if step.get("type") != "Split" or (step.get("behavior"), step.get("invert")) not in _KEEPS_ALL:
        return None
    if regex not in SPLIT_PATTERNS:
        raise refusal(path, "pre_tokenizer", step.get("pattern"), _SUPPORTED)
    return SPLIT_PATTERNS[regex]
