from __future__ import annotations

from collections.abc import Sequence

import pytest
import tensorflow as tf

from components.perplexity_evaluator.held_out_document import HeldOutDocument, read_documents
from components.perplexity_evaluator.tokenized_document import tokenized
from models.contract.errors import DataError, PackageError
from models.contract.segment import Segment

VOCAB = [b"<end>", *(bytes([byte]) for byte in range(97, 123)), b"<start>"]
SEGMENTS = (
    Segment("<start>", special=True),
    Segment("ab"),
    Segment("c<end>", learned=True),
    Segment("<end>", special=True, learned=True),
    Segment("d"),
)


class Letters:
    """A tokenizer of single letters; what is none has no id. A prompt gets a mark before it."""

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        return [[99, *self._ids(text)] for text in texts]

    def tokenize_segments(self, prompts: Sequence[Sequence[str | int]]) -> list[list[int]]:
        return [
            [index for piece in prompt for index in ([piece] if isinstance(piece, int) else self._ids(piece))]
            for prompt in prompts
        ]

    def _ids(self, text: str) -> list[int]:
        return [VOCAB.index(letter.encode()) for letter in text if letter.isalpha()]


def test_conversations_and_texts_are_tokenized_as_served_in_their_order():
    documents = [HeldOutDocument(b"abc", "s"), HeldOutDocument(b"", "chat", SEGMENTS)] * 20
    found = list(tokenized(documents, Letters(), VOCAB))
    assert [document.source for document in found] == ["s", "chat"] * 20
    assert [document.key for document in found] == [document.key for document in documents]
    assert all((list(document.ids), document.learned) == ([99, 1, 2, 3], None) for document in found[::2])
    for document in found[1::2]:
        assert list(document.ids) == [27, 1, 2, 3, 5, 14, 4, 0, 4]
        assert list(document.learned) == [False] * 3 + [True] * 5 + [False]


def test_a_special_token_that_the_package_lacks_is_named():
    stranger = HeldOutDocument(b"", "s", (Segment("<eot>", special=True),))
    with pytest.raises(PackageError, match="<eot>"):
        list(tokenized([stranger], Letters(), VOCAB))


def _bytes(*values: bytes) -> tf.train.Feature:
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def test_documents_are_read_with_their_segments(tmp_path):
    folder = tmp_path / "Split-eval"
    folder.mkdir()
    kinds = tf.train.Feature(int64_list=tf.train.Int64List(value=[one.kind for one in SEGMENTS]))
    chat = {
        "text": _bytes("".join(one.text for one in SEGMENTS).encode()),
        "source": _bytes(b"chat"),
        "segments": _bytes(*(one.text.encode() for one in SEGMENTS)),
        "segment_kinds": kinds,
    }
    plain = {"text": _bytes("ä".encode()), "source": _bytes(b"text")}
    with tf.io.TFRecordWriter(str(folder / "data.gz"), options="GZIP") as writer:
        for features in (chat, plain):
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())
    found = {document.source: document for document in read_documents(tmp_path)}
    assert found["chat"].segments == SEGMENTS
    assert found["text"] == HeldOutDocument("ä".encode(), "text")
    with pytest.raises(DataError, match="'train' split"):
        read_documents(tmp_path, "train")
