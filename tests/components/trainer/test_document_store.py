from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.trainer.document_store import DocumentStore
from models.contract.errors import DataError
from preprocessing.training_document import TrainingDocument

entries = st.lists(
    st.tuples(
        st.binary(max_size=2),
        st.lists(st.tuples(st.integers(0, 2**31 - 1), st.booleans()), max_size=6),
        st.booleans(),
        st.sampled_from([1.0, 0.3, 4.0]),
    ),
    max_size=8,
)


def documents(rows) -> list[tuple[bytes, TrainingDocument]]:
    return [
        (
            key,
            TrainingDocument(
                np.array([i for i, _ in pairs], np.int32),
                np.array([flag for _, flag in pairs], bool) if is_chat else None,
                weight,
            ),
        )
        for key, pairs, is_chat, weight in rows
    ]


def plain(document: TrainingDocument):
    learned = None if document.learned is None else document.learned.tolist()
    return document.ids.tolist(), learned, document.weight


@given(entries)
def test_documents_come_back_by_key_and_unchanged(rows):
    given_ones = documents(rows)
    store = DocumentStore(iter(given_ones))
    expected = [document for _, document in sorted(given_ones, key=lambda entry: entry[0])]
    assert [plain(document) for document in store] == [plain(document) for document in expected]
    assert [plain(store[i]) for i in range(len(store))] == [plain(document) for document in expected]
    assert store.num_ids == sum(len(document.ids) for document in expected)
    assert store.num_learned == sum(
        len(d.ids) if d.learned is None else int(d.learned.sum()) for d in expected
    )
    assert store.weights.tolist() == [document.weight for document in expected]


def test_what_is_read_cannot_be_changed_and_the_file_is_nowhere_to_be_seen(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    store = DocumentStore(documents([(b"a", [(1, True)], True, 1.0)]))
    assert os.listdir(tmp_path) == []
    with pytest.raises(ValueError, match="read-only"):
        store[0].ids[0] = 2


def test_a_full_disk_is_named(monkeypatch):
    class FullFile:
        def __init__(self, *_, **__): ...

        def write(self, _):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("components.trainer.document_store.tempfile.TemporaryFile", FullFile)
    with pytest.raises(DataError, match=r"No space left on device.*TMPDIR"):
        DocumentStore(documents([(b"a", [(1, True)], True, 1.0)]))
