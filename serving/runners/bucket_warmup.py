"""BucketWarmup: compiles a package's buckets one after the other, beside the requests."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from models.contract.runner_observer import RunnerObserver
from serving.runners.bucket import Bucket
from serving.runners.compiled_decode import CompiledDecode
from serving.runners.padded_rows import null_rows
from serving.runners.released_memory import release_freed_memory
from serving.runners.warmup_progress import WarmupProgress

_log = logging.getLogger(__name__)


class BucketWarmup:
    """A thread that calls `decode_xla` once per bucket, on the null block only.

    It is the one exception to the serialisation of a replica's calls: nobody reads the null block. A
    compilation holds neither Python's global lock nor anything that another call waits for.

    Args:
        call: runs a signature; safe beside other calls.
        decode: told of each bucket that is warm.
        observer: told of compilations and progress.
        clock: monotonic seconds.
    """

    def __init__(
        self,
        call: Callable[..., object],
        decode: CompiledDecode,
        observer: RunnerObserver,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._call = call
        self._decode = decode
        self._observer = observer
        self._clock = clock
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._error: str | None = None
        self._tell()

    @property
    def progress(self) -> WarmupProgress:
        """How far it is; from any thread."""
        return WarmupProgress(len(self._decode.warm), len(self._decode.buckets), self._error)

    @property
    def running(self) -> bool:
        """Whether its thread is at work: the model must not be closed then."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Begin; a second call does nothing, nor does one without buckets."""
        if self._thread is None and self._decode.buckets:
            self._thread = threading.Thread(target=self.run, name="tokenmill-buckets", daemon=True)
            self._thread.start()

    def stop(self, *, wait: bool) -> None:
        """Compile no further bucket.

        Args:
            wait: until the one that is being compiled is done: the model must not be closed before.
        """
        self._stopped.set()
        if wait and self._thread is not None:
            self._thread.join()

    def run(self) -> None:
        """Compile what is not warm yet, on the calling thread."""
        started = self._clock()
        for bucket in self._decode.buckets:
            if self._stopped.is_set():
                return
            if bucket in self._decode.warm:
                continue
            try:
                self._warm(bucket)
            except Exception as error:
                # Calls stay uncompiled, slower but right; the other buckets would fail alike.
                self._error = str(error)
                _log.exception("compilation failed: decoding goes on without it")
                return
        seconds = round(self._clock() - started, 1)
        _log.info("buckets warm", extra={"buckets": len(self._decode.buckets), "seconds": seconds})

    def _warm(self, bucket: Bucket) -> None:
        started = self._clock()
        self._call("decode_xla", **null_rows(bucket))
        self._decode.add_warm(bucket)
        self._observer.compiled(self._clock() - started)
        self._tell()
        # A compiler's work is large beside what comes of it.
        release_freed_memory()

    def _tell(self) -> None:
        self._observer.buckets(len(self._decode.warm), len(self._decode.buckets))
