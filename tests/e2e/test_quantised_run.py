"""A run whose package has int8 weights: the gate holds it against the weights it trained."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from models.contract.errors import NotBlessedError
from models.contract.manifest import Manifest
from tests.e2e.mill import make_mill, tokenmill, tokenmill_json

EXPORT = {"max_length": 96, "kv_tokens": 384, "block_size": 8, "dtype": "int8"}


def test_a_package_is_pushed_if_it_lost_little_and_not_if_it_lost_more_than_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    mill = make_mill(tmp_path)
    tokenmill("run", "--config", str(mill.write("good", export=EXPORT)))
    (version,) = mill.versions()
    manifest = Manifest.load(mill.push_base / version)
    assert (manifest.dtype, manifest.evaluation["blessed"]) == ("int8", True)
    strict = mill.write("strict", export=EXPORT, gate={"max_fraction": 0.5, "max_parent_ratio": 0.5})
    with pytest.raises(NotBlessedError, match=r"With int8 weights perplexity is .*gate\.max_parent_ratio"):
        tokenmill("run", "--config", str(strict))
    assert mill.versions() == [version]
    answer = tokenmill_json(capfd, "generate", "--package", str(mill.push_base / version), "def function_")
    assert json.dumps(answer)
