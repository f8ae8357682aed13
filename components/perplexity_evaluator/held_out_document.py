"""HeldOutDocument: one document of the eval split."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.contract.errors import DataError
from models.contract.segment import Segment


@dataclass(frozen=True, slots=True)
class HeldOutDocument:
    """A document as ExampleGen wrote it.

    Args:
        text: UTF-8 bytes.
        source: which part of the corpus it comes from.
        segments: of a conversation, the pieces that its text is made of; none for plain text.
    """

    text: bytes
    source: str
    segments: tuple[Segment, ...] = ()

    @property
    def key(self) -> str:
        """Hash of its content: an order of documents that no reading order can change."""
        return hashlib.sha256(self.source.encode() + b"\0" + self.text).hexdigest()


def read_documents(examples_uri: Path, split: str = "eval") -> list[HeldOutDocument]:
    """Documents of a split of an Examples artifact, ordered by their keys.

    Raises:
        DataError: the split is missing or empty.
    """
    documents = sorted(_read(examples_uri / f"Split-{split}"), key=lambda document: document.key)
    if not documents:
        raise DataError(
            f"the corpus has no documents in its {split!r} split, so there is nothing to evaluate on.",
            field="corpus.eval_fraction",
            remedy="Add text to the corpus or raise `corpus.eval_fraction`.",
        )
    return documents


def _read(folder: Path) -> Iterator[HeldOutDocument]:
    import tensorflow as tf

    files = sorted(str(path) for path in folder.glob("*") if path.is_file())
    if not files:
        return
    for record in tf.data.TFRecordDataset(files, compression_type="GZIP").as_numpy_iterator():
        yield _document(tf.train.Example.FromString(record).features.feature)


def _document(features: Any) -> HeldOutDocument:
    source = features["source"].bytes_list.value
    segments: tuple[Segment, ...] = ()
    if "segments" in features:
        texts, kinds = features["segments"].bytes_list.value, features["segment_kinds"].int64_list.value
        pairs = zip(texts, kinds, strict=True)
        segments = tuple(Segment.of_kind(text.decode("utf-8"), kind) for text, kind in pairs)
    return HeldOutDocument(
        features["text"].bytes_list.value[0], source[0].decode("utf-8", "replace") if source else "", segments
    )
