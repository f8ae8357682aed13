from __future__ import annotations

from pathlib import Path

from components.baseline.baseline import Baseline
from components.perplexity_evaluator.vocabulary_warning import vocabulary_warning
from tests.components.packages import bare_package


def _baseline(foreign: str) -> Baseline:
    return Baseline("untrained", "/p", "hash", "Because.", foreign=foreign)


def test_a_version_with_another_vocabulary_is_named_with_both_figures(tmp_path: Path):
    package = bare_package(tmp_path / "3", evaluation={"blessed": True, "bits_per_byte": 1.25})
    (warning,) = vocabulary_warning(_baseline(str(package)), 1.5)
    assert "version 3 was blessed with another vocabulary" in warning
    assert "1.500 bits per byte; version 3 had 1.250" in warning


def test_without_such_a_version_or_its_figure_nothing_is_made_up(tmp_path: Path):
    assert vocabulary_warning(_baseline(""), 1.5) == ()
    (warning,) = vocabulary_warning(_baseline(str(tmp_path / "4")), 1.5)
    assert warning.endswith("1.500 bits per byte.")
