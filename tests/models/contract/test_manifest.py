from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from models.contract.errors import PackageError
from models.contract.manifest import MANIFEST_PATH, Manifest, ModelDims, TokenizerInfo
from models.contract.package import resolve_package, versions

MANIFEST = Manifest(
    model="tiny",
    family="llama",
    dims=ModelDims(258, 32, 64, 2, 4, 2, 8),
    max_length=64,
    block_size=8,
    num_blocks=33,
    dtype="float32",
    kv_dtype="float32",
    bos_id=None,
    eos_ids=(257,),
    tokenizer=TokenizerInfo("bytes", "f" * 64, False, (("añ", (97, 195, 177)),)),
    memory_bytes={"weights": 1, "kv": 2, "workspace": 3},
    cores=2,
    xla_buckets=((1, 128),),
)


def _write(base: Path, version: str, text: str = "") -> Path:
    path = base / version / MANIFEST_PATH
    path.parent.mkdir(parents=True)
    path.write_text(text or MANIFEST.to_json())
    return base / version


def test_a_manifest_survives_its_file(tmp_path: Path):
    assert Manifest.load(_write(tmp_path, "1")) == MANIFEST


def test_keys_and_values_of_one_token_fill_their_bytes():
    assert MANIFEST.kv_bytes_per_token == 2 * 2 * 2 * 8 * 4


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"schema_version": 2}, "schema_version"),
        ({"state_kinds": ["cross_kv"]}, "state_kinds"),
        ({"signatures": ["decode"]}, "signatures"),
        ({"block_size": 0}, "block_size"),
        ({"cores": -1}, "cores"),
        ({"block_size": "many"}, "not a complete manifest"),
        ({"signatures": 5}, "not a complete manifest"),
        ({"tokenizer": []}, "not a complete manifest"),
        ({"dims": {"vocab_size": 3}}, "hidden_size"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(change: dict, named: str):
    raw = json.loads(MANIFEST.to_json()) | change
    with pytest.raises(PackageError, match=named):
        Manifest.from_json(json.dumps(raw))


def test_cores_of_an_older_package_are_unknown():
    raw = json.loads(MANIFEST.to_json())
    del raw["cores"]
    assert Manifest.from_json(json.dumps(raw)).cores == 0


def test_a_missing_field_is_named():
    raw = json.loads(MANIFEST.to_json())
    del raw["max_length"]
    with pytest.raises(PackageError, match="max_length"):
        Manifest.from_json(json.dumps(raw))


def test_a_folder_without_a_manifest_is_not_a_package(tmp_path: Path):
    with pytest.raises(PackageError, match="not a Tokenmill model package"):
        Manifest.load(tmp_path)


def test_the_newest_complete_version_is_taken(tmp_path: Path):
    for version in ("9", "10", "2"):
        _write(tmp_path, version)
    (tmp_path / "11").mkdir()
    (tmp_path / "notes").mkdir()
    assert versions(tmp_path) == [2, 9, 10]
    assert resolve_package(tmp_path) == tmp_path / "10"
    assert resolve_package(tmp_path / "9") == tmp_path / "9"


def test_a_missing_package_and_an_empty_base_say_what_to_do(tmp_path: Path):
    with pytest.raises(PackageError, match="does not exist"):
        resolve_package(tmp_path / "absent")
    with pytest.raises(PackageError, match="holds no model package"):
        resolve_package(tmp_path)


def test_every_field_is_documented():
    for field in dataclasses.fields(Manifest):
        assert field.name == "schema_version" or f"{field.name}:" in Manifest.__doc__
