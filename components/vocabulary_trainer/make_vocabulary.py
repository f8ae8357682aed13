"""From a corpus to a tokenizer with a report on it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from components.progress import report
from components.vocabulary_trainer.report_file import REPORT
from components.vocabulary_trainer.split_texts import SplitTexts
from models.checkpoint_files import copy_tokenizer_files
from models.contract.errors import DataError
from preprocessing.tokenizers import GraphTokenizer, load_tokenizer
from preprocessing.vocabulary_config import VocabularyConfig
from preprocessing.vocabulary_training import train_vocabulary, write_vocabulary

MEASURED_BYTES = 2_000_000
"""Of either split, to tell how many bytes a token stands for."""

_SHOWN = 12
_BATCH = 250_000
"""Characters encoded together."""


def make_vocabulary(examples: Path, folder: Path, config: VocabularyConfig) -> dict[str, Any]:
    """Train on the training split, or take the tokenizer that is named, and measure it.

    Args:
        examples: folder of the Examples artifact.
        folder: gets the tokenizer's files and the report; made if missing.
        config: how.

    Returns:
        The report, as it is written.

    Raises:
        DataError: there is no training text, or too little for the size that is wanted.
        ConfigError: a special token could be made from text.
        CheckpointError: the tokenizer cannot be reproduced exactly.
    """
    train, held_out = SplitTexts(examples, "train"), SplitTexts(examples, "eval")
    if not train.num_bytes:
        raise DataError(
            f"there is no text to make a vocabulary of: {len(train)} training documents, all empty.",
            field="corpus",
            remedy="Add text to the corpus or lower `corpus.eval_fraction`.",
        )
    folder.mkdir(parents=True, exist_ok=True)
    documents, used = train.sample_bytes(config.max_bytes)
    if config.tokenizer is None:
        report("making the vocabulary", 0, 0, "tokens", f"of {used / 1e6:.1f} MB of text")
        write_vocabulary(folder, train_vocabulary(train.sample(config.max_bytes), config), config)
    else:
        documents = used = 0
        copy_tokenizer_files(config.tokenizer, folder)
    loaded = load_tokenizer(folder)
    report("making the vocabulary", loaded.vocab_size, loaded.vocab_size, "tokens")
    found = {
        "size": loaded.vocab_size,
        "fingerprint": loaded.fingerprint,
        "kind": loaded.kind,
        "corpus_documents": documents,
        "corpus_bytes": used,
        "settings": config.model_dump(mode="json"),
        "specials": loaded.special_ids,
        "longest_tokens": _longest(loaded.token_bytes, set(loaded.special_ids.values())),
        "splits": {"train": _measured(loaded, train), "eval": _measured(loaded, held_out)},
    }
    text = json.dumps(found, indent=2, ensure_ascii=False)
    (folder / REPORT).write_text(text + "\n", encoding="utf-8")
    return found


def _longest(token_bytes: list[bytes], special: set[int]) -> list[str]:
    tokens = [token for index, token in enumerate(token_bytes) if index not in special]
    return [token.decode("utf-8", "replace") for token in sorted(tokens, key=len, reverse=True)[:_SHOWN]]


def _measured(tokenizer: GraphTokenizer, split: SplitTexts) -> dict[str, Any]:
    """How a sample of a split is written, by the tokenizer that will serve."""
    documents, size = split.sample_bytes(MEASURED_BYTES)
    tokens, distinct = 0, set[int]()
    for texts in _batches(split.sample(MEASURED_BYTES)):
        for ids in tokenizer.encode_batch(texts):
            tokens += len(ids)
            distinct.update(ids)
    return {
        "documents": documents,
        "bytes": size,
        "tokens": tokens,
        "distinct_tokens": len(distinct),
        "bytes_per_token": round(size / tokens, 4) if tokens else None,
    }


def _batches(texts: Iterator[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    for text in texts:
        batch.append(text)
        if sum(map(len, batch)) >= _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
