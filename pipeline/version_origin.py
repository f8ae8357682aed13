"""VersionOrigin: what is known of where a model version came from: one link of the chain of baselines."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VersionOrigin:
    """A pushed version, or at the chain's end the model that training started from.

    Args:
        version: its number, None for the first model.
        model: name it is served under, "" for the first model.
        path: version directory, or checkpoint directory.
        content_hash: of its content.
        run_id: run that made it, "" if none did or none is known.
        pushed: when, Unix seconds; 0 if not known.
        perplexity: measured by that run, None if not known.
        baseline_perplexity: of its baseline on the same text.
        ratio: the first over the second.
        interval: of the ratio, or None.
        labels: labels that stand on it now.
        present: whether it still lies at `path`.
        recorded: whether ML Metadata knows it.
        started_from: version that its training started from, None for the first model.
        untrained: whether the first model had random weights instead of pretrained ones.
    """

    version: int | None
    model: str
    path: str
    content_hash: str
    run_id: str = ""
    pushed: float = 0.0
    perplexity: float | None = None
    baseline_perplexity: float | None = None
    ratio: float | None = None
    interval: tuple[float, float] | None = None
    labels: tuple[str, ...] = ()
    present: bool = True
    recorded: bool = True
    started_from: int | None = None
    untrained: bool = False

    @property
    def name(self) -> str:
        """Short name for people."""
        if self.version is None:
            return "untrained model" if self.untrained else "pretrained model"
        return f"{self.model}:{self.version}"
