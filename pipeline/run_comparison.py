"""RunComparison: several runs side by side."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from pipeline.run_record import RunRecord


@dataclass(frozen=True, slots=True)
class RunComparison:
    """What differs between runs; each mapping goes from a name to one value per run, in the runs' order.

    Args:
        runs: as they were named; the first is the one the others are compared with.
        settings: keys of the configuration with different values. A value is None where a run lacks the key,
            and where the configuration is not known here.
        unknown_settings: ids of the runs whose configuration is not known here.
        data: what differs of the corpora, by dotted names of the corpus report.
        figures: results, all of them, differing or not.
        seconds: component → wall time, None for one answered from cache or not run.
        same_text: whether all perplexities were measured on the same windows of the same corpus, so that
            they can be compared with each other.
    """

    runs: tuple[RunRecord, ...]
    settings: dict[str, list[Any]]
    unknown_settings: tuple[str, ...]
    data: dict[str, list[Any]]
    figures: dict[str, list[Any]]
    seconds: dict[str, list[float | None]]
    same_text: bool

    def to_json(self) -> dict[str, Any]:
        """Plain values; runs by their ids."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {**values, "runs": [record.run_id for record in self.runs]}
