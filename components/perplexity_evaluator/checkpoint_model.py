"""CheckpointModel: a Hugging Face checkpoint under evaluation, without exporting it first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf

from components.perplexity_evaluator.completion import Completion
from models.checkpoint import load_checkpoint
from models.sampling import SamplingRows
from models.scoring import CheckpointScorer
from models.signatures.generate_signatures import GenerateSignatures
from models.signatures.text_signatures import TextSignatures
from preprocessing.tokenizers import load_tokenizer


class CheckpointModel:
    """Implements `EvaluatedModel` with the network itself.

    Args:
        path: checkpoint directory.

    Raises:
        CheckpointError: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._decoder = load_checkpoint(path)
        self._scorer = CheckpointScorer(self._decoder)

    def score(
        self, ids: np.ndarray, lengths: np.ndarray, score_from: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """See `Scorer.score`."""
        return self._scorer.score(ids, lengths, score_from)

    def complete(self, prompts: Sequence[Sequence[int]], max_tokens: int) -> list[Completion]:
        """See `EvaluatedModel.complete`."""
        tokenizer = load_tokenizer(self._path)
        config = self._decoder.config
        end_ids = tuple(config.eos_ids or tokenizer.eos_ids)
        signatures = GenerateSignatures(self._decoder, TextSignatures(tokenizer), end_ids, config.max_length)
        lengths = np.array([len(prompt) for prompt in prompts], np.int32)
        padded = np.zeros((len(prompts), int(lengths.max())), np.int32)
        for row, prompt in enumerate(prompts):
            padded[row, : len(prompt)] = prompt
        result = signatures.answer(
            tf.constant(padded),
            tf.constant(lengths),
            tf.fill([len(prompts)], max_tokens),
            _greedy(len(prompts)),
        )
        rows = zip(result["ids"].numpy(), result["length"].numpy(), strict=True)
        return [Completion.cut(row[:length].tolist(), end_ids) for row, length in rows]


def _greedy(rows: int) -> SamplingRows:
    zeros = tf.zeros([rows])
    return SamplingRows(zeros, tf.zeros([rows], tf.int32), zeros + 1, zeros, tf.zeros([rows], tf.int64))
