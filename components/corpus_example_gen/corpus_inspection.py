"""The first pass over a corpus: every file is read once, through Beam, and described."""

from __future__ import annotations

import base64
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import apache_beam as beam
import numpy as np
import tensorflow as tf

from models.contract.errors import DataError
from preprocessing.corpus_files import CorpusFile
from preprocessing.corpus_inventory import DOCUMENT, Documents, FileSummary, inspect_file
from preprocessing.corpus_plan import InspectedFile
from preprocessing.records.bad_row import BadRow
from preprocessing.records.read_settings import ReadSettings

_LETTERS = "letters"


@dataclass(frozen=True, slots=True)
class CorpusInspection:
    """What the first pass found.

    Args:
        files: in the order of the corpus.
        letters: where the broken rows of each file are written: file → name and byte offset.
    """

    files: tuple[InspectedFile, ...]
    letters: dict[int, tuple[str, int]]

    @classmethod
    def run(
        cls,
        files: Sequence[CorpusFile],
        settings: Callable[[str], ReadSettings],
        *,
        make_pipeline: Callable[[], beam.Pipeline],
        prefix: str,
        group_depth: int,
        seed: int,
    ) -> CorpusInspection:
        """Inspect files.

        Args:
            files: the corpus.
            settings: of the files of a source.
            make_pipeline: a Beam pipeline.
            prefix: of files for what is found, in a folder of its own.
            group_depth: `CorpusConfig.group_depth`.
            seed: of the split.

        Raises:
            DataError: a file cannot be read; the first in the order of the corpus.
        """
        tasks = [(number, file, settings(file.source)) for number, file in enumerate(files)]
        with make_pipeline() as pipeline:
            found = (
                pipeline
                | "Files" >> beam.Create(tasks)
                | "Inspect" >> beam.ParDo(_Inspect(group_depth, seed)).with_outputs(_LETTERS, main="found")
            )
            _ = found["found"] | "WriteInventory" >> beam.io.WriteToText(f"{prefix}-inventory")
            _ = found[_LETTERS] | "WriteLetters" >> beam.io.WriteToText(f"{prefix}-letters")
        inspected = tuple(_gather(files, f"{prefix}-inventory"))
        return cls(inspected, _index(f"{prefix}-letters"))

    def dead_letters(self) -> Iterator[dict[str, Any]]:
        """Every broken row in the order of the corpus, read from disk one at a time."""
        for number, one in enumerate(self.files):
            if number not in self.letters:
                continue
            name, offset = self.letters[number]
            with tf.io.gfile.GFile(name, "rb") as lines:
                lines.seek(offset)
                for line in lines:
                    owner, letter = json.loads(line)
                    if owner != number:
                        break
                    yield {
                        "source": one.file.source,
                        "path": one.file.path,
                        **({} if one.file.span is None else {"span": one.file.span}),
                        **letter,
                    }


class _Inspect(beam.DoFn):
    """A file to lines of JSON: its documents, its broken rows and its summary, each with its number."""

    def __init__(self, group_depth: int, seed: int) -> None:
        self._group_depth, self._seed = group_depth, seed

    def process(self, task: tuple[int, CorpusFile, ReadSettings]) -> Iterator[Any]:
        number, file, settings = task
        for found in inspect_file(file, settings, group_depth=self._group_depth, seed=self._seed):
            if isinstance(found, BadRow):
                yield beam.pvalue.TaggedOutput(_LETTERS, json.dumps([number, asdict(found)]))
            elif isinstance(found, FileSummary):
                yield json.dumps([number, "summary", asdict(found)])
            else:
                yield json.dumps([number, "documents", base64.b64encode(found.tobytes()).decode()])


def _gather(files: Sequence[CorpusFile], prefix: str) -> Iterator[InspectedFile]:
    documents: dict[int, list[Documents]] = defaultdict(list)
    summaries: dict[int, FileSummary] = {}
    for name in sorted(tf.io.gfile.glob(f"{prefix}*")):
        with tf.io.gfile.GFile(name) as lines:
            for line in lines:
                number, kind, value = json.loads(line)
                if kind == "summary":
                    summaries[number] = FileSummary(**value)
                else:
                    documents[number].append(np.frombuffer(base64.b64decode(value), DOCUMENT))
    for number, file in enumerate(files):
        summary = summaries[number]
        if summary.fault is not None:
            message, field, remedy = summary.fault
            raise DataError(str(message), field=field, remedy=remedy)
        blocks = [] if summary.bad_text is not None else documents.pop(number, [])
        joined = np.concatenate(blocks) if blocks else np.empty(0, DOCUMENT)
        yield InspectedFile(file, summary, joined)


def _index(prefix: str) -> dict[int, tuple[str, int]]:
    """Where the letters of each file begin; a file's letters lie together."""
    found: dict[int, tuple[str, int]] = {}
    for name in sorted(tf.io.gfile.glob(f"{prefix}*")):
        offset = 0
        with tf.io.gfile.GFile(name, "rb") as lines:
            for line in lines:
                found.setdefault(json.loads(line)[0], (name, offset))
                offset += len(line)
    return found
