"""Tables of a tokenizer benchmark's result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.data_table import DataTable


def tokenizer_tables(result: Mapping[str, Any]) -> list[DataTable]:
    """What people read of it.

    Args:
        result: as `TokenizerBenchPlan.run` returns it.
    """
    makers = {"speed": _speed, "latency": _latency, "growth": _growth, "stages": _stages}
    return [*(make(result) for part, make in makers.items() if part in result), _facts(result)]


def _speed(result: Mapping[str, Any]) -> DataTable:
    from pipeline.data_table import DataTable

    columns = ("tokenizer", "MB/s", "ours to it", "lowest", "highest", "documents with our ids")
    table = DataTable(columns, right=columns[1:], spare=("lowest", "highest"))
    for line in result["speed"]["summary"]:
        ratio = line["ratio"]
        figures = [f"{ratio[key]:.2f} ×" for key in ("median", "low", "high")] if ratio else ["–"] * 3
        equal = f"{line['equal_documents']} of {line['documents']}"
        table.add(line["tokenizer"], f"{line['megabytes_per_second']:.2f}", *figures, equal)
    return table


def _latency(result: Mapping[str, Any]) -> DataTable:
    from pipeline.data_table import DataTable

    names = list(result["latency"][0]["milliseconds"])
    columns = ("one text of", *(f"{name} ms" for name in names))
    table = DataTable(columns, right=columns)
    for line in result["latency"]:
        table.add(f"{line['bytes']:,} B", *(f"{line['milliseconds'][name]:.2f}" for name in names))
    word = result.get("single_word")
    if word:
        seconds = (f"{1e3 * word['seconds'][name]:.1f}" for name in names)
        table.add(f"one word, {word['bytes']:,} B", *seconds)
    return table


def _growth(result: Mapping[str, Any]) -> DataTable:
    from pipeline.data_table import DataTable

    whole = result["settings"]["growth_bytes"]
    columns = ("one text of", f"{whole // 2:,} B, s", f"{whole:,} B, s", "factor", "refused")
    table = DataTable(columns, right=columns[1:4], prose=("refused",), spare=("refused",))
    for line in result["growth"]:
        if "refused" in line:
            table.add(line["family"], "–", "–", "–", line["refused"])
        else:
            half, full = (f"{line[f'{part}_seconds']:.3f}" for part in ("half", "whole"))
            table.add(line["family"], half, full, f"{line['factor']:.2f} ×", "")
    return table


def _stages(result: Mapping[str, Any]) -> DataTable:
    from pipeline.data_table import DataTable

    columns = ("stage", "ms per batch", "share")
    table = DataTable(columns, right=columns[1:])
    whole = sum(result["stages"].values()) or 1.0
    for stage, time in result["stages"].items():
        table.add(stage, f"{time:.1f}", f"{time / whole:.0%}")
    return table


def _facts(result: Mapping[str, Any]) -> DataTable:
    from pipeline.data_table import DataTable

    table = DataTable(("", " "), header=False, prose=(" ",))
    about, machine = result["tokenizer"], result["machine"]
    table.add("tokenizer", f"{about['kind']}, {about['vocab_size']:,} ids")
    table.add("package part", f"{about['package_bytes'] / 1e6:.2f} MB")
    load = f"{machine['load_before']:.1f} before, {machine['load_after']:.1f} after"
    table.add(
        "machine", f"{machine['cores']} cores, load {load}; {result['settings']['threads']} threads each"
    )
    beam = result.get("beam")
    if beam:
        speed = beam["marginal_megabytes_per_second"]
        words = "noise was larger" if speed is None else f"{speed:.2f} MB/s"
        table.add("tf.Transform", f"{words}, what more text costs (DirectRunner)")
    for name, reason in result["missing"].items():
        table.add(f"{name} is missing", reason)
    return table
