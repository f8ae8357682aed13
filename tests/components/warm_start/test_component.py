"""The WarmStart node, run by TFX: what it writes, and when its answer is used again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tfx import v1 as tfx

from components.metadata.metadata_connection import MetadataConnection
from components.warm_start.component import warm_start
from models.checkpoint import load_checkpoint
from models.checkpoint_files import write_json
from models.contract.errors import PackageError
from pipeline.local_runner import as_tokenmill_error
from preprocessing.tokenizers import load_tokenizer
from preprocessing.tokenizers.load import read_spec
from tests.components.packages import bare_package
from tests.tiny import CHAT_TEMPLATE, write_tiny_checkpoint


class Place:
    """A folder with a pretrained checkpoint, a push directory and the runs' metadata."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pretrained = write_tiny_checkpoint(folder / "pretrained")
        self.push_base = folder / "push"
        self.metadata = MetadataConnection.sqlite(folder / "metadata.sqlite")

    def node(self) -> Any:
        return warm_start(push_base=self.push_base, pretrained=self.pretrained, metadata=self.metadata)

    def run(self, node: Any = None) -> list[Path]:
        """Run the node; returns the checkpoints that all runs together have written, oldest first."""
        pipeline = tfx.dsl.Pipeline(
            pipeline_name="start",
            pipeline_root=str(self.folder / "artifacts"),
            components=[node or self.node()],
            enable_cache=True,
            metadata_connection_config=tfx.orchestration.metadata.sqlite_metadata_connection_config(
                str(self.folder / "metadata.sqlite")
            ),
        )
        tfx.orchestration.LocalDagRunner().run(pipeline)
        folders = (self.folder / "artifacts" / "WarmStart" / "start").iterdir()
        return [folder / "Format-Serving" for folder in sorted(folders, key=lambda folder: int(folder.name))]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_its_answer_is_used_again_until_something_newer_is_blessed(place: Place, trained: tuple[Path, Path]):
    assert len(place.run()) == 1
    (first,) = place.run()
    expected = load_checkpoint(place.pretrained).embedding.numpy()
    np.testing.assert_array_equal(load_checkpoint(first).embedding.numpy(), expected)
    checkpoint, package = trained
    shutil.copytree(package, place.push_base / "1")
    _, second = place.run()
    expected = load_checkpoint(checkpoint).embedding.numpy()
    np.testing.assert_array_equal(load_checkpoint(second).embedding.numpy(), expected)
    assert len(place.run()) == 2


def test_template_and_end_ids_are_the_pretrained_checkpoints_as_they_are_now(
    place: Place, trained: tuple[Path, Path]
):
    shutil.copytree(trained[1], place.push_base / "1")
    place.run()
    (place.pretrained / "chat_template.jinja").write_text(CHAT_TEMPLATE + "changed")
    write_json(place.pretrained / "generation_config.json", {"eos_token_id": [0, 2]})
    _, second = place.run()
    start, spec = load_checkpoint(second), read_spec(second)
    assert start.config.eos_ids == spec.eos_ids == (0, 2)
    assert spec.chat_template == CHAT_TEMPLATE + "changed"
    expected = load_checkpoint(trained[0]).embedding.numpy()
    np.testing.assert_array_equal(start.embedding.numpy(), expected)
    # Without the file config.json decides, which is then the pretrained checkpoint's too.
    (place.pretrained / "generation_config.json").unlink()
    config = json.loads((place.pretrained / "config.json").read_text())
    write_json(place.pretrained / "config.json", {**config, "eos_token_id": 1})
    third = place.run()[-1]
    assert load_checkpoint(third).config.eos_ids == (1,)


def test_files_that_change_under_a_run_are_refused(place: Place, trained: tuple[Path, Path]):
    shutil.copytree(trained[1], place.push_base / "1")
    node = place.node()
    write_json(place.pretrained / "generation_config.json", {"eos_token_id": 2})
    with pytest.raises(Exception, match=r"tokenizer files of .* changed since the run began"):
        place.run(node)


def test_a_start_that_changes_under_a_run_is_refused(place: Place):
    node = place.node()
    fingerprint = load_tokenizer(place.pretrained).fingerprint
    bare_package(place.push_base / "1", evaluation={"blessed": True}, fingerprint=fingerprint)
    with pytest.raises(Exception, match=r".") as fault:
        place.run(node)
    told = as_tokenmill_error(fault.value, "WarmStart", place.folder)
    assert isinstance(told, PackageError)
    assert "changed since the run began" in str(told)
    assert "Start the run again" in str(told)
