"""Releases as tables and sentences for people."""

from __future__ import annotations

from rich import box
from rich.table import Table

from models.contract.release_record import CANARY, ReleaseRecord
from pipeline.release_status import ReleaseStatus, VersionStatus

_COLOURS = {"stable": "green", CANARY: "yellow"}


def versions_table(status: ReleaseStatus) -> Table:
    """One line per version, newest first."""
    table = Table(title=f"{status.model} in {status.directory.parent}", box=box.SIMPLE, title_justify="left")
    for name in ("version", "label", "traffic", "blessed", "perplexity", "run", "content"):
        table.add_column(name, justify="right" if name in ("traffic", "perplexity") else "left")
    for version in status.versions:
        table.add_row(*_version_cells(version))
    return table


def releases_table(status: ReleaseStatus, most: int) -> Table:
    """The latest changes, newest first.

    Args:
        status: whose history.
        most: lines shown at most.
    """
    table = Table(box=box.SIMPLE)
    for name in ("#", "time", "change", "by", "reason"):
        table.add_column(name, overflow="fold")
    for record in status.log.records[::-1][:most]:
        table.add_row(str(record.sequence), record.time, describe(record), record.who, record.reason)
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


def _version_cells(version: VersionStatus) -> tuple[str, ...]:
    colour = _COLOURS.get(version.label)
    return (
        str(version.version),
        f"[{colour}]{version.label}[/]" if colour else version.label,
        f"{version.traffic:.0%}" if version.label else "",
        f"[red]{version.problem}[/]" if version.problem else "yes" if version.blessed else "no",
        "–" if version.perplexity is None else f"{version.perplexity:.3f}",
        version.run_id or "–",
        version.content_hash[:12],
    )
