"""CorpusConfig: what the corpus ExampleGen reads and how it splits it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from preprocessing.corpus_source import CorpusSource


class CorpusConfig(BaseModel):
    """The corpus: folders of UTF-8 text files, split into `train` and `eval`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sources: tuple[CorpusSource, ...] = Field(
        min_length=1, description="The folders to read, each with a name of its own."
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
        description="A file that is not UTF-8 text stops the run and is named (`fail`), or is named, counted "
        "and left out (`skip`).",
    )
    max_document_bytes: int = Field(
        8 * 2**20,
        ge=1024,
        description="A longer file is cut after line ends into documents of at most this size, which stay in "
        "one split.",
    )

    @property
    def split(self) -> dict[str, int | float]:
        """The settings that decide which groups are held out, by key."""
        return {"group_depth": self.group_depth, "eval_fraction": self.eval_fraction, "seed": self.seed}

    @field_validator("sources")
    @classmethod
    def _names_differ(cls, sources: tuple[CorpusSource, ...]) -> tuple[CorpusSource, ...]:
        names = [source.name for source in sources]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two sources are called {name!r}; give each a name of its own")
        return sources
