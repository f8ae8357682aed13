from __future__ import annotations

from pathlib import Path

import pytest
import tensorflow as tf

from models.contract.errors import DataError
from preprocessing.records.record import Record
from tests.preprocessing.records.reading import faults, read, texts


def example(**features: bytes | int | list[bytes]) -> bytes:
    def feature(value: bytes | int | list[bytes]) -> tf.train.Feature:
        if isinstance(value, int):
            return tf.train.Feature(int64_list=tf.train.Int64List(value=[value]))
        values = value if isinstance(value, list) else [value]
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))

    found = {name: feature(value) for name, value in features.items()}
    return tf.train.Example(features=tf.train.Features(feature=found)).SerializeToString()


def write(folder: Path, *records: bytes, name: str = "a.tfrecord") -> Path:
    options = tf.io.TFRecordOptions("GZIP" if name.endswith(".gz") else "")
    with tf.io.TFRecordWriter(str(folder / name), options) as writer:
        for record in records:
            writer.write(record)
    return folder / name


@pytest.mark.parametrize("name", ["a.tfrecord", "a.tfrecords.gz", "data_tfrecord-00000-of-00002.gz"])
def test_examples_are_documents(tmp_path, name):
    path = write(tmp_path, example(text=b"a", n=1), example(text="ä🎉".encode()), name=name)
    assert texts(read(path)) == [(1, "a"), (2, "ä🎉")]


def test_an_empty_file_has_no_records(tmp_path):
    assert read(write(tmp_path)) == []
    (tmp_path / "b.tfrecord.gz").write_bytes(b"")
    assert read(tmp_path / "b.tfrecord.gz") == []


def test_broken_records_are_told_and_the_next_is_read(tmp_path):
    path = write(
        tmp_path,
        example(text=b"a"),
        b"\xffno example",
        example(other=b"a"),
        example(text=5),
        example(text=[b"a", b"b"]),
        example(text=[]),
        example(text=b"\xff"),
        example(text=b"x" * 5000),
        example(text=b"b"),
    )
    found = read(path)
    assert texts(found) == [(1, "a"), (9, "b")]
    assert [reason for _, reason in faults(found)] == [
        "not_example",
        "missing_field",
        "wrong_type",
        "wrong_type",
        "missing_field",
        "not_utf8",
        "too_long",
    ]


def test_ids_and_groups_may_be_texts_or_numbers(tmp_path):
    found = read(write(tmp_path, example(text=b"a", id=7, who=b"x")), id_field="id", group_field="who")
    assert found == [Record(1, b"a", group="x", identifier="7")]


def test_a_damaged_file_is_refused_by_name(tmp_path):
    path = write(tmp_path, example(text=b"a" * 100), example(text=b"b"))
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(DataError, match=r"a\.tfrecord is no whole tfrecord file"):
        read(path)
    path.write_text("a text that somebody called so, long enough to have a header\n")
    with pytest.raises(DataError, match=r"a\.tfrecord is no whole tfrecord file"):
        read(path)
