"""MetadataGraph: the runs, executions and artifacts of a metadata store and how they hang together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

from ml_metadata import metadata_store
from ml_metadata.proto import metadata_store_pb2

from pipeline.graph_artifact import GraphArtifact
from pipeline.graph_execution import GraphExecution

_PLAIN = ("int_value", "double_value", "string_value", "bool_value")
_AT_A_TIME = 500
"""Ids per query: MySQL and PostgreSQL limit the length of a statement."""


class MetadataGraph:
    """A snapshot, read with a few queries per component, not per execution.

    Args:
        runs: run id → when it was recorded, Unix seconds.
        executions: all of them.
        artifacts: all that they read or wrote.
    """

    def __init__(
        self,
        runs: Mapping[str, float],
        executions: Iterable[GraphExecution],
        artifacts: Iterable[GraphArtifact],
    ) -> None:
        self.runs = dict(runs)
        self.executions = {execution.id: execution for execution in sorted(executions, key=lambda e: e.id)}
        self.artifacts = {artifact.id: artifact for artifact in artifacts}

    @classmethod
    def read(cls, store: metadata_store.MetadataStore) -> Self:
        """Take the snapshot.

        Raises:
            ml_metadata.errors.StatusError: the store cannot be read.
        """
        runs = store.get_contexts_by_type("pipeline_run")
        raw = {run.name: store.get_executions_by_context(run.id) for run in runs}
        ids = [execution.id for executions in raw.values() for execution in executions]
        links = _links(store, ids)
        nodes = _nodes(store)
        executions = [
            _execution(one, run_id, nodes.get(one.id, ("", str(one.type))), links[one.id])
            for run_id, members in raw.items()
            for one in members
        ]
        artifact_ids = sorted({i for by_kind in links.values() for pairs in by_kind for _, i in pairs})
        return cls(
            {run.name: run.create_time_since_epoch / 1000 for run in runs},
            executions,
            _artifacts(store, artifact_ids),
        )

    def of_run(self, run_id: str) -> list[GraphExecution]:
        """A run's executions in the order they ran."""
        return self._by_run.get(run_id, [])

    def maker(self, artifact_id: int) -> GraphExecution | None:
        """The execution that wrote an artifact, not those that took it from cache."""
        found = self._writers.get(artifact_id, [])
        return next((one for one in found if one.state != "cached"), found[0] if found else None)

    def readers(self, artifact_id: int) -> list[GraphExecution]:
        """Executions that an artifact went into, those answered from cache included."""
        return self._readers.get(artifact_id, [])

    def takers(self, artifact_id: int) -> list[GraphExecution]:
        """Executions that took an artifact from cache as their own output."""
        return [one for one in self._writers.get(artifact_id, []) if one.state == "cached"]

    def outputs(self, component: str, key: str) -> Iterator[tuple[GraphExecution, GraphArtifact]]:
        """All artifacts of a component's output, with the executions, oldest first."""
        for execution in self.executions.values():
            if execution.component == component:
                for artifact_id in execution.outputs.get(key, ()):
                    yield execution, self.artifacts[artifact_id]

    def ancestors(self, executions: Iterable[GraphExecution]) -> list[GraphExecution]:
        """These executions and all that made what they read, by id; for a cached one, who did the work."""
        found: dict[int, GraphExecution] = {}
        waiting = [origin for one in executions for origin in self._origins(one)]
        while waiting:
            one = waiting.pop()
            if one.id in found:
                continue
            found[one.id] = one
            makers = map(self.maker, one.read)
            waiting += [maker for maker in makers if maker is not None]
        return [found[i] for i in sorted(found)]

    def _origins(self, execution: GraphExecution) -> list[GraphExecution]:
        if execution.state != "cached":
            return [execution]
        makers = map(self.maker, execution.written)
        return [maker for maker in makers if maker is not None] or [execution]

    @cached_property
    def _by_run(self) -> dict[str, list[GraphExecution]]:
        found: dict[str, list[GraphExecution]] = defaultdict(list)
        for execution in self.executions.values():
            found[execution.run_id].append(execution)
        return found

    @cached_property
    def _writers(self) -> dict[int, list[GraphExecution]]:
        return self._index(lambda execution: execution.written)

    @cached_property
    def _readers(self) -> dict[int, list[GraphExecution]]:
        return self._index(lambda execution: execution.read)

    def _index(self, side: Callable[[GraphExecution], tuple[int, ...]]) -> dict[int, list[GraphExecution]]:
        found: dict[int, list[GraphExecution]] = defaultdict(list)
        for execution in self.executions.values():
            for artifact_id in set(side(execution)):
                found[artifact_id].append(execution)
        return found


Pairs = list[tuple[str, int]]


def _links(store: Any, execution_ids: Sequence[int]) -> dict[int, tuple[Pairs, Pairs]]:
    """Execution → (inputs, outputs), each as pairs of name and artifact."""
    found: dict[int, tuple[Pairs, Pairs]] = defaultdict(lambda: ([], []))
    event_type = metadata_store_pb2.Event
    for ids in _chunks(execution_ids):
        for event in store.get_events_by_execution_ids(ids):
            key = event.path.steps[0].key if event.path.steps else ""
            if event.type in (event_type.INPUT, event_type.DECLARED_INPUT):
                found[event.execution_id][0].append((key, event.artifact_id))
            elif event.type in (event_type.OUTPUT, event_type.DECLARED_OUTPUT):
                found[event.execution_id][1].append((key, event.artifact_id))
    return found


def _nodes(store: Any) -> dict[int, tuple[str, str]]:
    """Execution → names of pipeline and component."""
    found = {}
    for context in store.get_contexts_by_type("node"):
        pipeline, _, component = context.name.rpartition(".")
        for execution in store.get_executions_by_context(context.id):
            found[execution.id] = (pipeline, component)
    return found


def _execution(one: Any, run_id: str, node: tuple[str, str], links: tuple[Pairs, Pairs]) -> GraphExecution:
    started = one.create_time_since_epoch / 1000
    return GraphExecution(
        id=one.id,
        component=node[1],
        run_id=run_id,
        pipeline=node[0],
        state=metadata_store_pb2.Execution.State.Name(one.last_known_state).lower(),
        started=started,
        seconds=one.last_update_time_since_epoch / 1000 - started,
        parameters={
            key: value
            for key, value in {**_values(one.properties), **_values(one.custom_properties)}.items()
            if not key.startswith("__")
        },
        inputs=_grouped(links[0]),
        outputs=_grouped(links[1]),
    )


def _artifacts(store: Any, artifact_ids: Sequence[int]) -> Iterator[GraphArtifact]:
    types = {kind.id: kind.name for kind in store.get_artifact_types()}
    for ids in _chunks(artifact_ids):
        for one in store.get_artifacts_by_id(ids):
            state = metadata_store_pb2.Artifact.State.Name(one.state).lower()
            yield GraphArtifact(
                one.id, types.get(one.type_id, ""), one.uri, state, _values(one.custom_properties)
            )


def _grouped(pairs: Pairs) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for key, artifact_id in pairs:
        found[key] = (*found.get(key, ()), artifact_id)
    return found


def _values(properties: Any) -> dict[str, Any]:
    kinds = {key: (value, value.WhichOneof("value")) for key, value in properties.items()}
    return {key: getattr(value, kind) for key, (value, kind) in kinds.items() if kind in _PLAIN}


def _chunks(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(ids), _AT_A_TIME):
        yield ids[start : start + _AT_A_TIME]
