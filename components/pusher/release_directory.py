"""ReleaseDirectory: one model's push directory, changed by one process at a time, whole or not at all."""

from __future__ import annotations

import fcntl
import getpass
import logging
import os
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Self

from components.blessing import is_blessed
from models.contract.errors import ConfigError, ModelNotFoundError, PackageError, TokenmillError
from models.contract.labels import LABELS_FILE, Labels
from models.contract.manifest import MANIFEST_PATH, Manifest
from models.contract.package import versions
from models.contract.release_log import RELEASES_FILE, ReleaseLog, read_log
from models.contract.release_record import STABLE, Action, ReleaseRecord
from models.package import verify_content

LOCK_FILE = ".release.lock"
_REMOVING = ".removing-"
_POLL_SECONDS = 0.02

_log = logging.getLogger("tokenmill")


class ReleaseDirectory:
    """`<push directory>/<model>` with its versions, `labels.json` and `releases.jsonl`.

    The rename of `labels.json` is what makes a change happen; it carries the change's record, whose
    line is appended afterwards. Whoever takes the lock next first completes what a killed writer left:
    a missing line, a version without a record, a half-deleted version.

    Args:
        base: the directory; must exist when it is locked.
        who: recorded with each change; by default the user of this process.
        clock: seconds since the epoch.
        patience: seconds to wait for the lock.
    """

    def __init__(
        self,
        base: Path,
        *,
        who: str | None = None,
        clock: Callable[[], float] = time.time,
        patience: float = 60.0,
    ) -> None:
        self.base = base
        self._who = current_user() if who is None else who
        self._clock = clock
        self._patience = patience
        # One name is enough: only the holder of the lock writes it.
        self._new_labels = base / f".{LABELS_FILE}.new"
        self.labels = Labels()
        self.log = ReleaseLog()

    @contextmanager
    def locked(self) -> Iterator[Self]:
        """Hold the directory; `labels` and `log` are right within.

        The system lets go of the lock when this process ends, however it does.

        Raises:
            ConfigError: the directory cannot be written, or another process holds it for too long.
            PackageError: `labels.json` cannot be read, or is missing beside a broken `releases.jsonl`.
        """
        with write_errors(self.base), (self.base / LOCK_FILE).open("a+", encoding="utf-8") as file:
            self._acquire(file)
            self._recover()
            yield self

    def commit(
        self,
        action: Action,
        *,
        label: str = "",
        from_version: int | None = None,
        to_version: int | None = None,
        weight: float | None = None,
        reason: str = "",
    ) -> ReleaseRecord:
        """Make one change happen and record it; only while locked.

        Raises:
            ConfigError: the change makes no sense in this state (`Labels.after`).
            OSError: the files cannot be written (`locked` makes it a ConfigError). If `labels.json` was,
                the change has happened, and its line follows with the next change.
        """
        concerned = from_version if to_version is None else to_version
        run_id, content_hash, blessed = self._facts(concerned)
        record = ReleaseRecord(
            sequence=1 + max(self.log.last_sequence, self.labels.last.sequence if self.labels.last else 0),
            time=datetime.fromtimestamp(self._clock(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            action=action,
            label=label,
            from_version=from_version,
            to_version=to_version,
            weight=weight,
            who=self._who,
            reason=reason,
            run_id=run_id,
            content_hash=content_hash,
            blessed=blessed,
        )
        labels = self.labels.after(record)
        self._write_labels(labels)
        self._append(record)
        return record

    def verified(self, version: int) -> Manifest:
        """The manifest of a version that is there and whose files hash to what it says.

        Raises:
            ModelNotFoundError: there is no such version.
            PackageError: its manifest cannot be read, or its files were changed.
        """
        path = self.base / str(version)
        if not (path / MANIFEST_PATH).is_file():
            there = ", ".join(map(str, versions(self.base))) or "none"
            raise ModelNotFoundError(
                f"version {version} is not in {self.base}; there are: {there}.", field="version"
            )
        manifest = Manifest.load(path)
        verify_content(path, manifest)
        return manifest

    def intact(self, version: int) -> bool:
        """Whether `verified` would return."""
        try:
            self.verified(version)
        except (ModelNotFoundError, PackageError) as error:
            _log.warning("version %s is passed over: %s", version, error)
            return False
        return True

    def rollback_target(self) -> int | None:
        """The latest earlier stable version that is there and undamaged; only while locked."""
        return next(filter(self.intact, reversed(self.labels.previous)), None)

    def readable(self) -> dict[int, Manifest]:
        """Versions with a readable manifest, ascending."""
        found = {version: _manifest(self.base / str(version)) for version in versions(self.base)}
        return {version: manifest for version, manifest in found.items() if manifest is not None}

    def remove(self, version: int, reason: str) -> ReleaseRecord:
        """Remove a version: it disappears in one rename, is recorded, and then deleted; only while locked."""
        hidden = self.base / f"{_REMOVING}{version}-{uuid.uuid4().hex[:8]}"
        (self.base / str(version)).rename(hidden)
        record = self.commit("remove", from_version=version, reason=reason)
        shutil.rmtree(hidden, ignore_errors=True)
        return record

    def _acquire(self, file: IO[str]) -> None:
        deadline = time.monotonic() + self._patience
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > deadline:
                    file.seek(0)
                    holder = file.read().strip() or "?"
                    raise ConfigError(
                        f"push directory {self.base} is being changed by process {holder}.",
                        field="push.directory",
                        remedy="Try again when it has ended.",
                    ) from error
                time.sleep(_POLL_SECONDS)
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()

    def _recover(self) -> None:
        for leftover in self.base.glob(f"{_REMOVING}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        self._new_labels.unlink(missing_ok=True)
        self.log = ReleaseLog.parse(read_log(self.base))
        if self.log.broken:
            _log.warning("%s: lines %s are no records", self.base / RELEASES_FILE, list(self.log.broken))
        self.labels = Labels.load(self.base) or self._replayed()
        if self.labels.last is not None and self.labels.last.sequence > self.log.last_sequence:
            self._append(self.labels.last)
        self._record_versions()

    def _replayed(self) -> Labels:
        try:
            return Labels.replay(self.log.records)
        except TokenmillError as error:
            raise PackageError(
                f"{self.base} has no {LABELS_FILE}, and {RELEASES_FILE} does not tell it: {error.message}",
                field=RELEASES_FILE,
                remedy=f"Restore one of them; without both the newest blessed version becomes {STABLE}.",
            ) from error

    def _record_versions(self) -> None:
        """Record versions that appeared or vanished without a record."""
        recorded = self.log.versions
        for version in sorted(set(recorded) - set(versions(self.base))):
            self.commit("remove", from_version=version, reason="found missing")
        unrecorded = {v: manifest for v, manifest in self.readable().items() if v not in recorded}
        stable = self._first_stable(unrecorded) if self.labels.stable is None else None
        for version in unrecorded:
            label = STABLE if version == stable else ""
            self.commit("adopt", label=label, to_version=version, reason="found without a record of its push")

    def _first_stable(self, candidates: dict[int, Manifest]) -> int | None:
        """The newest blessed and undamaged of some versions: the one that was served so far."""
        blessed = [v for v in sorted(candidates, reverse=True) if is_blessed(candidates[v].evaluation)]
        return next(filter(self.intact, blessed), None)

    def _facts(self, version: int | None) -> tuple[str, str, bool]:
        manifest = None if version is None else _manifest(self.base / str(version))
        if manifest is not None:
            return manifest.run_id, manifest.content_hash, is_blessed(manifest.evaluation)
        known = None if version is None else self.log.versions.get(version)
        return (known.run_id, known.content_hash, known.blessed) if known else ("", "", False)

    def _write_labels(self, labels: Labels) -> None:
        with self._new_labels.open("w", encoding="utf-8") as file:
            file.write(labels.to_json())
            file.flush()
            os.fsync(file.fileno())
        self._new_labels.replace(self.base / LABELS_FILE)
        flush(self.base)
        self.labels = labels

    def _append(self, record: ReleaseRecord) -> None:
        with (self.base / RELEASES_FILE).open("a+b") as file:
            file.seek(0)
            whole, _, tail = file.read().rpartition(b"\n")
            if tail and _is_record(tail):
                file.write(b"\n")
            elif tail:
                # The line of a writer that was killed; labels.json told what it was.
                file.truncate(len(whole) + 1 if whole else 0)
            file.write(record.to_line().encode())
            file.flush()
            os.fsync(file.fileno())
        flush(self.base)
        self.log = ReleaseLog((*self.log.records, record), self.log.broken)


@contextmanager
def write_errors(base: Path) -> Iterator[None]:
    """Turn the system's errors into one that names the push directory.

    Raises:
        ConfigError: a file below `base` could not be written.
    """
    try:
        yield
    except OSError as error:
        raise ConfigError(
            f"push directory {base} cannot be written: {error.strerror}.",
            field="push.directory",
            remedy="Name a writable folder as `push.directory`.",
        ) from error


def flush(path: Path) -> None:
    """Put a file, or a folder's entries, on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def current_user() -> str:
    """Name of the user this process runs as, else the number."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"


def _manifest(path: Path) -> Manifest | None:
    try:
        return Manifest.load(path)
    except PackageError as error:
        _log.warning("version %s is passed over: %s", path, error)
        return None


def _is_record(line: bytes) -> bool:
    try:
        ReleaseRecord.from_line(line.decode("utf-8", errors="replace"))
    except PackageError:
        return False
    return True
