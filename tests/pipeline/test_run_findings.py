from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.component_run import ComponentRun
from pipeline.run_findings import verdicts, vocabulary


def _validator(folder: Path, component: str, key: str, blessed: bool, reasons: list[str]) -> ComponentRun:
    folder.mkdir()
    (folder / "blessing.json").write_text(json.dumps({"blessed": blessed, "reasons": reasons}))
    return ComponentRun(
        component,
        "complete",
        0.0,
        1.0,
        outputs={key: str(folder)},
        properties={key: {"blessed": int(blessed)}},
    )


@pytest.mark.parametrize(
    ("blessed", "servable", "faults"),
    [
        (True, True, ()),
        (True, False, ("Serving.",)),
        (False, True, ("Quality.",)),
        (False, False, ("Quality.", "Serving.")),
    ],
)
def test_faults_are_the_reasons_that_forbade_the_push(
    tmp_path: Path, blessed: bool, servable: bool, faults: tuple[str, ...]
):
    told = ["Quality.", "Warning: a slice."]
    components = [
        _validator(tmp_path / "q", "PerplexityEvaluator", "model_blessing", blessed, told),
        _validator(tmp_path / "s", "ServingValidator", "infra_blessing", servable, ["Serving."]),
    ]
    found = verdicts(components)
    assert found["faults"] == faults
    assert found["reasons"] == ("Quality.", "Warning: a slice.", "Serving.")


def test_the_vocabulary_of_a_run_from_scratch_is_what_its_artifact_says():
    properties = {"vocabulary": {"size": 300, "fingerprint": "f"}}
    made = ComponentRun("VocabularyTrainer", "complete", 0.0, 1.0, {"vocabulary": "artifacts/2"}, properties)
    assert vocabulary([made]) == {"vocabulary": properties["vocabulary"]}
    assert vocabulary([]) == {}
