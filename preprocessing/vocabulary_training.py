"""Trains a byte-level BPE vocabulary; no TensorFlow.

The algorithm is byte pair encoding (Sennrich et al. 2016) over bytes (Radford et al. 2019), by the trainer
of Hugging Face tokenizers. Its result depends on how often each word occurs and on nothing else: pairs of
equal count are merged in the order of their ids, so neither the order of the texts nor threads nor hash
seeds change it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE
from tokenizers.trainers import BpeTrainer

from models.contract.errors import ConfigError, DataError
from preprocessing.special_token_check import could_be_made
from preprocessing.vocabulary_config import VocabularyConfig

TOKENIZER, TOKENIZER_CONFIG = "tokenizer.json", "tokenizer_config.json"

_KEY = "model.from_scratch.vocabulary"
_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
_EXPRESSIONS = {"llama3": _LLAMA3, "qwen2": _LLAMA3.replace("{1,3}", "")}


def untrained_tokenizer(config: VocabularyConfig) -> Tokenizer:
    """The tokenizer before training: it splits text into words, and nothing merges.

    Raises:
        ConfigError: a special token could be made from text.
    """
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = _word_splits(config.pattern)
    tokenizer.decoder = decoders.ByteLevel()
    for content in config.specials:
        if could_be_made(content, tokenizer.pre_tokenizer):
            raise ConfigError(
                f"special token {content!r} is one word of the pattern {config.pattern}, or its letters "
                "stand for bytes of one: text could be merged into it.",
                field=f"{_KEY}.specials",
                remedy="Put it between marks, e.g. `<|name|>`.",
            )
    return tokenizer


def train_vocabulary(texts: Iterable[str], config: VocabularyConfig) -> Tokenizer:
    """Learn a vocabulary of exactly `config.size` tokens.

    Ids: the special tokens in order, the 256 bytes, then the merged tokens as they were learned.

    Args:
        texts: to learn from; read once.
        config: how; its `tokenizer` and `max_bytes` are the caller's business.

    Raises:
        ConfigError: a special token could be made from text.
        DataError: the texts hold too few frequent pairs for a vocabulary of this size.
    """
    tokenizer = untrained_tokenizer(config)
    trainer = BpeTrainer(
        vocab_size=config.size,
        min_frequency=config.min_frequency,
        special_tokens=[AddedToken(content, special=True, normalized=False) for content in config.specials],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    made = tokenizer.get_vocab_size()
    if made < config.size:
        raise DataError(
            f"a vocabulary of {config.size:,} tokens is wanted, but the training text gives {made:,}: no "
            f"further pair occurs {config.min_frequency} times.",
            field=f"{_KEY}.size",
            remedy=f"Set `{_KEY}.size` to {made} or less, or add text to the corpus.",
        )
    return tokenizer


def write_vocabulary(folder: Path, tokenizer: Tokenizer, config: VocabularyConfig) -> None:
    """Write tokenizer.json and tokenizer_config.json as Hugging Face libraries read them.

    Args:
        folder: existing.
        tokenizer: trained.
        config: its first special token ends a text.
    """
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": config.specials[0]}
    (folder / TOKENIZER).write_text(tokenizer.to_str(pretty=True) + "\n", encoding="utf-8")
    (folder / TOKENIZER_CONFIG).write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


def _word_splits(pattern: str) -> pre_tokenizers.PreTokenizer:
    if pattern in _EXPRESSIONS:
        split = pre_tokenizers.Split(Regex(_EXPRESSIONS[pattern]), "isolated")
        return pre_tokenizers.Sequence(
            [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
        )
    words = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if pattern == "gpt2":
        return words
    return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), words])
