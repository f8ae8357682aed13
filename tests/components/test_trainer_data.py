"""What the Trainer reads, and the history it keeps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import tensorflow as tf
from pydantic import ValidationError

from components.trainer.training_config import TrainingConfig
from components.trainer.training_data import TrainingData, document_end, read_documents
from components.trainer.training_history import StepRecord, TrainingHistory
from models.contract.errors import CheckpointError, DataError
from preprocessing.training_document import TrainingDocument


def write_examples(
    path, entries: list[tuple[str, list[int]]], learned: dict[str, list[int]] | None = None, weight=None
) -> None:
    with tf.io.TFRecordWriter(str(path), options="GZIP") as writer:
        for name, ids in entries:
            features = {
                "ids": tf.train.Feature(int64_list=tf.train.Int64List(value=ids)),
                "source": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"s"])),
                "path": tf.train.Feature(bytes_list=tf.train.BytesList(value=[name.encode()])),
            }
            if learned is not None:
                flags = learned.get(name, [])
                features["learned"] = tf.train.Feature(int64_list=tf.train.Int64List(value=flags))
            if weight is not None:
                features["weight"] = tf.train.Feature(float_list=tf.train.FloatList(value=[weight]))
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())


def test_documents_come_by_path_however_they_are_stored(tmp_path):
    write_examples(tmp_path / "x-1.gz", [("c", [3]), ("a", [1, 1])])
    write_examples(tmp_path / "x-0.gz", [("b", [2])])
    documents = read_documents([str(tmp_path / "x-*")])
    assert [d.ids.tolist() for d in documents] == [[1, 1], [2], [3]]
    assert all(d.ids.dtype == np.int32 for d in documents)


@pytest.mark.parametrize("entries", [[], [("a", [])]])
def test_nothing_to_train_on_is_said(tmp_path, entries):
    write_examples(tmp_path / "x-0.gz", entries)
    with pytest.raises(DataError, match="nothing to train on"):
        read_documents([str(tmp_path / "x-*")])
    with pytest.raises(DataError, match="nothing to train on"):
        read_documents([str(tmp_path / "none-*")])


def test_conversations_and_weights_are_read(tmp_path):
    entries = [("a", [5, 6, 7]), ("b", [8])]
    write_examples(tmp_path / "x.gz", entries, {"a": [0, 1, 1]}, weight=2.5)
    chat, plain = read_documents([str(tmp_path / "x.gz")])
    assert (chat.ids.tolist(), chat.learned.tolist(), chat.weight) == ([5, 6, 7], [False, True, True], 2.5)
    assert (plain.ids.tolist(), plain.learned, plain.weight) == ([8], None, 2.5)


def test_conversations_without_an_answer_are_nothing_to_train_on(tmp_path):
    write_examples(tmp_path / "x.gz", [("a", [5, 6])], {"a": [0, 0]})
    with pytest.raises(DataError, match=r"conversations without an answer.*assistant"):
        read_documents([str(tmp_path / "x.gz")])


def test_learned_tokens_and_weights_decide_the_stream():
    ids, flags = np.array([5, 6, 7], np.int32), np.array([False, True, True])
    chat = TrainingDocument(ids, flags)
    data = TrainingData([chat, TrainingDocument(ids)], end_id=0, special_ids=frozenset({7}))
    assert (data.tokens, data.learned_tokens) == (3 + 4, 2 + 3)
    assert data.tokens_per_pass == data.tokens
    others = [
        TrainingData([chat, TrainingDocument(ids, weight=3.0)], 0, special_ids=frozenset({7})),
        TrainingData([TrainingDocument(ids, ~flags), TrainingDocument(ids)], 0, special_ids=frozenset({7})),
        TrainingData([chat, TrainingDocument(ids)], 0),
    ]
    assert others[0].tokens_per_pass == 3 + 3 * 4
    assert len({one.fingerprint() for one in (data, *others)}) == 4
    row = next(others[0].rows(TrainingConfig(sequence_length=15)))
    assert (row.ids == 0).sum() == 3


def test_the_dataset_goes_on_where_the_done_steps_end():
    config = TrainingConfig(sequence_length=8, batch_size=2, gradient_accumulation_steps=2, tokens=1000)
    data = TrainingData([np.full(i, i, np.int32) for i in range(1, 9)], end_id=0)
    whole = list(itertools.islice(data.dataset(config).as_numpy_iterator(), 8))
    rest = list(itertools.islice(data.dataset(config, done_steps=2).as_numpy_iterator(), 4))
    for (inputs, labels, weights), (other, other_labels, other_weights) in zip(whole[4:], rest, strict=True):
        np.testing.assert_array_equal(labels, other_labels)
        np.testing.assert_array_equal(weights, other_weights)
        assert inputs["ids"].shape == (2, 8)
        for name in inputs:
            np.testing.assert_array_equal(inputs[name], other[name])


def test_marks_count_and_decide_the_stream():
    documents = [np.array([5, 6], np.int32), np.array([7], np.int32)]
    plain, marked = TrainingData(documents, 0), TrainingData(documents, 0, begin_id=1)
    assert (plain.tokens, marked.tokens) == (5, 7)
    split_elsewhere = TrainingData([np.array([5], np.int32), np.array([6, 7], np.int32)], 0)
    assert len({plain.fingerprint(), marked.fingerprint(), split_elsewhere.fingerprint()}) == 3


def test_the_document_end_is_the_wanted_one_or_end_of_text_or_the_first_eos():
    specials = {"<|endoftext|>": 0, "<|im_end|>": 2}
    assert document_end(specials, (2,), None) == 0
    assert document_end(specials, (2,), "<|im_end|>") == 2
    assert document_end({"</s>": 4}, (4, 9), None) == 4
    with pytest.raises(CheckpointError, match=r"'<eot>'.*document_end"):
        document_end(specials, (2,), "<eot>")
    with pytest.raises(CheckpointError):
        document_end({}, (), None)


def history(steps: int) -> TrainingHistory:
    return TrainingHistory(100, [StepRecord(i, 5.0 - i / steps, 1e-3, 2.0) for i in range(1, steps + 1)])


def test_a_history_survives_writing_and_is_cut_at_the_restored_step(tmp_path):
    history(10).write(tmp_path / "h.json")
    read = TrainingHistory.read(tmp_path / "h.json", 7)
    assert read.steps == history(10).steps[:7]
    assert read.resumed_at == [7]


def test_the_summary_has_at_most_about_200_points_and_ends_with_the_last():
    summary = history(1001).summary()
    assert summary["tokens"] == 100_100
    assert summary["tokens_per_second"] == 50.0
    assert summary["final_loss"] == pytest.approx(4.05, abs=1e-3)
    points = summary["loss_curve"]
    assert len(points) <= 201
    assert (points[0]["step"], points[-1]["step"]) == (1, 1001)


def test_the_configuration_counts_steps_and_refuses_nonsense():
    config = TrainingConfig(tokens=70_000)
    assert (config.tokens_per_step, config.steps, config.warmup_steps) == (1024, 69, 6)
    for wrong in ({"tokens": 0}, {"beta_1": 1.0}, {"learning_rate": 0}, {"token": 3}):
        with pytest.raises(ValidationError):
            TrainingConfig(**wrong)
