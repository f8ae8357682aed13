from __future__ import annotations

import codecs

import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from preprocessing.tokenizers.detokenizer import Detokenizer

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


def test_ids_outside_the_vocabulary_have_no_text():
    assert decode(tf.ragged.constant([[65, -1, 256, 66], []], tf.int32)).numpy().tolist() == [
        b"AB",
        b"",
    ]
