from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from models.contract.errors import CheckpointError
from preprocessing.tokenizers.pre_tokenizer_settings import SPLIT_PATTERNS, read_pattern
from preprocessing.tokenizers.word_pattern import WordPattern

REGEX = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
DIGITS = {"type": "Digits", "individual_digits": True}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
ENCODING = {**BYTE_LEVEL, "use_regex": False}


def split(regex: str = REGEX, behavior: str = "Isolated", invert: bool = False) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": regex}, "behavior": behavior, "invert": invert}


@pytest.mark.parametrize(
    ("steps", "pattern"),
    [
        ([BYTE_LEVEL], WordPattern.GPT2),
        ([DIGITS, BYTE_LEVEL], WordPattern.GPT2_DIGITS),
        ([split(), ENCODING], WordPattern.LLAMA3),
        ([split(behavior="Removed", invert=True), ENCODING], WordPattern.LLAMA3),
        ([split(REGEX.replace("{1,3}", "")), ENCODING], WordPattern.QWEN2),
    ],
)
def test_the_settings_of_known_files_are_taken(steps: list[dict[str, Any]], pattern: WordPattern):
    assert read_pattern(Path("tokenizer.json"), steps) == pattern


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [ENCODING],
        [split()],
        [split(), BYTE_LEVEL],
        [split(), {**ENCODING, "add_prefix_space": True}],
        [split(behavior="Removed"), ENCODING],
        [split(behavior="MergedWithNext"), ENCODING],
        [split(invert=True), ENCODING],
        [DIGITS, split(), ENCODING],
        [{**split(), "pattern": {"String": REGEX}}, ENCODING],
        [{**DIGITS, "individual_digits": False}, BYTE_LEVEL],
    ],
    ids=[
        "nothing",
        "no split",
        "no bytes",
        "two splits",
        "space in front",
        "matches dropped",
        "matches joined",
        "inverted",
        "digits before",
        "no regular expression",
        "runs of digits",
    ],
)
def test_others_are_refused(steps: list[dict[str, Any]]):
    with pytest.raises(CheckpointError, match="`pre_tokenizer`"):
        read_pattern(Path("tokenizer.json"), steps)


def test_an_unknown_pattern_is_shown():
    regex = r"\p{Lu}+|\s"
    with pytest.raises(CheckpointError, match="Lu") as caught:
        read_pattern(Path("tokenizer.json"), [split(regex), ENCODING])
    assert caught.value.field == "pre_tokenizer"


def test_two_patterns_are_each_written_in_four_ways():
    written = list(SPLIT_PATTERNS.values())
    assert sorted(written) == [WordPattern.LLAMA3] * 4 + [WordPattern.QWEN2] * 4
