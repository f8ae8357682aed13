from __future__ import annotations

from pathlib import Path

import pytest

from models.contract.manifest import Manifest
from models.export import export_package
from models.export_options import ExportOptions
from models.warmup import warmup_calls
from serving.engine.null_steps import null_steps
from serving.runners.local_runner import LocalRunner


@pytest.mark.parametrize("block_size", [1, 2])
def test_the_smallest_blocks_and_the_shortest_context_hold_its_calls(
    tiny_checkpoint: Path, tmp_path: Path, block_size: int
):
    options = ExportOptions(model_name="tiny", block_size=block_size, num_blocks=8, max_length=2)
    package = export_package(tiny_checkpoint, tmp_path / "tiny", options, version=1)
    assert Manifest.load(package).block_size == block_size
    with LocalRunner(package) as runner:
        for signature, inputs in warmup_calls(runner.manifest.signatures):
            # A text and its answer are longer than this context.
            if "text" not in inputs:
                runner.call(signature, **inputs)
        for step in null_steps(runner.manifest.signatures):
            runner.execute(step)
