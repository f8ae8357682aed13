"""SpanWindow: which spans of a corpus a run reads."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class SpanWindow(BaseModel):
    """The newest spans, or those of a range; TFX's rolling and static ranges."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    newest: int | None = Field(
        None,
        ge=1,
        description="Read this many of the newest spans (a rolling window). Without `first` and `last` "
        "the default is 1, the newest span only, as TFX's ExampleGen reads.",
    )
    first: int | None = Field(None, ge=0, description="Oldest span to read; must be there.")
    last: int | None = Field(
        None, ge=0, description="Newest span to read, which must be there; by default the newest there is."
    )

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if self.newest is not None and self.first is not None:
            raise ValueError(
                f"newest {self.newest} and first {self.first} exclude each other; give a number of newest "
                "spans, or a range"
            )
        if self.first is not None and self.last is not None and self.last < self.first:
            raise ValueError(f"last {self.last} lies before first {self.first}; exchange them")
        return self

    def choose(self, spans: Iterable[int]) -> tuple[int, ...]:
        """The spans of the window, of those there are, ascending.

        `last` with `newest` is the window that ended there: the newest spans up to `last`.
        """
        found = sorted(span for span in set(spans) if self.last is None or span <= self.last)
        if self.first is not None:
            return tuple(span for span in found if span >= self.first)
        if self.newest is None and self.last is not None:
            return tuple(found)
        return tuple(found[-(self.newest or 1) :])

    def absent(self, spans: Collection[int]) -> tuple[int, ...]:
        """`first` and `last`, where they are given and not among the spans there are."""
        return tuple(sorted({end for end in (self.first, self.last) if end is not None} - set(spans)))

    def asked(self, spans: Collection[int]) -> tuple[int, ...]:
        """The spans that should be there: all between `first` and `last`, else those chosen."""
        if self.first is not None and self.last is not None:
            return tuple(range(self.first, self.last + 1))
        return self.choose(spans)

    def __str__(self) -> str:
        """As a message says it."""
        end = "" if self.last is None else f" up to {self.last}"
        if self.first is not None:
            return f"the spans from {self.first}{end or ' on'}"
        if self.newest is None and self.last is not None:
            return f"the spans{end}"
        return "the newest span" + end if (self.newest or 1) == 1 else f"the newest {self.newest} spans{end}"
