"""PackagePusher: copies a package into the push directory so that it appears whole or not at all."""

from __future__ import annotations

import dataclasses
import errno
import logging
import os
import shutil
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from components.blessing import is_blessed
from components.pusher.push_result import PushResult
from components.pusher.release_directory import ReleaseDirectory, flush, write_errors
from components.pusher.retention import remove_surplus
from models.contract.errors import ConfigError, PackageError
from models.contract.manifest import MANIFEST_PATH, Manifest
from models.contract.release_record import STABLE
from models.package import verify_content

_log = logging.getLogger("tokenmill")
_TEMPORARY = ".pushing-"


class PackagePusher:
    """Writes versions below one base directory.

    A version is copied to a hidden sibling, flushed to disk and renamed, so a server that polls the
    directory, or a reader after a power cut, never sees half of one. Versions are Unix seconds, as
    TF Serving's tools expect, and always above every earlier one. A blessed version pushed while none
    is stable becomes it; all others are only there until they get a label.

    Args:
        base: `<push directory>/<model>`; made on the first push.
        clock: seconds since the epoch.
        keep: newest blessed versions to keep, None for all (see `retention.removable`).
        who: recorded with what is done; by default the user of this process.
    """

    def __init__(
        self,
        base: Path,
        clock: Callable[[], float] = time.time,
        *,
        keep: int | None = None,
        who: str | None = None,
    ) -> None:
        self._base = base
        self._clock = clock
        self._keep = keep
        self._releases = ReleaseDirectory(base, clock=clock, who=who)

    def push(self, package: Path, *, run_id: str, evaluation: dict[str, Any], reason: str = "") -> PushResult:
        """Push a version directory.

        A package whose content is already the newest version, blessed and undamaged, is not pushed
        again: a run repeated from cache changes nothing. Versions without a readable manifest are
        passed over.

        Args:
            package: version directory.
            run_id: pipeline run, written into the manifest.
            evaluation: summary of the evaluation, written into the manifest; says whether it is blessed.
            reason: recorded with the push.

        Raises:
            PackageError: `package` is not a package, or the labels cannot be read.
            ConfigError: the push directory cannot be written, is held by another process, or its disk is
                too full.
        """
        manifest = dataclasses.replace(Manifest.load(package), run_id=run_id, evaluation=evaluation)
        with write_errors(self._base):
            self._base.mkdir(parents=True, exist_ok=True)
            self._sweep()
            with self._releases.locked():
                same = self._unchanged(manifest)
            return same or self._write(package, manifest, reason)

    def _unchanged(self, manifest: Manifest) -> PushResult | None:
        newest = self._newest()
        if newest is None or not _is_same(newest, manifest):
            return None
        return self._result(newest, new=False)

    def _newest(self) -> Path | None:
        newest = max(self._releases.readable(), default=None)
        return None if newest is None else self._base / str(newest)

    def _write(self, package: Path, manifest: Manifest, reason: str) -> PushResult:
        self._check_space(package)
        temporary = self._base / f"{_TEMPORARY}{os.getpid()}-{uuid.uuid4().hex[:8]}"
        try:
            shutil.copytree(package, temporary)
            (temporary / MANIFEST_PATH).write_text(manifest.to_json(), encoding="utf-8")
            _flush_all(temporary)
            # Copying takes a while, so that others may change labels meanwhile, or push the same.
            with self._releases.locked():
                return self._unchanged(manifest) or self._publish(temporary, manifest, reason)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)

    def _publish(self, temporary: Path, manifest: Manifest, reason: str) -> PushResult:
        target = self._rename(temporary)
        flush(self._base)
        first = self._releases.labels.stable is None and is_blessed(manifest.evaluation)
        label = STABLE if first else ""
        self._releases.commit("push", label=label, to_version=int(target.name), reason=reason)
        return self._result(target, new=True)

    def _result(self, target: Path, *, new: bool) -> PushResult:
        removed = remove_surplus(self._releases, self._keep)
        targets = self._releases.labels.targets
        labels = [label for label, version in targets.items() if version == int(target.name)]
        return PushResult(target, new, "".join(labels), removed)

    def _rename(self, temporary: Path) -> Path:
        there = [int(entry.name) for entry in self._base.iterdir() if entry.name.isdecimal()]
        recorded = [record.to_version for record in self._releases.log.records if record.to_version]
        version = max([int(self._clock()), *(number + 1 for number in (*there, *recorded))])
        while True:
            target = self._base / str(version)
            try:
                temporary.rename(target)
                return target
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
                version += 1

    def _sweep(self) -> None:
        """Remove what pushes that were killed have left behind."""
        for entry in self._base.glob(f"{_TEMPORARY}*"):
            owner = entry.name.removeprefix(_TEMPORARY).partition("-")[0]
            if owner.isdecimal() and int(owner) != os.getpid() and not psutil.pid_exists(int(owner)):
                shutil.rmtree(entry, ignore_errors=True)

    def _check_space(self, package: Path) -> None:
        need = sum(path.stat().st_size for path in package.rglob("*") if path.is_file())
        free = shutil.disk_usage(self._base).free
        if need > free:
            raise ConfigError(
                f"push directory {self._base} has {free / 2**20:.0f} MiB free, the package needs "
                f"{need / 2**20:.0f} MiB.",
                field="push.directory",
                remedy="Free some space or name another `push.directory`.",
            )


def _is_same(version: Path, pushed: Manifest) -> bool:
    """Whether a version has the content to be pushed, still holds it, and is blessed if that is."""
    there = Manifest.load(version)
    if there.content_hash != pushed.content_hash:
        return False
    if is_blessed(pushed.evaluation) and not is_blessed(there.evaluation):
        return False
    try:
        verify_content(version, there)
    except PackageError as error:
        _log.warning("version %s is pushed again: %s", version, error)
        return False
    return True


def _flush_all(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        flush(path)
    flush(folder)
