from __future__ import annotations

import pytest

from preprocessing import special_token_check
from preprocessing.special_token_check import could_be_made
from preprocessing.tokenizers.byte_alphabet import BYTE_LETTERS
from preprocessing.vocabulary_config import VocabularyConfig
from preprocessing.vocabulary_training import untrained_tokenizer

PATTERNS = ("gpt2", "gpt2_digits", "llama3", "qwen2")


def makes(content: str, pattern: str) -> bool:
    return could_be_made(content, untrained_tokenizer(VocabularyConfig(pattern=pattern)).pre_tokenizer)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("content", ["<|endoftext|>", "<|fin_é|>", "<|Česky|>", "[/INST]", "<tool>", "é<a>"])
def test_names_that_no_word_holds(content: str, pattern: str):
    assert not makes(content, pattern)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize(
    "content", ["end", "Ā!", "Ġ<", "ĠĠ", "ĊĊ", "Ġend", "<|", "'s", "é", "¡", "¡a", "aÃ", "Ń"]
)
def test_names_that_words_hold(content: str, pattern: str):
    assert makes(content, pattern)


def test_a_line_end_and_a_space_are_part_of_a_word_that_goes_on():
    assert makes("ĊĠ", "llama3")


def test_bytes_that_no_text_holds_are_no_token():
    assert not makes("!é!a", "gpt2")


def test_the_letters_are_those_of_the_bytes_that_text_holds():
    never = {0xC0, 0xC1, *range(0xF5, 0x100)}
    expected = {letter: byte for byte, letter in enumerate(BYTE_LETTERS) if byte not in never}
    assert special_token_check._byte_letters() == expected
