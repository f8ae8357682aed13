"""Tables of a decode benchmark's result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cli.bench_limits import is_meant_for

if TYPE_CHECKING:
    from pipeline.data_table import DataTable

_COLUMNS = (
    "batch",
    "engine",
    "ms/step",
    "tokens/s",
    "× ours",
    "of limit",
    "first ms",
    "first × ours",
    "same tokens",
)


def bench_tables(result: Mapping[str, Any]) -> list[DataTable]:
    """What people read of it.

    Args:
        result: as `BenchPlan.run` returns it.
    """
    return [_engines(result), _facts(result)]


def _engines(result: Mapping[str, Any]) -> DataTable:
    from pipeline.data_table import DataTable

    table = DataTable(_COLUMNS, right=set(_COLUMNS) - {"engine", "same tokens"}, spare=("first × ours",))
    for line in result["summary"]:
        table.add(
            str(line["batch"]),
            line["engine"],
            f"{line['step_ms']:.1f}",
            f"{line['tokens_per_second']:.0f}",
            _ratio(line["step_ratio"]),
            "–" if line["of_limit"] is None else f"{line['of_limit']:.0%}",
            f"{line['first_ms']:.0f}",
            _ratio(line["first_ratio"]),
            _same(line),
        )
    return table


def _facts(result: Mapping[str, Any]) -> DataTable:
    from pipeline.data_table import DataTable

    table = DataTable(("", " "), header=False, prose=(" ",))
    _add_package(table, result)
    bandwidth = result["machine"]["read_bandwidth"]
    if bandwidth:
        table.add("memory reads", f"{bandwidth / 1e9:.0f} GB/s, the limit of a step: its weights once")
    for batch, speed in result["scaling"].items():
        if batch != "1":
            table.add(f"batch {batch} to batch 1", f"{speed:.1f} × the tokens per second")
    again = result.get("recompute")
    if again:
        table.add(
            "without cache",
            f"{again['ratio']:.1f} × a cached step at {again['live_tokens']} tokens "
            f"({again['recomputed_ms']:.0f} ms to {again['cached_ms']:.1f} ms)",
        )
    for name, reason in result["missing"].items():
        table.add(f"{name} is missing", reason)
    return table


def _add_package(table: DataTable, result: Mapping[str, Any]) -> None:
    """What a package that was measured as it is was made for, and where it ran on something else."""
    package = result.get("package")
    if not package:
        return
    profile = package["profile"]
    table.add("package", f"{package['dtype']} weights, profile {profile}")
    for batch in dict.fromkeys(line["batch"] for line in result["summary"]):
        if not is_meant_for(profile, batch):
            rows = "one row" if profile == "latency" else "many rows"
            table.add(f"batch {batch}", f"ran on profile {profile}, which is for {rows}")


def _ratio(ratio: Mapping[str, float] | None) -> str:
    return "–" if ratio is None else f"{ratio['median']:.2f}"


def _same(line: Mapping[str, Any]) -> str:
    if not line["compared_tokens"]:
        return "–"
    words = f"{line['equal_tokens']} of {line['compared_tokens']}"
    return words if line["first_difference"] is None else f"{words}, differ from {line['first_difference']}"
