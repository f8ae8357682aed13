"""TrainingData: transformed examples as a stream of packed batches."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from components.trainer.training_config import TrainingConfig
from models.contract.errors import CheckpointError, DataError
from preprocessing.packing import PackedRow, pack, shuffled

_INPUTS = ("ids", "positions", "segment_ids")


@dataclass(frozen=True, slots=True)
class TrainingData:
    """The documents to train on, held in memory: four bytes per token.

    Args:
        documents: int32 ids of each, in the order of sources and paths.
        end_id: put after each document.
        begin_id: put before each, or None.
    """

    documents: Sequence[np.ndarray]
    end_id: int
    begin_id: int | None = None

    @property
    def tokens(self) -> int:
        """Tokens of all documents, their marks included."""
        marks = 1 if self.begin_id is None else 2
        return sum(len(document) + marks for document in self.documents)

    def fingerprint(self) -> str:
        """Hash of everything that decides the stream besides the configuration."""
        digest = hashlib.sha256(f"{self.end_id} {self.begin_id}".encode())
        for document in self.documents:
            digest.update(len(document).to_bytes(8, "little") + document.tobytes())
        return digest.hexdigest()

    def rows(self, config: TrainingConfig) -> Iterator[PackedRow]:
        """Packed rows without end, in an order that only the seed decides."""
        stream = shuffled(self.documents, config.seed)
        return pack(stream, config.sequence_length, end_id=self.end_id, begin_id=self.begin_id)

    def dataset(self, config: TrainingConfig, done_steps: int = 0) -> tf.data.Dataset:
        """Batches for `LanguageModel.fit` from step `done_steps` on: (inputs, labels, weights)."""
        skipped = done_steps * config.batch_size * config.gradient_accumulation_steps

        def generate() -> Iterator[tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]]:
            for row in itertools.islice(self.rows(config), skipped, None):
                yield {name: getattr(row, name) for name in _INPUTS}, row.labels, row.weights

        ids = tf.TensorSpec([config.sequence_length], tf.int32)
        weights = tf.TensorSpec([config.sequence_length], tf.float32)
        signature = (dict.fromkeys(_INPUTS, ids), ids, weights)
        rows = tf.data.Dataset.from_generator(generate, output_signature=signature)
        return rows.batch(config.batch_size, drop_remainder=True).prefetch(2)


def read_documents(patterns: Sequence[str]) -> list[np.ndarray]:
    """Ids of the transformed examples in these gzipped TFRecord files, by source and path.

    Raises:
        DataError: there are none.
    """
    files = sorted(name for pattern in patterns for name in tf.io.gfile.glob(pattern))
    records = tf.data.TFRecordDataset(files, compression_type="GZIP").as_numpy_iterator()
    found = [_parse(record) for record in records]
    if not any(len(ids) for _, ids in found):
        raise DataError(
            f"there is nothing to train on: {len(found)} training documents, all without tokens.",
            field="corpus",
            remedy="Add text to the corpus or lower `corpus.eval_fraction`.",
        )
    return [ids for _, ids in sorted(found, key=lambda entry: entry[0])]


def document_end(special_ids: dict[str, int], eos_ids: Sequence[int], wanted: str | None) -> int:
    """Id put after each document (`TrainingConfig.document_end`).

    Raises:
        CheckpointError: the tokenizer has no such token.
    """
    name = wanted or "<|endoftext|>"
    if name in special_ids:
        return special_ids[name]
    if wanted is None and eos_ids:
        return eos_ids[0]
    raise CheckpointError(
        f"the tokenizer has no special token {name!r}; it has {sorted(special_ids)}.",
        field="training.document_end",
        remedy="Name one of them in `training.document_end`.",
    )


def _parse(record: bytes) -> tuple[tuple[bytes, bytes], np.ndarray]:
    features = tf.train.Example.FromString(record).features.feature
    key = tuple(b"".join(features[name].bytes_list.value) for name in ("source", "path"))
    return key, np.array(features["ids"].int64_list.value, np.int32)
