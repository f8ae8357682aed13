"""Conversations and plain text through tf.Transform, with the ids and weights that serving would give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
import tensorflow_transform.beam as tft_beam
from tensorflow_transform.tf_metadata import dataset_metadata, schema_utils

from models.contract.chat_template import ChatTemplate
from preprocessing.preprocessing_fn import encode_conversations, preprocessing_fn, transform_config
from preprocessing.tokenizers import load_tokenizer
from tests.tiny import CHAT_TEMPLATE, IM_END, IM_START, write_tiny_checkpoint

MESSAGES = [
    {"role": "user", "content": f"the thing {IM_END} in"},
    {"role": "assistant", "content": "ring 12"},
    {"role": "user", "content": "on"},
    {"role": "assistant", "content": "there"},
]
SEGMENTS = ChatTemplate(CHAT_TEMPLATE, [IM_START, IM_END]).render(MESSAGES)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_checkpoint(tmp_path_factory.mktemp("checkpoint"))


def example(text: str, segments=(), **more: Any) -> dict[str, Any]:
    return {
        "text": text.encode(),
        "source": b"s",
        "path": b"p",
        "group": b"g",
        "segments": [segment.text.encode() for segment in segments],
        "segment_kinds": [segment.kind for segment in segments],
        **more,
    }


def transform(checkpoint: Path, rows: list[dict[str, Any]], features: dict[str, Any], folder: Path):
    strings = {name: tf.io.FixedLenFeature([], tf.string) for name in ("text", "source", "path", "group")}
    metadata = dataset_metadata.DatasetMetadata(
        schema_utils.schema_from_feature_spec({**strings, **features})
    )
    config = transform_config(checkpoint)
    with tft_beam.Context(temp_dir=str(folder)):
        (data, _), _ = (rows, metadata) | tft_beam.AnalyzeAndTransformDataset(
            lambda inputs: preprocessing_fn(inputs, config)
        )
    return data


def test_conversations_and_plain_text_in_one_corpus(checkpoint, tmp_path):
    chat = example("".join(segment.text for segment in SEGMENTS), SEGMENTS, weight=[2.0], span=[3])
    plain = example(f"the {IM_START} thing", weight=[], span=[])
    features = {
        "segments": tf.io.VarLenFeature(tf.string),
        "segment_kinds": tf.io.VarLenFeature(tf.int64),
        "weight": tf.io.VarLenFeature(tf.float32),
        "span": tf.io.VarLenFeature(tf.int64),
    }
    first, second = transform(checkpoint, [chat, plain], features, tmp_path)
    tokenizer = load_tokenizer(checkpoint)
    ids, learned = [], []
    for segment in SEGMENTS:
        part = (
            [tokenizer.special_ids[segment.text]]
            if segment.special
            else tokenizer.encode_batch([segment.text])[0]
        )
        ids += part
        learned += [int(segment.learned)] * len(part)
    assert (first["ids"].tolist(), first["learned"].tolist()) == (ids, learned)
    assert (first["weight"].tolist(), first["span"].tolist()) == ([2.0], [3])
    assert (second["weight"].tolist(), second["span"].tolist()) == ([1.0], [0])
    assert second["ids"].tolist() == tokenizer.encode_batch([f"the {IM_START} thing"])[0]
    assert second["learned"].tolist() == []
    assert second["bytes"].tolist() == [len(plain["text"])]


def test_equally_many_segments_come_as_a_dense_feature(checkpoint, tmp_path):
    count = len(SEGMENTS)
    chat = example("", SEGMENTS)
    features = {
        "segments": tf.io.FixedLenFeature([count], tf.string),
        "segment_kinds": tf.io.FixedLenFeature([count], tf.int64),
    }
    (row,) = transform(checkpoint, [chat], features, tmp_path)
    assert len(row["ids"]) == len(row["learned"]) > count
    assert 0 < row["learned"].sum() < len(row["ids"])


def test_a_special_token_that_the_tokenizer_lacks_is_refused(checkpoint):
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"lacks a special token[\s\S]*<eot>"):
        encode_conversations(
            load_tokenizer(checkpoint),
            tf.constant([""]),
            tf.ragged.constant([["<eot>", "a"]]),
            tf.ragged.constant([[1, 0]], dtype=tf.int64),
        )
