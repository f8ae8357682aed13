"""CorpusConfig: what the corpus ExampleGen reads and how it splits it."""

from __future__ import annotations

from datetime import date
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from preprocessing.bad_row_limits import BadRowLimits
from preprocessing.corpus_source import CorpusSource
from preprocessing.leakage_config import LeakageConfig
from preprocessing.near_duplicate_config import NearDuplicateConfig
from preprocessing.span_window import SpanWindow


class CorpusConfig(BaseModel):
    """The corpus: folders of texts, tables and conversations, split into `train` and `eval`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sources: tuple[CorpusSource, ...] = Field(
        min_length=1, description="The folders to read, each with a name of its own."
    )
    spans: SpanWindow = Field(
        default_factory=SpanWindow,
        description="Which spans of the sources that have `{SPAN}` in their path; the newest by default.",
    )
    group_depth: int = Field(
        1,
        ge=1,
        description="Files that share this many leading path parts are one group and go to the same split, "
        "so that near-duplicates do not straddle it. 1: the top-level module or package (`json/tool.py` and "
        "`json.py` are both `json`).",
    )
    eval_fraction: float = Field(
        0.1, gt=0, lt=1, description="Share of the groups that is held out for evaluation."
    )
    seed: int = Field(0, description="Chooses which groups are held out; the same seed, the same split.")
    on_bad_utf8: Literal["fail", "skip"] = Field(
        "fail",
        description="A text file that is not UTF-8 stops the run and is named (`fail`), or is named, counted "
        "and left out (`skip`).",
    )
    max_bad_fraction: float = Field(
        0.01,
        ge=0,
        le=1,
        description="Largest share of broken rows in a source's tables (JSON Lines, CSV, Parquet, TFRecord, "
        "chat). Up to it they are left out and listed in dead_letters.jsonl, beyond it the run stops.",
    )
    max_bad_rows: int | None = Field(
        None, ge=0, description="Largest number of broken rows in the whole corpus; by default any."
    )
    max_document_bytes: int = Field(
        8 * 2**20,
        ge=1024,
        description="A longer text is cut after line ends into documents of at most this size, which stay in "
        "one split; a conversation stays whole.",
    )
    max_row_bytes: int = Field(
        16 * 2**20,
        ge=1024,
        le=2**30,
        description="A longer row of a table is a broken row; no more of it is held in memory.",
    )
    chat_date: date = Field(
        date(2024, 7, 26),
        description="The date that chat templates with `strftime_now` show, the same in every run; by "
        "default that which Llama's templates fall back to.",
    )
    near_duplicates: NearDuplicateConfig = Field(
        default_factory=NearDuplicateConfig, description="What to do with nearly equal documents."
    )
    leakage: LeakageConfig = Field(
        default_factory=LeakageConfig,
        description="What to do with training documents that hold a held-out document's text.",
    )

    @property
    def split(self) -> dict[str, Any]:
        """The settings that decide which groups are held out, by key."""
        fields = {source.name: source.group_field for source in self.sources if source.group_field}
        return {
            "group_depth": self.group_depth,
            "eval_fraction": self.eval_fraction,
            "seed": self.seed,
            # None, and not an empty mapping, equals what models of before there were groups of rows record.
            "group_field": fields or None,
        }

    @property
    def bad_row_limits(self) -> BadRowLimits:
        """How many broken rows the corpus may have."""
        return BadRowLimits(self.max_bad_fraction, self.max_bad_rows)

    @property
    def has_chat(self) -> bool:
        """Whether a source holds conversations."""
        return any(source.format == "chat" for source in self.sources)

    @field_validator("sources")
    @classmethod
    def _names_differ(cls, sources: tuple[CorpusSource, ...]) -> tuple[CorpusSource, ...]:
        names = [source.name for source in sources]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two sources are called {name!r}; give each a name of its own")
        return sources
