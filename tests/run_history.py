"""A small history in a real metadata store, written as TFX writes it, without running anything."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ml_metadata.proto import metadata_store_pb2 as pb

from components.metadata.metadata_connection import MetadataConnection
from components.metadata.metadata_store import open_metadata
from pipeline.run_journal import CONFIG_FILE, JOURNAL_FILE

FLOW = {
    "CorpusExampleGen": ((), ("examples",)),
    "Trainer": (("examples",), ("model",)),
    "BaselineLookup": (("model",), ("baseline",)),
    "PerplexityEvaluator": (("examples", "model", "baseline"), ("evaluation", "model_blessing")),
    "Pusher": (("model", "evaluation"), ("pushed_model",)),
}
"""Component → names of inputs and outputs; an output has one name in the whole run."""


class RunHistory:
    """Writes runs.

    Args:
        workdir: gets the store, the artifacts' folders and the journals.
    """

    def __init__(self, workdir: Path) -> None:
        self.workdir = workdir
        workdir.mkdir(parents=True, exist_ok=True)
        connection = MetadataConnection.sqlite(workdir / "metadata.sqlite")
        self._store = open_metadata(connection, readonly=False)
        names = ("pipeline_run", "node")
        self._contexts = {n: self._store.put_context_type(pb.ContextType(name=n)) for n in names}
        self._execution = self._store.put_execution_type(pb.ExecutionType(name="Component"))
        self._artifact = self._store.put_artifact_type(pb.ArtifactType(name="Thing"))
        self._nodes: dict[str, int] = {}

    def run(
        self,
        run_id: str,
        *,
        properties: Mapping[str, Mapping[str, Any]] | None = None,
        cached: Mapping[str, int] | None = None,
        results: Mapping[str, Any] | None = None,
        config: str = "name: demo\n",
    ) -> dict[str, int]:
        """Record a run of `FLOW`; returns output name → artifact.

        Args:
            run_id: its id.
            properties: output name → custom properties.
            cached: output name → artifact of an earlier run that is taken instead of a new one.
            results: what the evaluator's results.json holds; the run ends before it without.
            config: the run's configuration.
        """
        self._journal(run_id, config)
        (context,) = self._store.put_contexts(
            [pb.Context(type_id=self._contexts["pipeline_run"], name=run_id)]
        )
        artifacts: dict[str, int] = {}
        for component, (inputs, outputs) in FLOW.items():
            if component == "PerplexityEvaluator" and results is None:
                break
            taken = {name: cached[name] for name in outputs if cached and name in cached}
            new = {name: self._output(run_id, name, (properties or {}).get(name, {})) for name in outputs}
            artifacts |= self._put(component, context, {n: artifacts[n] for n in inputs}, {**new, **taken})
        if results is not None:
            folder = self.workdir / "artifacts" / run_id / "evaluation"
            (folder / "results.json").write_text(json.dumps(results))
        return artifacts

    def _journal(self, run_id: str, config: str) -> None:
        folder = self.workdir / "runs" / run_id
        folder.mkdir(parents=True)
        (folder / CONFIG_FILE).write_text(config)
        journal = {"pipeline": "demo", "pid": 1, "process_started": 0.0, "started": 1.0, "seconds": 2.0}
        (folder / JOURNAL_FILE).write_text(json.dumps({**journal, "finished": True}))

    def _output(self, run_id: str, name: str, properties: Mapping[str, Any]) -> pb.Artifact:
        folder = self.workdir / "artifacts" / run_id / name
        folder.mkdir(parents=True)
        artifact = pb.Artifact(type_id=self._artifact, uri=str(folder), state=pb.Artifact.LIVE)
        for key, value in properties.items():
            slot = artifact.custom_properties[key]
            if isinstance(value, int):
                slot.int_value = value
            else:
                slot.string_value = value
        return artifact

    def _put(
        self, component: str, run: int, inputs: Mapping[str, int], outputs: Mapping[str, pb.Artifact | int]
    ) -> dict[str, int]:
        known = any(isinstance(value, int) for value in outputs.values())
        execution = pb.Execution(
            type_id=self._execution,
            last_known_state=pb.Execution.CACHED if known else pb.Execution.COMPLETE,
        )
        pairs = [
            (artifact, _event(name, pb.Event.INPUT))
            for name, i in inputs.items()
            for artifact in self._store.get_artifacts_by_id([i])
        ]
        for name, value in outputs.items():
            artifact = self._store.get_artifacts_by_id([value])[0] if isinstance(value, int) else value
            pairs.append((artifact, _event(name, pb.Event.OUTPUT)))
        contexts = self._store.get_contexts_by_id([run, self._node(component)])
        _, ids, _ = self._store.put_execution(execution, pairs, contexts)
        return dict(zip(outputs, ids[len(inputs) :], strict=True))

    def _node(self, component: str) -> int:
        if component not in self._nodes:
            context = pb.Context(type_id=self._contexts["node"], name=f"demo.{component}")
            (self._nodes[component],) = self._store.put_contexts([context])
        return self._nodes[component]


def _event(name: str, kind: Any) -> pb.Event:
    event = pb.Event(type=kind)
    event.path.steps.add().key = name
    event.path.steps.add().index = 0
    return event


def results(perplexity: float, baseline: str, baseline_perplexity: float) -> dict[str, Any]:
    """What an evaluator finds."""
    ratio = perplexity / baseline_perplexity
    return {
        "perplexity": perplexity,
        "baseline_perplexity": baseline_perplexity,
        "ratio": ratio,
        "interval": [ratio * 0.9, ratio * 1.1],
        "intervals": {"perplexity": [perplexity - 1, perplexity + 1]},
        "bits_per_byte": 1.5,
        "confidence": 0.95,
        "scored": 100,
        "windows": 10,
        "baseline": baseline,
    }


def pushed(workdir: Path, version: int, content: str, new: int = 1) -> dict[str, Any]:
    """Properties of a pushed model."""
    return {
        "pushed": 1,
        "new": new,
        "pushed_version": str(version),
        "pushed_destination": str(workdir / "models" / "tiny" / str(version)),
        "content_hash": content,
    }


def baseline(path: Path, kind: str, content: str) -> dict[str, Any]:
    """Properties of a baseline."""
    return {"baseline_path": str(path), "baseline_kind": kind, "baseline_fingerprint": content}
