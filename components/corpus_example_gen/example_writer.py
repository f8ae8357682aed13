"""The second pass over a corpus: documents that are kept become tf.Examples, through Beam."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import apache_beam as beam
import tensorflow as tf

from models.contract.errors import DataError
from preprocessing.corpus_files import CorpusFile
from preprocessing.corpus_group import group_of
from preprocessing.corpus_inventory import usable_records
from preprocessing.corpus_plan import DROPPED, SPLITS, CorpusPlan, document_path
from preprocessing.records.read_settings import ReadSettings
from preprocessing.records.record import Record
from preprocessing.records.text_reader import cut

_DATA = "data_tfrecord"


@dataclass(frozen=True, slots=True)
class _Task:
    """A file to write examples of.

    Args:
        file: it.
        settings: of its source.
        codes: one byte per document (CorpusPlan.codes).
        group_depth: `CorpusConfig.group_depth`.
    """

    file: CorpusFile
    settings: ReadSettings
    codes: bytes
    group_depth: int


def write_examples(
    plan: CorpusPlan,
    settings: Callable[[str], ReadSettings],
    *,
    make_pipeline: Callable[[], beam.Pipeline],
    group_depth: int,
    uri: str,
) -> None:
    """Write the kept documents into gzipped TFRecord files, a folder per split, in the corpus' order.

    Args:
        plan: decided.
        settings: of the files of a source.
        make_pipeline: a Beam pipeline.
        group_depth: `CorpusConfig.group_depth`.
        uri: of the Examples artifact.
    """
    tasks = [
        _Task(one.file, settings(one.file.source), plan.codes_of(index).tobytes(), group_depth)
        for index, one in enumerate(plan.files)
        if plan.codes_of(index).any()
    ]
    with make_pipeline() as pipeline:
        examples = (
            pipeline
            | "Files" >> beam.Create(tasks, reshuffle=False)
            | "ToExamples" >> beam.FlatMap(_examples).with_outputs(*SPLITS)
        )
        for split in SPLITS:
            target = os.path.join(uri, f"Split-{split}", _DATA)
            _ = examples[split] | f"Write[{split}]" >> beam.io.WriteToTFRecord(target, file_name_suffix=".gz")


def _examples(task: _Task) -> Iterator[Any]:
    records = usable_records(task.file, task.settings)
    place = 0
    for place, record in enumerate(records, start=1):
        if place > len(task.codes):
            break
        code = task.codes[place - 1]
        if code != DROPPED:
            for example in _of_record(record, task):
                yield beam.pvalue.TaggedOutput(SPLITS[code - 1], example)
    if place != len(task.codes):
        raise DataError(
            f"corpus file {task.file.location} has changed since the run began.",
            field=task.file.location,
            remedy="Run again when nobody writes to it any more.",
        )


def _of_record(record: Record, task: _Task) -> Iterator[bytes]:
    """One example, or several of a row whose text is longer than a document may be."""
    path = document_path(task.file, record.row)
    group = os.fsencode(group_of(task.file, record, task.group_depth))
    # A conversation stays whole: its answers are learned in view of all that was said before.
    pieces = [record.text] if record.segments else cut(record.text, task.settings.max_document_bytes)
    for number, piece in enumerate(pieces, start=1):
        name = path if len(pieces) == 1 else f"{path}/{number:05d}"
        features = {
            "text": _texts(piece),
            "source": _texts(task.file.source.encode()),
            "path": _texts(os.fsencode(name)),
            "group": _texts(group),
            "weight": tf.train.Feature(float_list=tf.train.FloatList(value=[task.settings.source.weight])),
        }
        if task.file.span is not None:
            features["span"] = _numbers(task.file.span)
        if record.segments:
            features["segments"] = _texts(*record.segments)
            features["segment_kinds"] = _numbers(*record.kinds)
        example = tf.train.Example(features=tf.train.Features(feature=features))
        yield example.SerializeToString(deterministic=True)


def _texts(*values: bytes) -> tf.train.Feature:
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


def _numbers(*values: int) -> tf.train.Feature:
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
