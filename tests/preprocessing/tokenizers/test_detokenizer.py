from __future__ import annotations

import codecs

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from preprocessing.tokenizers.detokenizer import Detokenizer
from preprocessing.tokenizers.sentencepiece_spec import TextStart

LEADS = [0x41, 0x80, 0xBF, 0xC0, 0xC2, 0xDF, 0xE0, 0xE1, 0xED, 0xF0, 0xF1, 0xF4, 0xF5, 0xA0, 0x8F, 0x90, 0x9F]
BYTES = Detokenizer([bytes([byte]) for byte in range(256)])
TYPES = [
    tf.TensorSpec([None], tf.string),
    tf.RaggedTensorSpec([None, None], tf.int32, ragged_rank=1),
    tf.TensorSpec(None, tf.bool),
]
decode = tf.function(BYTES.decode, input_signature=TYPES[1:2], autograph=False)
decode_stream = tf.function(BYTES.decode_stream, input_signature=TYPES, autograph=False)
STREAMS = st.lists(
    st.lists(
        st.lists(st.one_of(st.sampled_from(LEADS), st.integers(0, 255)), max_size=3), min_size=4, max_size=4
    ),
    min_size=1,
    max_size=8,
)


@given(streams=STREAMS)
@settings(max_examples=100, deadline=None)
def test_a_stream_gives_at_every_step_what_pythons_decoder_gives(streams: list[list[list[int]]]):
    decoders = [codecs.getincrementaldecoder("utf-8")("replace") for _ in streams]
    pending = tf.fill([len(streams)], "")
    for step in range(4):
        final = step == 3
        ids = tf.ragged.constant([stream[step] for stream in streams], tf.int32, ragged_rank=1)
        text, pending = decode_stream(pending, ids, tf.constant(final))
        expected = [
            decoder.decode(bytes(stream[step]), final)
            for decoder, stream in zip(decoders, streams, strict=True)
        ]
        assert [part.decode() for part in text.numpy()] == expected
        assert max(map(len, pending.numpy())) <= 3
    assert set(pending.numpy()) == {b""}


@given(rows=st.lists(st.lists(st.one_of(st.sampled_from(LEADS), st.integers(0, 255))), min_size=1))
@settings(max_examples=100, deadline=None)
def test_wrong_bytes_become_replacement_characters_as_in_python(rows: list[list[int]]):
    texts = decode(tf.ragged.constant(rows, tf.int32, ragged_rank=1)).numpy()
    assert [text.decode() for text in texts] == [bytes(row).decode("utf-8", "replace") for row in rows]


def test_streams_may_end_one_by_one():
    ids = tf.ragged.constant([[0xE6], [0xE6]], tf.int32)
    text, pending = decode_stream(tf.constant(["", ""]), ids, tf.constant([True, False]))
    assert [part.decode() for part in text.numpy()] == ["\ufffd", ""]
    assert pending.numpy().tolist() == [b"", b"\xe6"]


PIECES = [b" ", b" a", b"b", b"<s>", "\u00e9".encode()[:1], "\u00e9".encode()[1:]]


@pytest.mark.parametrize("every", [False, True])
def test_a_text_loses_its_first_space_however_its_ids_arrive(every: bool):
    """As SentencePiece decodes; special tokens show, but do not count as text."""
    start = TextStart.of_pieces(PIECES, spaced={0, 1}, silent={3}, every=every)
    pieces = Detokenizer(PIECES, start)
    rows = [[], [0], [0, 1], [0, 0, 1], [1, 1], [3, 3, 1, 0], [3], [4, 5, 1], [9, 1], [2, 1]]
    first = [["", "", " a", "  a"], ["", "", "a", "a"]][every]
    expected = [*first, "a a", "<s><s>a ", "<s>", "é a", "a", "b a"]
    whole = pieces.decode(tf.ragged.constant(rows, tf.int32, ragged_rank=1)).numpy()
    assert [text.decode() for text in whole] == expected
    parts, pending = [""] * len(rows), tf.fill([len(rows)], pieces.stream_start)
    for step in range(5):
        ids = tf.ragged.constant([row[step : step + 1] for row in rows], tf.int32, ragged_rank=1)
        text, pending = pieces.decode_stream(pending, ids, tf.constant(step == 4))
        parts = [part + more.decode() for part, more in zip(parts, text.numpy(), strict=True)]
    assert parts == expected
    assert set(pending.numpy()) == {b""}


def test_a_stream_that_continues_a_text_loses_nothing():
    start = TextStart.of_pieces(PIECES, spaced={0, 1}, silent={3}, every=True)
    pieces = Detokenizer(PIECES, start)
    ids = tf.ragged.constant([[0, 1], [3, 1], []], tf.int32, ragged_rank=1)
    text, pending = pieces.decode_stream(tf.constant(["", "", b"\xff"]), ids, tf.constant(False))
    assert text.numpy().tolist() == [b"  a", b"<s> a", b""]
    assert pending.numpy().tolist() == [b"", b"", b"\xff"]
    assert pieces.decode_continuation(ids).numpy().tolist() == [b"  a", b"<s> a", b""]
    assert BYTES.stream_start == b""


def test_ids_outside_the_vocabulary_have_no_text():
    assert decode(tf.ragged.constant([[65, -1, 256, 66], []], tf.int32)).numpy().tolist() == [
        b"AB",
        b"",
    ]
