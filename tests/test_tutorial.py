"""The example notebook runs from top to bottom, on a tiny model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from pipeline.run_registry import RunRegistry
from tests.tiny import write_tiny_checkpoint

NOTEBOOK = Path(__file__).resolve().parents[1] / "docs" / "tutorial.ipynb"
SETTINGS = """
from pathlib import Path

FOLDER = Path("tutorial")
CHECKPOINT = {checkpoint!r}
SETTINGS = {{
    "training": {{"tokens": 12_000, "sequence_length": 128, "batch_size": 4, "learning_rate": 5e-3}},
    "evaluation": {{"context": 64, "batch_size": 16, "samples": {{"prompts": 2, "max_tokens": 4}}}},
    "export": {{"max_length": 96, "kv_tokens": 384, "block_size": 8}},
    "gate": {{"max_fraction": 1.0}},
    "validation": {{"max_tokens": 3, "prompts": ["The mill"]}},
}}
MORE_TOKENS = 24_000
"""


def _read() -> Any:
    return nbformat.read(NOTEBOOK, as_version=4)


def test_the_notebook_is_stored_without_outputs():
    cells = [cell for cell in _read().cells if cell.cell_type == "code"]
    assert [cell.outputs for cell in cells] == [[]] * len(cells)
    assert {cell.execution_count for cell in cells} == {None}


@pytest.mark.slow
def test_the_notebook_runs_from_top_to_bottom(tmp_path: Path):
    notebook = _read()
    (settings,) = (cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", ()))
    settings.source = SETTINGS.format(checkpoint=str(write_tiny_checkpoint(tmp_path / "checkpoint")))
    NotebookClient(notebook, timeout=500, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = {cell.id: str(cell.get("outputs")) for cell in notebook.cells}
    assert "did you mean `learning_rate`" in shown["config"]
    assert "unchanged {" in shown["again"]
    assert "training.tokens" in shown["compare"]
    records = RunRegistry.of_workdir(tmp_path / "tutorial" / ".tokenmill").list()
    assert [record.state for record in records] == ["pushed", "unchanged", "pushed"]
    assert str(records[0].pushed_version) in shown["lineage"]
    (report,) = re.findall(r"/[^ \\]+/report\.html", shown["verdict"])
    assert Path(report).is_file()
