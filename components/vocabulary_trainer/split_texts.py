"""SplitTexts: a sample of the texts of one split, as CorpusExampleGen wrote them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from preprocessing.text_sample import bytes_taken, cut, place


class SplitTexts:
    """Texts that can be read several times; one is in memory at a time.

    Args:
        examples: folder of the Examples artifact.
        split: "train" or "eval".
    """

    def __init__(self, examples: Path, split: str) -> None:
        self._files = sorted(str(path) for path in (examples / f"Split-{split}").glob("*"))
        places, sizes = [], []
        for name, text in self._documents():
            places.append(place(name))
            sizes.append(len(text))
        self._places, self._sizes = places, sizes

    def __len__(self) -> int:
        return len(self._sizes)

    @property
    def num_bytes(self) -> int:
        """Of all texts."""
        return sum(self._sizes)

    def sample(self, max_bytes: int) -> Iterator[str]:
        """Texts of at most so many bytes together, drawn by the documents' names; the last one is cut."""
        return self._read(bytes_taken(self._places, self._sizes, max_bytes))

    def sample_bytes(self, max_bytes: int) -> tuple[int, int]:
        """Documents and bytes of such a sample."""
        taken = bytes_taken(self._places, self._sizes, max_bytes)
        return int(np.count_nonzero(taken)), int(taken.sum())

    def _read(self, taken: npt.NDArray[np.int64]) -> Iterator[str]:
        for (_, text), size in zip(self._documents(), taken, strict=True):
            if size:
                yield cut(text, int(size))

    def _documents(self) -> Iterator[tuple[bytes, bytes]]:
        """Name and text of each."""
        if not self._files:
            return
        for record in tf.data.TFRecordDataset(self._files, compression_type="GZIP").as_numpy_iterator():
            features = tf.train.Example.FromString(record).features.feature
            source, path, text = (features[name].bytes_list.value for name in ("source", "path", "text"))
            yield b"\0".join([*source, *path]), text[0]
