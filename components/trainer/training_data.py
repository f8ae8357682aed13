"""TrainingData: transformed examples as a stream of packed batches."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from components.trainer.document_store import DocumentStore
from components.trainer.training_config import TrainingConfig
from models.contract.errors import CheckpointError, DataError
from preprocessing.packing import PackedRow, pack, pass_weights, shuffled
from preprocessing.training_document import TrainingDocument

_INPUTS = ("ids", "positions", "segment_ids")


@dataclass(frozen=True, slots=True)
class TrainingData:
    """The documents to train on.

    Args:
        documents: in the order of sources and paths; of plain text int32 ids are enough.
        end_id: put after each plain text.
        begin_id: put before each plain text, or None.
        special_ids: ids of special tokens; a conversation that ends with one needs no end mark.
    """

    documents: Sequence[TrainingDocument] | Sequence[np.ndarray]
    end_id: int
    begin_id: int | None = None
    special_ids: frozenset[int] = frozenset()

    @property
    def tokens(self) -> int:
        """Tokens of all documents, their marks included."""
        return sum(document.framed_length(self.begin_id, self.special_ids) for document in self._all())

    @property
    def tokens_per_pass(self) -> float:
        """Tokens drawn in one pass: each document counts as often as its weight says."""
        sizes = [document.framed_length(self.begin_id, self.special_ids) for document in self._all()]
        return float(np.dot(pass_weights(self._weights()), sizes))

    @property
    def learned_tokens(self) -> int:
        """Those of `tokens` that are learned."""
        return sum(
            int(document.framed(self.end_id, self.begin_id, self.special_ids)[1][1:].sum())
            for document in self._all()
        )

    def fingerprint(self) -> str:
        """Hash of everything that decides the stream besides the configuration."""
        digest = hashlib.sha256(f"{self.end_id} {self.begin_id} {sorted(self.special_ids)}".encode())
        for document in self._all():
            learned = b"" if document.learned is None else document.learned.tobytes()
            digest.update(f"{len(document.ids)} {len(learned)} {document.weight}\n".encode())
            digest.update(document.ids.tobytes() + learned)
        return digest.hexdigest()

    def rows(self, config: TrainingConfig) -> Iterator[PackedRow]:
        """Packed rows without end, in an order that only the seed and the weights decide."""
        return pack(
            shuffled(self.documents, config.seed, self._weights()),
            config.sequence_length,
            end_id=self.end_id,
            begin_id=self.begin_id,
            special_ids=self.special_ids,
        )

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

    def _weights(self) -> np.ndarray:
        if isinstance(self.documents, DocumentStore):
            return self.documents.weights
        return np.array([document.weight for document in self._all()], np.float64)

    def _all(self) -> Iterator[TrainingDocument]:
        for document in self.documents:
            yield document if isinstance(document, TrainingDocument) else TrainingDocument(document)


def read_documents(patterns: Sequence[str]) -> DocumentStore:
    """The transformed examples in these gzipped TFRecord files, by source and path.

    Raises:
        DataError: there are none, or nothing in them is learned.
    """
    files = sorted(name for pattern in patterns for name in tf.io.gfile.glob(pattern))
    records = tf.data.TFRecordDataset(files, compression_type="GZIP").as_numpy_iterator()
    store = DocumentStore(_parse(record) for record in records)
    if not store.num_ids:
        raise DataError(
            f"there is nothing to train on: {len(store)} training documents, all without tokens.",
            field="corpus",
            remedy="Add text to the corpus or lower `corpus.eval_fraction`.",
        )
    if not store.num_learned:
        raise DataError(
            f"there is nothing to train on: {len(store)} training documents, all of them conversations "
            "without an answer.",
            field="corpus",
            remedy="Add conversations with messages of the role `assistant`.",
        )
    return store


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


def _parse(record: bytes) -> tuple[bytes, TrainingDocument]:
    features = tf.train.Example.FromString(record).features.feature
    key = b"\0".join(b"".join(features[name].bytes_list.value) for name in ("source", "path"))
    ids = np.array(features["ids"].int64_list.value, np.int32)
    learned = np.array(features["learned"].int64_list.value, bool) if "learned" in features else None
    weights = features["weight"].float_list.value if "weight" in features else ()
    return key, TrainingDocument(
        ids, learned if learned is not None and len(learned) else None, weights[0] if weights else 1.0
    )
