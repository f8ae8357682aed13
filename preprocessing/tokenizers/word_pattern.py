"""WordPattern: the ways of splitting text into words that are reproduced exactly."""

from __future__ import annotations

from enum import StrEnum


class WordPattern(StrEnum):
    """Named after the model that made each known; merges never cross the words' ends."""

    GPT2 = "gpt2"
    """GPT-2's pattern."""

    GPT2_DIGITS = "gpt2_digits"
    """GPT-2's, but every numeric character is a word of its own: SmolLM2, StarCoder."""

    LLAMA3 = "llama3"
    """Llama 3's and cl100k's: up to three numeric characters, line ends stay with punctuation."""

    QWEN2 = "qwen2"
    """Qwen2's: as LLAMA3, but every numeric character is a word of its own."""
