"""ObservedDagRunner: TFX's LocalDagRunner with a run id of our own and an observer."""

from __future__ import annotations

import time
from typing import Any

from tfx.dsl.compiler.constants import PIPELINE_RUN_ID_PARAMETER_NAME
from tfx.orchestration.local import runner_utils
from tfx.orchestration.local.local_dag_runner import LocalDagRunner
from tfx.orchestration.portable import launcher, runtime_parameter_utils
from tfx.proto.orchestration import pipeline_pb2

from components.metadata.metadata_connection import MetadataConnection
from components.metadata.metadata_handle import MetadataHandle
from pipeline.run_observer import RunObserver


class ObservedDagRunner(LocalDagRunner):
    """Runs the components one after the other in this process.

    Args:
        run_id: name of the run in ML Metadata.
        observer: told when components start and end.
        metadata: the store; what the compiled pipeline says of it lacks the password.
    """

    def __init__(self, run_id: str, observer: RunObserver, metadata: MetadataConnection) -> None:
        super().__init__()
        self._run_id = run_id
        self._observer = observer
        self._metadata = metadata

    def run_with_ir(
        self, pipeline: pipeline_pb2.Pipeline, run_options: pipeline_pb2.RunOptions | None = None
    ) -> None:
        """Run a compiled pipeline; what a component raises is passed on as it is."""
        if run_options is not None:
            raise ValueError("partial runs are not supported: unchanged components answer from cache")
        runtime_parameter_utils.substitute_runtime_parameter(
            pipeline, {PIPELINE_RUN_ID_PARAMETER_NAME: self._run_id}
        )
        deployment = runner_utils.extract_local_deployment_config(pipeline)
        connection = MetadataHandle(self._metadata)
        for number, node in enumerate(pipeline.nodes, 1):
            self._launch(node.pipeline_node, number, pipeline, deployment, connection)

    def _launch(
        self, node: Any, number: int, pipeline: pipeline_pb2.Pipeline, deployment: Any, connection: Any
    ) -> None:
        component = node.node_info.id
        started = time.monotonic()
        self._observer.component_started(component, number, len(pipeline.nodes))
        state = "failed"
        try:
            info = launcher.Launcher(
                pipeline_node=node,
                mlmd_connection=connection,
                pipeline_info=pipeline.pipeline_info,
                pipeline_runtime_spec=pipeline.runtime_spec,
                executor_spec=runner_utils.extract_executor_spec(deployment, component),
                custom_driver_spec=runner_utils.extract_custom_driver_spec(deployment, component),
            ).launch()
            state = _state(connection, info)
        finally:
            self._observer.component_finished(component, state, time.monotonic() - started)


def _state(connection: Any, info: Any) -> str:
    """How an execution ended; TFX does not raise if a component found no inputs.

    Raises:
        RuntimeError: it neither completed nor was answered from cache.
    """
    with connection as handle:
        (execution,) = handle.store.get_executions_by_id([info.execution_id])
    if execution.last_known_state == execution.CACHED:
        return "cached"
    if execution.last_known_state != execution.COMPLETE:
        raise RuntimeError("it did not run: its inputs were not found")
    return "complete"
