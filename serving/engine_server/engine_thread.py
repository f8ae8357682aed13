"""EngineThread: the one thread that calls the model."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

from models.contract.errors import EngineError, TokenmillError, UnavailableError
from serving.engine.llm_engine import LLMEngine
from serving.engine.request_output import RequestOutput

T = TypeVar("T")

JOBS_SECONDS = 0.05
"""How long jobs may hold up the next step of running requests; one job always runs."""

_log = logging.getLogger(__name__)


class EngineThread:
    """Runs jobs between steps, and steps while there is work; sleeps otherwise.

    Args:
        engine: touched by this thread only, from `start` on.
        deliver: called on the thread with each step's outputs.
        ended: called on the thread when it ends, after a crash with what makes the error to report.

    Attributes:
        done: completes when the thread has ended.
        crashed: why the thread ended unasked, None if it did not.
        idle: whether it waits for work.
        progress_at: when the last step or job ended or work arrived, on the engine's clock.
    """

    def __init__(
        self,
        engine: LLMEngine,
        deliver: Callable[[list[RequestOutput]], None],
        ended: Callable[[Callable[[], TokenmillError]], None],
    ) -> None:
        self._engine = engine
        self._deliver = deliver
        self._ended = ended
        self._jobs: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._lock = threading.Lock()
        self._open = False
        self._stop_at: float | None = None
        self._thread = threading.Thread(target=self._run, name="tokenmill-engine", daemon=True)
        self.done: Future[None] = Future()
        self.crashed: str | None = None
        self.idle = True
        self.progress_at = engine.clock()

    @property
    def is_open(self) -> bool:
        """Whether jobs are taken."""
        return self._open

    def start(self) -> None:
        """Start the thread; once."""
        self._open = True
        self._thread.start()

    def submit(self, job: Callable[[], T]) -> Future[T]:
        """Run a job between two steps.

        Raises:
            UnavailableError: the thread has not started or was stopped.
            EngineError: the thread crashed.
        """
        future: Future[T] = Future()
        with self._lock:
            if not self._open:
                raise self._closed_error()
            self._jobs.put((future, job))
        return future

    def stop(self, drain_seconds: float) -> None:
        """Let the thread end when nothing is unfinished, or after so many seconds."""
        self._stop_at = self._engine.clock() + drain_seconds
        self._jobs.put((Future(), lambda: None))

    def join(self, timeout: float) -> bool:
        """Wait until the thread has ended; False if it has not in time."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            while not self._should_stop():
                self._run_jobs()
                if self._engine.has_unfinished:
                    self._deliver(self._engine.step())
                    self.progress_at = self._engine.clock()
        except Exception as error:
            _log.exception("the engine's loop crashed")
            self.crashed = type(error).__name__
        finally:
            self.idle = True
            self._close()

    def _should_stop(self) -> bool:
        if self._stop_at is None:
            return False
        return not self._engine.has_unfinished or self._engine.clock() >= self._stop_at

    def _run_jobs(self) -> None:
        """Run the jobs that are there, for a bounded time; wait for one if there is nothing else to do."""
        if not self._engine.has_unfinished:
            self._run_job(wait=True)
        until = self._engine.clock() + JOBS_SECONDS
        for _ in range(self._jobs.qsize()):
            self._run_job()
            if self._engine.clock() >= until:
                return

    def _run_job(self, *, wait: bool = False) -> None:
        self.idle = wait
        future, job = self._jobs.get()
        self.progress_at = self._engine.clock()
        self.idle = False
        _run(future, job)

    def _close(self) -> None:
        with self._lock:
            self._open = False
        for _ in range(self._jobs.qsize()):
            future, _job = self._jobs.get()
            if future.set_running_or_notify_cancel():
                future.set_exception(self._closed_error())
        self._ended(self._closed_error)
        self.done.set_result(None)

    def _closed_error(self) -> TokenmillError:
        if self.crashed is not None:
            return EngineError(f"The engine crashed: {self.crashed}.", remedy="The server's log says why.")
        return UnavailableError("The engine is not running.", remedy="Try again when the server is ready.")


def _run(future: Future[Any], job: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(job())
    except Exception as error:
        future.set_exception(error)
