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
from models.contract.errors import ConfigError, PackageError
from models.contract.manifest import MANIFEST_PATH, Manifest
from models.contract.package import versions
from models.package import verify_content

_log = logging.getLogger("tokenmill")
_TEMPORARY = ".pushing-"


class PackagePusher:
    """Writes versions below one base directory.

    A version is copied to a hidden sibling, flushed to disk and renamed, so a server that polls the
    directory, or a reader after a power cut, never sees half of one. Versions are Unix seconds, as
    TF Serving's tools expect, and always above the newest one there.

    Args:
        base: `<push directory>/<model>`; made on the first push.
        clock: seconds since the epoch.
    """

    def __init__(self, base: Path, clock: Callable[[], float] = time.time) -> None:
        self._base = base
        self._clock = clock

    def push(self, package: Path, *, run_id: str, evaluation: dict[str, Any]) -> tuple[Path, bool]:
        """Push a version directory; returns where it lies and whether it is new.

        A package whose content is already the newest version, blessed and undamaged, is not pushed
        again: a run repeated from cache changes nothing. Versions without a readable manifest are
        passed over.

        Args:
            package: version directory of the blessed package.
            run_id: pipeline run, written into the manifest.
            evaluation: summary of the evaluation, written into the manifest.

        Raises:
            PackageError: `package` is not a package.
            ConfigError: the push directory cannot be written or its disk is too full.
        """
        manifest = Manifest.load(package)
        newest = self._newest()
        if newest is not None and _is_same(newest, manifest.content_hash):
            return newest, False
        completed = dataclasses.replace(manifest, run_id=run_id, evaluation=evaluation)
        try:
            return self._write(package, completed), True
        except OSError as error:
            raise ConfigError(
                f"push directory {self._base} cannot be written: {error.strerror}.",
                field="push.directory",
                remedy="Name a writable folder as `push.directory`.",
            ) from error

    def _newest(self) -> Path | None:
        for version in reversed(versions(self._base)):
            path = self._base / str(version)
            try:
                Manifest.load(path)
            except PackageError as error:
                _log.warning("version %s is passed over: %s", path, error)
            else:
                return path
        return None

    def _write(self, package: Path, manifest: Manifest) -> Path:
        self._base.mkdir(parents=True, exist_ok=True)
        self._sweep()
        self._check_space(package)
        temporary = self._base / f"{_TEMPORARY}{os.getpid()}-{uuid.uuid4().hex[:8]}"
        try:
            shutil.copytree(package, temporary)
            (temporary / MANIFEST_PATH).write_text(manifest.to_json(), encoding="utf-8")
            _flush(temporary)
            target = self._rename(temporary)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        _flush_one(self._base)
        return target

    def _rename(self, temporary: Path) -> Path:
        taken = [int(entry.name) for entry in self._base.iterdir() if entry.name.isdecimal()]
        version = max([int(self._clock()), *(number + 1 for number in taken)])
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


def _is_same(version: Path, content_hash: str) -> bool:
    """Whether a pushed version is blessed, has this content and still holds it."""
    manifest = Manifest.load(version)
    if manifest.content_hash != content_hash or not is_blessed(manifest.evaluation):
        return False
    try:
        verify_content(version, manifest)
    except PackageError as error:
        _log.warning("version %s is pushed again: %s", version, error)
        return False
    return True


def _flush(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        _flush_one(path)
    _flush_one(folder)


def _flush_one(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
