from __future__ import annotations

import pytest
from pydantic import ValidationError

from components.trainer.hyperparameters import with_hyperparameters, with_values
from components.trainer.training_config import TrainingConfig


def test_a_tuners_values_go_before_the_configured_ones():
    config = TrainingConfig(method="lora", batch_size=4)
    found = {"space": [], "values": {"learning_rate": 3e-4, "lora.rank": 4}}
    changed = with_hyperparameters(config, found)
    assert (changed.learning_rate, changed.lora.rank, changed.batch_size) == (3e-4, 4, 4)
    assert changed == with_values(config, found["values"])
    assert with_hyperparameters(config, None) is config


def test_a_value_that_cannot_be_is_refused():
    with pytest.raises(ValidationError):
        with_values(TrainingConfig(), {"batch_size": 0})
