from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from components.trainer.training_config import TrainingConfig
from components.tuner.parameter_range import ParameterRange
from components.tuner.search_space import configured_values, search_space
from components.tuner.tuning_config import TUNABLE, TuningConfig

RATE = {"learning_rate": {"min": 1e-5, "max": 1e-3, "scale": "log"}}


def _config(**parameters: Any) -> TuningConfig:
    return TuningConfig(parameters=parameters)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "at least 1 item"),
        ({"tokens": {"choices": [1]}}, "`parameters.tokens` cannot be searched; these can: learning_rate, "),
        ({"learning_rate": {"min": 0.1, "max": 2}}, "`parameters.learning_rate`: 2 is no value of it"),
        ({"batch_size": {"min": 0, "max": 4}}, "`parameters.batch_size`: 0 is no value of it"),
        ({"batch_size": {"choices": [1, 2.5]}}, "`parameters.batch_size`: 2.5 is no value of it"),
        ({"beta_1": {"min": 0.5}}, "needs `min` and `max`, or `choices`"),
        ({"beta_1": {"min": 0.5, "max": 0.5}}, "`min` is 0.5, not less than `max` 0.5"),
        ({"beta_1": {"min": 0.5, "max": 0.6, "choices": [0.5]}}, "not both"),
        ({"beta_1": {"min": 0, "max": 0.6, "scale": "log"}}, "`log` scale needs one above 0"),
    ],
)
def test_what_cannot_be_searched_is_named(parameters: dict[str, Any], message: str):
    with pytest.raises(ValidationError, match=message):
        _config(**parameters)


def test_every_tunable_key_is_one_of_the_training_section():
    raw = TrainingConfig().model_dump()
    for name in TUNABLE:
        section = raw
        for part in name.split("."):
            section = section[part]
        assert isinstance(section, int | float), name


def test_the_space_keeps_whole_numbers_whole():
    config = _config(
        **RATE,
        batch_size={"min": 1, "max": 8},
        weight_decay={"choices": [0, 0.1]},
        **{"lora.rank": {"choices": [4, 8]}},
    )
    space = search_space(config)
    for seed in range(20):
        values = {parameter.name: parameter.random_sample(seed) for parameter in space.space}
        assert 1e-5 <= values["learning_rate"] <= 1e-3
        assert isinstance(values["batch_size"], int)
        assert values["batch_size"] in range(1, 9)
        assert values["weight_decay"] in (0.0, 0.1)
        assert isinstance(values["lora.rank"], int)


def test_the_configured_values_are_tried_if_they_are_in_range():
    config = _config(**RATE, batch_size={"min": 1, "max": 8})
    values = configured_values(config, TrainingConfig(learning_rate=1e-4, batch_size=2))
    assert values == {"learning_rate": 1e-4, "batch_size": 2}
    assert configured_values(config, TrainingConfig(learning_rate=1e-2)) is None


def test_a_range_holds_its_ends_and_whole_numbers_only():
    assert [ParameterRange(min=1, max=3).holds(value) for value in (0, 1, 2.5, 3)] == [
        False,
        True,
        False,
        True,
    ]
    assert [ParameterRange(choices=(1, 4)).holds(value) for value in (1, 2)] == [True, False]
    assert ParameterRange(min=1, max=3.0).holds(2.5)
