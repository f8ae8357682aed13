"""CorpusExampleGenExecutor: reads the corpus through Beam and writes its splits."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam
import tensorflow as tf
from tfx.components.util import examples_utils
from tfx.dsl.components.base.base_beam_executor import BaseBeamExecutor
from tfx.proto import example_gen_pb2
from tfx.types import artifact_utils, standard_component_specs

from components.corpus_example_gen.corpus_config import CorpusConfig
from components.corpus_example_gen.report_file import REPORT
from models.contract.errors import DataError
from preprocessing.corpus_document import CorpusDocument, cut, read_bytes
from preprocessing.corpus_files import CorpusFile, list_files
from preprocessing.corpus_plan import SPLITS, CorpusPlan

_DATA = "data_tfrecord"


class CorpusExampleGenExecutor(BaseBeamExecutor):
    """Two passes: inspect every file, decide, then write the documents that are kept.

    The decision stands between the passes so that a corpus with a fault is refused before the first
    record is written, with a DataError of its own instead of a worker's traceback.
    """

    def Do(  # noqa: N802
        self, input_dict: dict[str, Any], output_dict: dict[str, Any], exec_properties: dict[str, Any]
    ) -> None:
        """Write tf.Examples with `text`, `source`, `path` and `group` into one folder per split.

        Raises:
            DataError: the corpus is missing, empty, not UTF-8, or cannot be split.
        """
        self._log_startup(input_dict, output_dict, exec_properties)
        config = CorpusConfig.model_validate_json(exec_properties["config"])
        examples = artifact_utils.get_single_instance(output_dict[standard_component_specs.EXAMPLES_KEY])
        plan = CorpusPlan.make(
            self._inspect(list_files(config.sources)),
            group_depth=config.group_depth,
            eval_fraction=config.eval_fraction,
            seed=config.seed,
            on_bad_utf8=config.on_bad_utf8,
        )
        self._write(plan, config, examples.uri)
        examples.split_names = artifact_utils.encode_split_names(list(SPLITS))
        examples_utils.set_payload_format(examples, example_gen_pb2.FORMAT_TF_EXAMPLE)
        examples_utils.set_file_format(examples, "tfrecords_gzip")
        _report(plan, Path(examples.uri))

    def _inspect(self, files: list[CorpusFile]) -> list[CorpusDocument]:
        prefix = os.path.join(self._get_tmp_dir(), "inventory")
        with self._make_beam_pipeline() as pipeline:
            _ = (
                pipeline
                | "Files" >> beam.Create(list(enumerate(files)))
                | "Inspect" >> beam.Map(_inspect_line)
                | "WriteInventory" >> beam.io.WriteToText(prefix)
            )
        lines = (line for name in tf.io.gfile.glob(f"{prefix}*") for line in tf.io.gfile.GFile(name))
        return _in_order(json.loads(line) for line in lines)

    def _write(self, plan: CorpusPlan, config: CorpusConfig, uri: str) -> None:
        with self._make_beam_pipeline() as pipeline:
            for split, documents in plan.splits.items():
                _ = (
                    pipeline
                    | f"Documents[{split}]" >> beam.Create(documents, reshuffle=False)
                    | f"ToExample[{split}]"
                    >> beam.FlatMap(_to_examples, config.group_depth, config.max_document_bytes)
                    | f"WriteSplit[{split}]"
                    >> beam.io.WriteToTFRecord(
                        os.path.join(uri, f"Split-{split}", _DATA), file_name_suffix=".gz"
                    )
                )


def _inspect_line(numbered: tuple[int, CorpusFile]) -> str:
    """A file's number and description, or why it cannot be read, as one line of JSON."""
    number, file = numbered
    try:
        return json.dumps([number, CorpusDocument.inspect(file).to_json(), None])
    except DataError as error:
        return json.dumps([number, None, [error.message, error.field, error.remedy]])


def _in_order(entries: Iterable[tuple[int, str | None, list[str] | None]]) -> list[CorpusDocument]:
    documents = []
    for _, document, fault in sorted(entries, key=lambda entry: entry[0]):
        if document is None:
            message, field, remedy = fault or ["a corpus file cannot be read.", None, None]
            raise DataError(message, field=field, remedy=remedy)
        documents.append(CorpusDocument.from_json(document))
    return documents


def _to_examples(document: CorpusDocument, depth: int, limit: int) -> Iterator[bytes]:
    pieces = cut(read_bytes(document.location), limit)
    for number, piece in enumerate(pieces, start=1):
        path = document.path if len(pieces) == 1 else f"{document.path}#{number:05d}"
        yield _example(
            text=piece,
            source=document.source.encode(),
            path=os.fsencode(path),
            group=os.fsencode(document.group(depth)),
        )


def _example(**values: bytes) -> bytes:
    features = {
        name: tf.train.Feature(bytes_list=tf.train.BytesList(value=[value])) for name, value in values.items()
    }
    example = tf.train.Example(features=tf.train.Features(feature=features))
    return example.SerializeToString(deterministic=True)


def _report(plan: CorpusPlan, folder: Path) -> None:
    report = plan.report()
    with tf.io.gfile.GFile(str(folder / REPORT), "w") as file:
        file.write(json.dumps(report, indent=2) + "\n")
    logging.getLogger(__name__).info("Corpus: %s", report["splits"])
    for name in plan.bad:
        logging.getLogger(__name__).warning(
            "%s is not UTF-8 text (byte %d), left out.", name.location, name.bad_offset
        )
