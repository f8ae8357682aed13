"""PushWatch: a thread that looks at a push directory all the time, as a server that polls it does."""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from models.contract.errors import TokenmillError
from models.contract.labels import Labels
from models.contract.manifest import Manifest
from models.contract.release_log import ReleaseLog
from models.package import verify_content

_POLL_SECONDS = 0.002


class PushWatch:
    """Checks at every look that whatever is visible is whole.

    A visible version has a manifest and hashes to it from its first moment; labels can be read and stand
    on versions that are there; the history has no broken line and tells what the labels say.

    Args:
        base: `<push directory>/<model>`; may not exist yet.
    """

    def __init__(self, base: Path) -> None:
        self._base = base
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.looks = 0
        self.seen: list[int] = []
        self.faults: list[str] = []
        self.copying = threading.Event()
        """Set while a push is at work."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        if value is None:
            assert self.faults == []
            assert self.looks > 10

    def _watch(self) -> None:
        while not self._stop.is_set():
            with contextlib.suppress(FileNotFoundError):
                self._look()
            self.looks += 1
            time.sleep(_POLL_SECONDS)

    def _look(self) -> None:
        names = [entry.name for entry in self._base.iterdir()]
        pushing = any(name.startswith(".pushing-") for name in names)
        (self.copying.set if pushing else self.copying.clear)()
        try:
            for version in sorted(int(name) for name in names if name.isdecimal()):
                if version not in self.seen:
                    self.seen.append(version)
                    self._check_version(self._base / str(version))
            self._check_labels()
        except (TokenmillError, AssertionError, OSError) as error:
            self.faults.append(f"{type(error).__name__}: {error}")

    def _check_version(self, path: Path) -> None:
        try:
            verify_content(path, Manifest.load(path))
        except (TokenmillError, OSError):
            # Retention may have removed it meanwhile; version numbers are never used again.
            if path.exists():
                raise

    def _check_labels(self) -> None:
        labels = Labels.load(self._base)
        if labels is None:
            return
        for version in labels.targets.values():
            assert (self._base / str(version)).is_dir(), f"a label stands on {version}, which is not there"
        log = ReleaseLog.load(self._base)
        assert log.broken == (), f"broken lines {log.broken}"
        assert [record.sequence for record in log.records] == list(range(1, log.last_sequence + 1))
