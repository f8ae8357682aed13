"""DocumentStore: documents to train on, kept in a file."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from models.contract.errors import DataError
from preprocessing.training_document import TrainingDocument

_PLAIN = -1
"""Stands where a conversation's flags would begin."""


class DocumentStore:
    """Documents in the order of their keys, a Sequence whose ids lie in a file mapped into memory.

    The system keeps as much of the file in memory as there is room for; of its own the store takes 40
    bytes per document. The file lies where `TMPDIR` says and goes with the store.

    Args:
        documents: key and document; of equal keys the first comes first. An id takes 4 bytes in the
            file, one of a conversation 5.

    Raises:
        DataError: the file cannot be written.
    """

    def __init__(self, documents: Iterable[tuple[bytes, TrainingDocument]]) -> None:
        ids, learned = _Column(np.int32), _Column(np.bool_)
        keys: list[bytes] = []
        starts, lengths, flags, weights = array("q"), array("q"), array("q"), array("d")
        self.num_learned = 0
        for key, document in documents:
            keys.append(key)
            starts.append(ids.append(document.ids))
            lengths.append(len(document.ids))
            flags.append(_PLAIN if document.learned is None else learned.append(document.learned))
            weights.append(document.weight)
            self.num_learned += int(lengths[-1] if document.learned is None else document.learned.sum())
        self.num_ids = ids.size
        self._ids, self._learned = ids.mapped(), learned.mapped()
        self._starts, self._lengths, self._flags = (np.array(column) for column in (starts, lengths, flags))
        self.weights: npt.NDArray[np.float64] = np.array(weights)
        order = np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)
        for name in ("_starts", "_lengths", "_flags", "weights"):
            setattr(self, name, getattr(self, name)[order])

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, index: int) -> TrainingDocument:
        start, flag, length = self._starts[index], self._flags[index], self._lengths[index]
        learned = None if flag == _PLAIN else self._learned[flag : flag + length]
        return TrainingDocument(self._ids[start : start + length], learned, float(self.weights[index]))

    def __iter__(self) -> Iterator[TrainingDocument]:
        return (self[index] for index in range(len(self)))


Sequence.register(DocumentStore)


class _Column:
    """Values appended to a temporary file, then mapped."""

    def __init__(self, dtype: type[np.generic]) -> None:
        self._dtype = np.dtype(dtype)
        self._file = tempfile.TemporaryFile(prefix="tokenmill-ids-")  # noqa: SIM115
        self.size = 0

    def append(self, values: npt.NDArray[np.generic]) -> int:
        """Add values; where they begin."""
        start = self.size
        try:
            self._file.write(np.ascontiguousarray(values, self._dtype).data)
        except OSError as error:
            raise _no_room(error) from error
        self.size += len(values)
        return start

    def mapped(self) -> npt.NDArray[np.generic]:
        """All values; the file is closed, its space is freed with the array."""
        try:
            self._file.flush()
        except OSError as error:
            raise _no_room(error) from error
        values = np.empty(0, self._dtype)
        if self.size:
            values = np.memmap(self._file, self._dtype, "r").view(np.ndarray)
        self._file.close()
        return values


def _no_room(error: OSError) -> DataError:
    return DataError(
        f"the training documents cannot be written to {tempfile.gettempdir()}: {error.strerror}.",
        field="TMPDIR",
        remedy="Set TMPDIR to a folder with room for five bytes per token of the corpus.",
    )
