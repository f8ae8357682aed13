"""Releases as tables and sentences for people."""

from __future__ import annotations

from rich.text import Text

from models.contract.release_record import CANARY, ReleaseRecord
from pipeline.data_table import DataTable
from pipeline.release_status import ReleaseStatus, VersionStatus
from pipeline.terminal import styled

_COLOURS = {"stable": "green", CANARY: "yellow"}


def versions_table(status: ReleaseStatus) -> DataTable:
    """One line per version, newest first."""
    table = DataTable(
        ("version", "label", "traffic", "blessed", "perplexity", "run", "content"),
        right=("traffic", "perplexity"),
        prose=("blessed",),
        spare=("content",),
        title=f"{status.model} in {status.directory.parent}",
    )
    for version in status.versions:
        table.add(*_version_cells(version))
    return table


def releases_table(status: ReleaseStatus, most: int) -> DataTable:
    """The latest changes, newest first.

    Args:
        status: whose history.
        most: lines shown at most.
    """
    table = DataTable(("#", "time", "change", "by", "reason"), prose=("change", "by", "reason"))
    for record in status.log.records[::-1][:most]:
        table.add(str(record.sequence), record.time, describe(record), record.who, record.reason)
    return table


def describe(record: ReleaseRecord) -> str:
    """One change in words, e.g. `promote: stable 1795974558 → 1795980000`."""
    unblessed = "" if record.blessed or record.version is None else " (not blessed)"
    if not record.label:
        return f"{record.action} {record.version}{unblessed}"
    before = "–" if record.from_version is None else str(record.from_version)
    after = "–" if record.to_version is None else str(record.to_version)
    share = f" with {record.weight:.3g} of the traffic" if record.weight is not None else ""
    return f"{record.action}: {record.label} {before} → {after}{share}{unblessed}"


def _version_cells(version: VersionStatus) -> tuple[str | Text, ...]:
    return (
        str(version.version),
        styled((version.label, _COLOURS.get(version.label, ""))),
        f"{version.traffic:.0%}" if version.label else "",
        styled((version.problem, "red")) if version.problem else "yes" if version.blessed else "no",
        "–" if version.perplexity is None else f"{version.perplexity:.3f}",
        version.run_id or "–",
        version.content_hash[:12],
    )
