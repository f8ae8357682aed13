from __future__ import annotations

from dataclasses import replace

from components.tuner.tuning_config import TuningConfig
from pipeline.config import RunConfig
from pipeline.run_estimate import RunEstimate, measure_gigaflops
from tests.tiny import TINY

CONFIG = RunConfig.from_raw(
    {
        "model": {"name": "tiny", "checkpoint": "checkpoint"},
        "corpus": {"sources": [{"name": "text", "path": "corpus"}]},
    }
)
LARGE = replace(TINY, hidden_size=512, intermediate_size=1024, num_layers=8)


def _with(**training: int | str) -> RunConfig:
    return CONFIG.model_copy(update={"training": CONFIG.training.model_copy(update=training)})


def test_more_work_takes_longer_and_a_faster_machine_less():
    base = RunEstimate.make(CONFIG, LARGE, 50)
    assert RunEstimate.make(_with(tokens=700_000), LARGE, 50).seconds > base.seconds
    assert RunEstimate.make(CONFIG, LARGE, 100).seconds < base.seconds


def test_a_larger_batch_or_model_needs_more_memory():
    base = RunEstimate.make(CONFIG, LARGE, 50)
    assert RunEstimate.make(_with(batch_size=8), LARGE, 50).memory_bytes > base.memory_bytes
    assert RunEstimate.make(CONFIG, TINY, 50).memory_bytes < base.memory_bytes
    assert base.disk_bytes >= 5 * 4 * LARGE.num_parameters


def test_a_shortage_is_said():
    huge = replace(RunEstimate.make(CONFIG, LARGE, 50), memory_bytes=10**15, disk_bytes=10**18)
    lines = "\n".join(huge.lines(CONFIG))
    assert "may not fit into memory" in lines
    assert "may not fit on the disk" in lines
    assert len(RunEstimate.make(CONFIG, TINY, 50).lines(CONFIG)) == 2


def test_the_measured_speed_is_plausible():
    assert 0.1 < measure_gigaflops(seconds=0.02) < 1e5


def test_adapters_take_less_time_and_trials_more():
    base = RunEstimate.make(CONFIG, LARGE, 50).seconds
    assert RunEstimate.make(_with(method="lora"), LARGE, 50).seconds < base
    search = TuningConfig(parameters={"learning_rate": {"min": 1e-5, "max": 1e-3, "scale": "log"}}, trials=3)
    assert RunEstimate.make(CONFIG.model_copy(update={"tuning": search}), LARGE, 50).seconds > base
