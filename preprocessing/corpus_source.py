"""CorpusSource: one folder of files that belongs to a corpus."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from preprocessing.corpus_format import FileFormat, detect_format
from preprocessing.glob_filter import glob_fault
from preprocessing.span_paths import has_spans, span_fault

STDLIB = "{stdlib}"
"""In a source's path: the standard library's folder of the running interpreter."""

FIELDS = ("text_field", "id_field", "group_field")
"""Options that name a field of a row."""

HIDDEN = ("**/.*", "**/.*/**")


class CorpusSource(BaseModel):
    """Where one part of the corpus lies and which of its files belong to it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$",
        description="Name of this part in reports; the evaluation shows one slice per source.",
    )
    path: str = Field(
        min_length=1,
        description="Folder of files, or one file; links to folders below it are not "
        "followed. `~` is expanded; `{stdlib}` stands for the standard "
        "library of the running Python interpreter. `{SPAN}` (or `{YYYY}`, `{MM}` and `{DD}`) stands for "
        "the number of a span, `{VERSION}` for its version, as in TFX: of each span the newest version is "
        "read, of the spans those of `corpus.spans`.",
    )
    include: tuple[str, ...] = Field(
        ("**/*",),
        min_length=1,
        description="Globs of the files to read, relative to the folder: `*` stays within one path part, "
        "`**` matches any number of them.",
    )
    exclude: tuple[str, ...] = Field(
        HIDDEN, description="Globs of files to leave out; by default hidden files and folders."
    )
    format: Literal["auto", "text", "jsonl", "chat", "csv", "parquet", "tfrecord"] = Field(
        "auto",
        description="`text`: a file is one document. `jsonl`, `csv` (with a header line), `parquet` and "
        "`tfrecord` (of tf.Examples): a row is one document. `chat`: JSON Lines or Parquet of "
        "conversations, rendered by the model's chat template; only the assistant's answers are learned. "
        "`auto`: by the file's suffix, `text` for unknown ones; chat is never guessed, `.json` is refused. "
        "gzipped files are unpacked.",
    )
    text_field: str | None = Field(
        None,
        min_length=1,
        description="Field or column with a row's text; `text` by default, `messages` for chat.",
    )
    id_field: str | None = Field(
        None,
        min_length=1,
        description="Field that identifies a row within the source: of rows with one id only the last is "
        "kept, so that a later span corrects an earlier one.",
    )
    group_field: str | None = Field(
        None,
        min_length=1,
        description="Field whose value keeps rows together: rows of one value go to the same split. "
        "Without it each text is a group of its own.",
    )
    delimiter: str | None = Field(
        None,
        min_length=1,
        max_length=1,
        description="Character between the columns of CSV files; a comma by default, a tab for .tsv.",
    )
    weight: float = Field(
        1.0,
        gt=0,
        le=100,
        allow_inf_nan=False,
        description="How often training draws this source's documents: 2 twice as often, 0.5 half of them "
        "per pass; 100 at most, as each draw of a pass takes memory.",
    )

    @field_validator("path")
    @classmethod
    def _spans_are_readable(cls, path: str) -> str:
        if fault := span_fault(path):
            raise ValueError(f"path {path!r} {fault}")
        return path

    @field_validator("delimiter")
    @classmethod
    def _delimiter_delimits(cls, delimiter: str | None) -> str | None:
        if delimiter in ('"', "\n", "\r", "\0"):
            raise ValueError(f"delimiter {delimiter!r} cannot separate columns; use e.g. ',' or ';'")
        return delimiter

    @field_validator("include", "exclude")
    @classmethod
    def _relative(cls, globs: tuple[str, ...]) -> tuple[str, ...]:
        for glob in globs:
            if not glob.strip("/. ") or glob.startswith(("/", "~")) or ".." in glob.split("/"):
                raise ValueError(f"glob {glob!r} must be relative to the source's folder, e.g. '**/*.py'")
            if fault := glob_fault(glob):
                raise ValueError(f"glob {glob!r} {fault}")
        return globs

    @model_validator(mode="after")
    def _options_fit_the_format(self) -> Self:
        useless = [name for name in FIELDS if self.format == "text" and getattr(self, name) is not None]
        if self.delimiter is not None and self.format not in ("auto", "csv"):
            useless.append("delimiter")
        if useless:
            raise ValueError(f"{useless[0]} has no meaning with format: {self.format}; remove one of them")
        return self

    @property
    def root(self) -> Path:
        """The folder or file as an absolute path, placeholders of spans still in it."""
        return Path(self.path.replace(STDLIB, sysconfig.get_path("stdlib"))).expanduser().absolute()

    @property
    def has_spans(self) -> bool:
        """Whether the source has spans."""
        return has_spans(self.path)

    def format_of(self, path: str) -> FileFormat:
        """The format of one of its files."""
        return detect_format(path) if self.format == "auto" else self.format

    def field_of(self, file_format: str) -> str:
        """The field that holds the text of a row."""
        return self.text_field or ("messages" if file_format == "chat" else "text")
