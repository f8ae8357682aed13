from __future__ import annotations

import dataclasses
import io
from pathlib import Path

from rich.console import RenderableType

from models.contract.labels import LABELS_FILE, Labels
from pipeline.component_run import ComponentRun
from pipeline.run_record import RunRecord
from pipeline.run_report import components_table, duration, run_table, runs_table
from pipeline.terminal import PlainConsole

PUSHED = RunRecord(
    run_id="20260301-120000-abcd",
    pipeline="demo",
    state="pushed",
    started=0.0,
    seconds=754.0,
    perplexity=4.4,
    baseline_perplexity=4.8,
    ratio=4.4 / 4.8,
    interval=(0.9, 0.93),
    scored=20_951,
    baseline="pretrained model",
    blessed=True,
    servable=True,
    reasons=("It is better.",),
    pushed_version=17,
    pushed_path="models/demo/17",
    report_path="artifacts/9/report.html",
    peak_memory_bytes=6_100_000_000,
    components=(ComponentRun("Trainer", "cached", 0.0, 1.25, {"model": "artifacts/6"}),),
)
FAILED = RunRecord("20260301-110000-abcd", "demo", "failed", 0.0, 3.0, error="no corpus")


def _text(table: RenderableType) -> str:
    console = PlainConsole(file=io.StringIO(), width=200)
    console.print(table)
    return console.file.getvalue()


def test_a_run_from_scratch_tells_its_vocabulary():
    figures = {"size": 8192, "bytes_per_token_train": 3.912, "bytes_per_token_eval": 3.7}
    text = _text(run_table(dataclasses.replace(PUSHED, vocabulary=figures)))
    assert "8,192 tokens, 3.91 bytes per token on the text it was made of, 3.70 held out" in text
    assert "vocabulary" not in _text(run_table(PUSHED))


def test_a_run_s_table_says_what_a_reader_wants_to_know():
    text = _text(run_table(PUSHED))
    for part in (
        "4.800",
        "4.400",
        "-8.33 %",
        "95% interval -10.00 to -7.00 %",
        "20,951",
        "It is better.",
        "17",
        "artifacts/9/report.html",
    ):
        assert part in text
    assert "12 min 34 s" in text
    assert "6.1 GB" in text


def test_a_pushed_version_s_label_is_shown_or_the_way_to_one(tmp_path: Path):
    pushed = dataclasses.replace(PUSHED, pushed_path=str(tmp_path / "17"))
    assert f"tokenmill canary {tmp_path.name}" in _text(run_table(pushed))
    (tmp_path / LABELS_FILE).write_text(Labels(stable=17).to_json())
    text = _text(run_table(pushed))
    assert "stable" in text
    assert "tokenmill canary" not in text


def test_a_failed_run_shows_its_error_and_no_figures():
    text = _text(run_table(FAILED))
    assert "no corpus" in text
    assert "perplexity" not in text


def test_lists_and_components():
    text = _text(runs_table([PUSHED, FAILED]))
    assert text.index(PUSHED.run_id) < text.index(FAILED.run_id)
    assert "artifacts/6" in _text(components_table(PUSHED))


def test_durations():
    assert [duration(s) for s in (3.2, 61, 3600)] == ["3 s", "1 min 01 s", "60 min 00 s"]
