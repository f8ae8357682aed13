from __future__ import annotations

import dataclasses
import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from components.blessing import Blessing
from components.serving_validator.cached_stream import CachedStream, stream
from components.serving_validator.serving_validator import ServingValidator, compare
from components.serving_validator.stream_comparison import StreamComparison
from components.serving_validator.validation_config import ValidationConfig
from models.checkpoint import load_checkpoint, save_checkpoint
from models.export import export_package
from serving.runners.local_runner import LocalRunner
from tests.components.packages import OPTIONS, export_tiny
from tests.tiny import write_tiny_checkpoint

CONFIG = ValidationConfig(prompts=("def f(a):", "the", "in the on"), max_tokens=14)


def _validate(package: Path, checkpoint: Path) -> Blessing:
    return ServingValidator(package, checkpoint, CONFIG).run()


def test_a_package_that_serves_what_was_trained_is_blessed(random_model: tuple[Path, Path]):
    verdict = _validate(random_model[1], random_model[0])
    assert verdict.blessed, verdict.reasons
    assert "42 of 42 streamed tokens of 3 prompts were compared" in verdict.reasons[0]


def test_other_weights_than_those_trained_are_noticed(tmp_path: Path, random_model: tuple[Path, Path]):
    other = write_tiny_checkpoint(tmp_path / "other", seed=1)
    verdict = _validate(random_model[1], other)
    assert not verdict.blessed
    assert "uncached forward" in verdict.reasons[0]


def test_a_changed_file_is_noticed(tmp_path: Path, random_model: tuple[Path, Path]):
    package = shutil.copytree(random_model[1], tmp_path / "1")
    with (package / "assets.extra" / "tf_serving_warmup_requests").open("ab") as file:
        file.write(b"x")
    verdict = _validate(package, random_model[0])
    assert not verdict.blessed
    assert "hash" in verdict.reasons[0]


def test_a_package_that_does_not_load_is_not_blessed(tmp_path: Path, random_model: tuple[Path, Path]):
    package = shutil.copytree(random_model[1], tmp_path / "1")
    (package / "saved_model.pb").write_bytes(b"broken")
    verdict = _validate(package, random_model[0])
    assert not verdict.blessed
    assert "cannot serve" in verdict.reasons[0]


def test_nan_weights_are_not_blessed(nan_model: tuple[Path, Path]):
    verdict = _validate(nan_model[1], nan_model[0])
    assert not verdict.blessed
    assert "NaN" in verdict.reasons[0]


def test_streams_are_the_same_one_by_one_and_in_a_batch(random_model: tuple[Path, Path]):
    with LocalRunner(random_model[1]) as runner:
        prompts = runner.tokenize(["def f(a):", "the", "in the on"])
        together = stream(runner, prompts, 12)
        alone = [stream(runner, [prompt], 12)[0] for prompt in prompts]
        # Eight rows need more blocks than the package has and must be split.
        many = stream(runner, [prompts[0] + [40] * 20] * 8, 12)
    assert [one.ids for one in together] == [one.ids for one in alone]
    assert len({one.ids for one in many}) == 1


def _logits(rows: list[list[float]]) -> np.ndarray:
    return np.array(rows, np.float64)


def test_the_first_difference_is_named():
    one = CachedStream((5,), (1, 0), (-0.1, -0.1))
    found = compare(one, _logits([[0, 2, 1], [0, 2, 1], [0, 0, 0]]), 1e-3)
    assert found.compared == 1
    assert "token 2 is id 0 in the cached stream, 1 in the uncached" in (found.fault or "")


def test_a_tie_ends_the_comparison():
    one = CachedStream((5,), (0, 2), (-0.1, -0.1))
    tie = compare(one, _logits([[2, 2.0005, 1], [0, 2, 1], [0, 0, 0]]), 1e-3)
    assert tie == StreamComparison(0)
    assert compare(one, _logits([[2, 2.0050, 1], [0, 2, 1], [0, 0, 0]]), 1e-3).fault is not None


def test_tokens_before_a_tie_count_and_those_after_it_do_not():
    one = CachedStream((5,), (1, 0, 2), (-0.1, -0.1, -0.1))
    rows = _logits([[0, 2, 1], [1, 1, 0], [0, 2, 1], [0, 0, 0]])
    assert compare(one, rows, 1e-3) == StreamComparison(1)


def test_nan_is_a_difference_even_if_the_ids_agree():
    one = CachedStream((5,), (1,), (math.nan,))
    assert "NaN" in (compare(one, _logits([[0, 2, 1], [0, 0, 0]]), 1e-3).fault or "")


def test_a_model_that_prefers_no_token_is_not_blessed(tmp_path: Path):
    checkpoint = write_tiny_checkpoint(tmp_path / "random", tied=False)
    decoder = load_checkpoint(checkpoint)
    for variable in decoder.trainable_variables:
        if "head" in variable.path:
            variable.assign(np.zeros(variable.shape))
    save_checkpoint(decoder, tmp_path / "flat", like=checkpoint)
    verdict = _validate(export_tiny(tmp_path / "flat", tmp_path / "package"), tmp_path / "flat")
    assert not verdict.blessed
    assert "None of the 42 streamed tokens could be compared" in verdict.reasons[0]


def test_the_margin_has_an_upper_bound():
    with pytest.raises(ValidationError, match=r"less than or equal to 0\.1"):
        ValidationConfig(margin=0.2)


@pytest.mark.parametrize(
    ("dtype", "profile", "told"),
    [
        (
            "bfloat16",
            "off",
            "of 42 streamed tokens of 3 prompts were compared and equal the uncached network",
        ),
        ("int8", "latency", "of 56 streamed tokens of 4 streams, with and without XLA, were compared"),
        ("int8", "throughput", "of 84 streamed tokens of 6 streams, with and without XLA, were compared"),
    ],
)
def test_quantised_and_compiled_packages_are_held_against_the_weights_as_they_are_rounded(
    tmp_path: Path, random_model: tuple[Path, Path], dtype: str, profile: str, told: str
):
    options = dataclasses.replace(OPTIONS, dtype=dtype, profile=profile)
    package = export_package(random_model[0], tmp_path / "base", options, version=1)
    verdict = _validate(package, random_model[0])
    assert verdict.blessed, verdict.reasons
    assert told in verdict.reasons[0]
    assert f"its weights rounded to {dtype}" in verdict.reasons[0]
    other = write_tiny_checkpoint(tmp_path / "other", seed=1)
    assert not _validate(package, other).blessed
