from __future__ import annotations

from pathlib import Path

import pytest
from tfx.types.standard_artifacts import InfraBlessing, ModelBlessing

from components.blessing import Blessing


@pytest.mark.parametrize(("blessed", "marker"), [(True, "BLESSED"), (False, "NOT_BLESSED")])
def test_a_model_blessing_reads_back_and_looks_like_tfx_s(tmp_path: Path, blessed: bool, marker: str):
    artifact = ModelBlessing()
    artifact.uri = str(tmp_path / "blessing")
    verdict = Blessing(blessed, ("First.", "Second."))
    verdict.write(artifact)
    assert Blessing.read(artifact) == verdict
    assert (tmp_path / "blessing" / marker).is_file()
    assert artifact.get_int_custom_property("blessed") == int(blessed)
    assert artifact.get_string_custom_property("blessing_message") == "First. Second."


def test_an_infra_blessing_has_its_own_marker(tmp_path: Path):
    artifact = InfraBlessing()
    artifact.uri = str(tmp_path)
    Blessing(False, ("No.",)).write(artifact, prefix="INFRA_")
    assert (tmp_path / "INFRA_NOT_BLESSED").is_file()


def test_an_artifact_without_a_verdict_is_not_blessed(tmp_path: Path):
    artifact = ModelBlessing()
    artifact.uri = str(tmp_path)
    assert not Blessing.read(artifact).blessed


def test_a_marker_file_alone_does_not_bless(tmp_path: Path):
    artifact = ModelBlessing()
    artifact.uri = str(tmp_path)
    Blessing(True, ("Fine.",)).write(artifact)
    artifact.set_int_custom_property("blessed", 0)
    assert not Blessing.read(artifact).blessed
