from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from preprocessing.tokenizers.word_pattern import WordPattern
from preprocessing.vocabulary_config import VocabularyConfig


def test_the_smallest_vocabulary_holds_bytes_and_special_tokens():
    assert VocabularyConfig(size=257).size == 257


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 256}, r"`size` is 256, but 256 bytes and 1 special tokens must have room: set it to 257"),
        ({"size": 258, "specials": ["<|a|>", "<|b|>", "<|c|>"]}, "set it to 259 or more"),
        ({"size": 1_000_001}, "`size` is 1000001: set it to 1000000 or less"),
        ({"size": 10**20}, "set it to 1000000 or less"),
        ({"min_frequency": 2**31}, "`min_frequency` is 2147483648: set it to 2147483647 or less"),
        ({"min_frequency": 10**20}, "set it to 2147483647 or less"),
        ({"specials": ["<\ud800>"]}, "half a surrogate pair, which no text can"),
        ({"specials": ["<|a|>", "<|a|>"]}, "give each a name of its own"),
        ({"specials": [""]}, "give each a name of its own"),
        ({"specials": []}, "at least 1 item"),
        ({"tokenizer": "folder", "size": 300}, "`tokenizer` takes a vocabulary as it is"),
    ],
)
def test_what_makes_no_vocabulary_is_refused(settings: dict[str, Any], message: str):
    with pytest.raises(ValidationError, match=message):
        VocabularyConfig(**settings)


def test_a_tokenizer_alone_is_taken_and_reads_back():
    config = VocabularyConfig(tokenizer=Path("folder"))
    assert VocabularyConfig.model_validate_json(config.model_dump_json()) == config


def test_the_patterns_are_those_of_the_tokenizers():
    assert get_args(VocabularyConfig.model_fields["pattern"].annotation) == tuple(map(str, WordPattern))
