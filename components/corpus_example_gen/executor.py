"""CorpusExampleGenExecutor: reads the corpus through Beam and writes its splits."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorflow as tf
from tfx.components.util import examples_utils
from tfx.dsl.components.base.base_beam_executor import BaseBeamExecutor
from tfx.proto import example_gen_pb2
from tfx.types import artifact_utils, standard_component_specs

from components.corpus_example_gen.corpus_config import CorpusConfig
from components.corpus_example_gen.corpus_inspection import CorpusInspection
from components.corpus_example_gen.example_writer import write_examples
from components.corpus_example_gen.report_file import DEAD_LETTERS, REPORT
from preprocessing.corpus_files import list_files, spans_left_out, spans_missing
from preprocessing.corpus_plan import SPLITS, CorpusPlan
from preprocessing.corpus_report import bad_row_counts, corpus_report
from preprocessing.records.read_settings import ReadSettings
from preprocessing.similar_documents import drop_leaks, drop_near_duplicates

SPAN = "span"
"""Custom property of the artifact: its newest span, as TFX's resolvers read it."""

DEAD_LETTER_COUNT = "dead_letters"
"""Custom property of the artifact: how many broken rows were left out."""

_SHOWN = 10

_log = logging.getLogger(__name__)


class CorpusExampleGenExecutor(BaseBeamExecutor):
    """Two passes: inspect every file, decide, then write the documents that are kept.

    The decision stands between the passes so that a corpus with a fault is refused before the first
    record is written, with a DataError of its own instead of a worker's traceback. Memory follows the
    number of documents, some dozen bytes each, not their texts.
    """

    def Do(  # noqa: N802
        self, input_dict: dict[str, Any], output_dict: dict[str, Any], exec_properties: dict[str, Any]
    ) -> None:
        """Write tf.Examples into one folder per split, the report and the dead letters.

        An example has `text`, `source`, `path` and `group` (bytes), `weight` (float), of a source with
        spans `span` (int64), and of a conversation `segments` (bytes) and `segment_kinds` (int64).

        Raises:
            DataError: the corpus is missing, damaged, empty, has too many broken rows or leaks, or
                cannot be split.
            ConfigError: it has conversations, and the model has no chat template.
        """
        self._log_startup(input_dict, output_dict, exec_properties)
        config = CorpusConfig.model_validate_json(exec_properties["config"])
        settings = _settings(config, exec_properties.get("chat_template") or None)
        examples = artifact_utils.get_single_instance(output_dict[standard_component_specs.EXAMPLES_KEY])
        inspection = self._inspect(config, settings)
        plan = _decide(config, settings, inspection)
        write_examples(
            plan,
            settings,
            make_pipeline=self._make_beam_pipeline,
            group_depth=config.group_depth,
            uri=examples.uri,
        )
        report = _report(config, plan)
        _write_side_files(Path(examples.uri), report, inspection)
        _describe(examples, report)

    def _inspect(self, config: CorpusConfig, settings: Callable[[str], ReadSettings]) -> CorpusInspection:
        return CorpusInspection.run(
            list_files(config.sources, config.spans),
            settings,
            make_pipeline=self._make_beam_pipeline,
            prefix=os.path.join(self._get_tmp_dir(), "corpus"),
            group_depth=config.group_depth,
            seed=config.seed,
        )


def _settings(config: CorpusConfig, chat_template: str | None) -> Callable[[str], ReadSettings]:
    of_source = {
        source.name: ReadSettings(source, config.max_document_bytes, config.max_row_bytes, chat_template)
        for source in config.sources
    }
    return of_source.__getitem__


def _decide(
    config: CorpusConfig, settings: Callable[[str], ReadSettings], inspection: CorpusInspection
) -> CorpusPlan:
    shown = (
        f"{letter['source']}/{letter['path']}#{letter['row']}: {letter['detail']}"
        for letter in inspection.dead_letters()
    )
    config.bad_row_limits.check(bad_row_counts(inspection.files), shown)
    plan = CorpusPlan.make(
        inspection.files,
        group_depth=config.group_depth,
        eval_fraction=config.eval_fraction,
        on_bad_utf8=config.on_bad_utf8,
    )
    drop_near_duplicates(plan, config.near_duplicates, settings)
    drop_leaks(plan, config.leakage, settings)
    return plan


def _report(config: CorpusConfig, plan: CorpusPlan) -> dict[str, Any]:
    actions = {
        name: {"action": section.action, "threshold": section.threshold}
        for name, section in (("near_duplicates", config.near_duplicates), ("leaks", config.leakage))
    }
    left_out = spans_left_out(config.sources, [one.file for one in plan.files])
    missing = spans_missing(config.sources, config.spans)
    for source, spans in missing.items():
        _log.warning("corpus source %s lacks spans %s of %s.", source, spans, config.spans)
    return corpus_report(
        plan,
        actions=actions,
        spans_left_out=left_out,
        spans_asked=str(config.spans),
        spans_missing=missing,
    )


def _write_side_files(folder: Path, report: dict[str, Any], inspection: CorpusInspection) -> None:
    with tf.io.gfile.GFile(str(folder / REPORT), "w") as file:
        file.write(json.dumps(report, indent=2) + "\n")
    _log.info("Corpus: %s", report["splits"])
    with tf.io.gfile.GFile(str(folder / DEAD_LETTERS), "w") as file:
        for number, letter in enumerate(inspection.dead_letters()):
            file.write(json.dumps(letter, ensure_ascii=False) + "\n")
            if number < _SHOWN:
                _log.warning(
                    "%s/%s row %d left out: %s",
                    letter["source"],
                    letter["path"],
                    letter["row"],
                    letter["detail"],
                )


def _describe(examples: Any, report: dict[str, Any]) -> None:
    examples.split_names = artifact_utils.encode_split_names(list(SPLITS))
    examples_utils.set_payload_format(examples, example_gen_pb2.FORMAT_TF_EXAMPLE)
    examples_utils.set_file_format(examples, "tfrecords_gzip")
    examples.set_int_custom_property(DEAD_LETTER_COUNT, report["dead_letters"]["count"])
    if report["spans"] is not None:
        examples.set_int_custom_property(SPAN, report["spans"]["newest"])
