"""The search itself, with trainings that are formulas."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from keras_tuner.errors import FatalError

from components.trainer.training_config import TrainingConfig
from components.tuner.training_tuner import TrainingTuner
from components.tuner.tuning_config import TuningConfig
from models.contract.errors import NotBlessedError

RANGE = {"learning_rate": {"min": 1e-4, "max": 1e-1, "scale": "log"}}


class _Search:
    """A search over a formula of the learning rate, remembering what was tried."""

    def __init__(self, folder: Path, **changes: Any) -> None:
        self.tried: list[float] = []
        self.stop_after = changes.pop("stop_after", None)
        self.diverge_above = changes.pop("diverge_above", 1.0)
        config = TuningConfig(**{"trials": 6, "parameters": RANGE, **changes})
        training = TrainingConfig(learning_rate=1e-3)
        self.tuner = TrainingTuner(config, training, folder, "search", self._loss)

    def _loss(self, config: TrainingConfig) -> float:
        if len(self.tried) == self.stop_after:
            raise KeyboardInterrupt
        self.tried.append(config.learning_rate)
        if config.learning_rate > self.diverge_above:
            raise NotBlessedError("training loss became nan")
        return abs(config.learning_rate - 0.02)

    def run(self) -> float:
        self.tuner.search(verbose=0)
        return float(self.tuner.get_best_hyperparameters()[0].values["learning_rate"])


@pytest.mark.parametrize("algorithm", ["random", "bayesian"])
def test_the_best_of_all_trials_is_found_and_the_first_is_the_configured_one(tmp_path: Path, algorithm: str):
    search = _Search(tmp_path, algorithm=algorithm)
    best = search.run()
    assert len(set(search.tried)) == 6
    assert search.tried[0] == 1e-3
    assert best == min(search.tried, key=lambda rate: abs(rate - 0.02))


def test_the_seed_decides_what_is_tried(tmp_path: Path):
    tried = []
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        search = _Search(tmp_path / name, seed=seed)
        search.run()
        tried.append(search.tried)
    assert tried[0] == tried[1] != tried[2]


def test_an_interrupted_search_goes_on_with_the_trial_it_was_in(tmp_path: Path):
    whole = _Search(tmp_path / "whole")
    whole.run()
    first = _Search(tmp_path / "cut", stop_after=3)
    with pytest.raises(KeyboardInterrupt):
        first.run()
    second = _Search(tmp_path / "cut")
    best = second.run()
    assert first.tried + second.tried == whole.tried
    assert best in whole.tried


def test_a_search_whose_files_are_torn_starts_anew(tmp_path: Path):
    _Search(tmp_path).run()
    (oracle,) = tmp_path.rglob("oracle.json")
    oracle.write_text(oracle.read_text()[:100])
    again = _Search(tmp_path)
    again.run()
    assert len(again.tried) == 6


def test_trials_that_diverge_are_no_result(tmp_path: Path):
    search = _Search(tmp_path / "some", diverge_above=5e-3)
    assert search.run() <= 5e-3 < max(search.tried)
    with pytest.raises(
        NotBlessedError, match=r"none of the 6 trials had a finite loss.*Lower `learning_rate`"
    ):
        _Search(tmp_path / "all", diverge_above=0).run()


def test_any_other_fault_ends_the_search(tmp_path: Path):
    search = _Search(tmp_path)

    def broken(config: TrainingConfig) -> float:
        raise OSError("no space left on device")

    search.tuner._loss_of = broken
    with pytest.raises(FatalError, match="no space left"):
        search.run()
