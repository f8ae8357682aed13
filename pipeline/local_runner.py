"""run: one run of the pipeline on this machine."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

from components import progress
from models.contract.errors import ConfigError, TokenmillError
from pipeline.config import RunConfig
from pipeline.metadata_database import remember_connection
from pipeline.output_capture import captured_output
from pipeline.run_journal import INTERRUPTED, RunJournal
from pipeline.run_observer import RunObserver
from pipeline.run_record import RunRecord
from pipeline.run_registry import RunRegistry
from pipeline.temporary_folder import temporary_folder
from pipeline.workdir_lock import workdir_lock

_log = logging.getLogger("tokenmill")
_BEAM_NOTE = re.compile(r" \[while running [^\]]*\]")
"""Beam adds this to messages of exceptions that pass through it."""


def run(config: RunConfig, run_id: str, observer: Callable[[TextIO], RunObserver]) -> RunRecord:
    """Run all components; unchanged ones answer from cache.

    TFX's, TensorFlow's and Beam's own output goes to the run's log.

    Args:
        config: the run; its checkpoint must exist.
        run_id: a new id.
        observer: makes the observer, given the terminal's stderr.

    Returns:
        The run as ML Metadata recorded it.

    Raises:
        ConfigError: the working directory cannot be written or is in use by another run.
        TokenmillError: a component failed; the message is the component's own where the fault was
            foreseen, else it names the component, the exception and the log.
    """
    with _workdir_errors(config), workdir_lock(config.workdir), temporary_folder(config.workdir):
        journal = RunJournal(config.runs_directory / run_id)
        config.pipeline_root.mkdir(parents=True, exist_ok=True)
        journal.start(config.name, config.to_yaml())
        remember_connection(config.workdir, config.metadata_connection)
        error: str | None = INTERRUPTED
        try:
            with captured_output(journal.log_path) as terminal:
                _run_components(config, run_id, observer(terminal), journal)
            error = None
        except TokenmillError as fault:
            error = str(fault)
            raise
        finally:
            journal.finish(error)
    return RunRegistry(config.metadata_connection, config.runs_directory).show(run_id)


def _run_components(config: RunConfig, run_id: str, observer: RunObserver, journal: RunJournal) -> None:
    seen = _CurrentComponent(observer)
    try:
        # Imported here: TFX takes seconds to import and prints while it does.
        from pipeline.observed_dag_runner import ObservedDagRunner
        from pipeline.pipeline import create_pipeline

        pipeline = create_pipeline(config, run_id)
        with progress.listen(observer.component_progress):
            ObservedDagRunner(run_id, seen, config.metadata_connection).run(pipeline)
    except Exception as fault:
        _log.exception("run %s failed", run_id)
        raise as_tokenmill_error(fault, seen.component, journal.log_path) from fault


class _CurrentComponent:
    """Passes everything on and remembers which component runs."""

    def __init__(self, observer: RunObserver) -> None:
        self._observer = observer
        self.component = "the pipeline's definition"

    def component_started(self, component: str, number: int, total: int) -> None:
        self.component = component
        self._observer.component_started(component, number, total)

    def component_progress(self, progress: progress.Progress) -> None:
        self._observer.component_progress(progress)

    def component_finished(self, component: str, state: str, seconds: float) -> None:
        self._observer.component_finished(component, state, seconds)


def as_tokenmill_error(fault: BaseException, component: str, log: Path) -> TokenmillError:
    """The foreseen error behind an exception, without Beam's additions; else one that names the log."""
    cause: BaseException | None = fault
    while cause is not None:
        if isinstance(cause, TokenmillError):
            plain = type(cause)(_BEAM_NOTE.sub("", cause.message), remedy=cause.remedy)
            plain.field = cause.field
            return plain
        cause = cause.__cause__ or cause.__context__
    first_line = (str(fault).strip().splitlines() or [""])[0]
    return TokenmillError(
        f"{component} failed: {type(fault).__name__}: {first_line.rstrip('.')}.",
        field=component,
        remedy=f"The whole story is in {log}.",
    )


@contextlib.contextmanager
def _workdir_errors(config: RunConfig) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigError(
            f"working directory {config.workdir} cannot be written: {error.strerror}.",
            field="workdir",
            remedy="Name a writable folder as `workdir`.",
        ) from error
