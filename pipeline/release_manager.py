"""ReleaseManager: push, canary, promote and rollback of one model, as the commands do them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from components.blessing import is_blessed
from components.pusher.package_pusher import PackagePusher
from components.pusher.push_result import PushResult
from components.pusher.release_directory import ReleaseDirectory
from models.contract.errors import ConfigError, ModelNotFoundError, NotBlessedError
from models.contract.manifest import Manifest
from models.contract.package import resolve_package
from models.contract.release_record import CANARY, STABLE, ReleaseRecord
from models.package import verify_content
from pipeline.blessing_origin import OWN_WORD, blessing_origin
from pipeline.model_config import MODEL_NAME
from pipeline.release_status import ReleaseStatus

UNBLESSED_OPTION = "--allow-unblessed"


class ReleaseManager:
    """Changes labels; every target must exist, hash to what its manifest says, and be blessed.

    Args:
        directory: the push directory.
        model: name of the model.
        who: recorded with each change; by default the user of this process.
    """

    def __init__(self, directory: Path, model: str, who: str | None = None) -> None:
        if Path(model).name != model or model in ("", ".", ".."):
            raise ConfigError(
                f"model name {model!r} is no name of a folder.",
                field="model",
                remedy=f"Name a folder of {directory}; `--directory` names another push directory.",
            )
        self._base = directory / model
        self._who = who

    def status(self) -> ReleaseStatus:
        """Versions, labels and history.

        Raises:
            ModelNotFoundError: nothing was pushed under this name.
            PackageError: `labels.json` or `releases.jsonl` cannot be read.
        """
        self._require_model()
        return ReleaseStatus.read(self._base)

    def push(
        self, package: Path, *, allow_unblessed: bool = False, keep: int | None = None, reason: str = ""
    ) -> PushResult:
        """Push a package by hand; its manifest stays as it is.

        Args:
            package: version directory, or the folder above: then its newest version.
            allow_unblessed: push it even if no evaluation blessed it; it then gets no label by itself.
            keep: newest blessed versions that stay, None for all.
            reason: recorded with the push. Where nothing but the package itself says that it was blessed,
                that is added to it.

        Raises:
            PackageError: it is no package or its files were changed.
            NotBlessedError: no evaluation blessed it.
            ConfigError: the push directory cannot be written, or the name is none that models have.
        """
        if not re.fullmatch(MODEL_NAME, self._base.name):
            raise _unfit_name(self._base.name)
        version = resolve_package(package)
        manifest = Manifest.load(version)
        verify_content(version, manifest)
        _require_blessing(manifest, f"package {version}", allow_unblessed)
        if is_blessed(manifest.evaluation) and blessing_origin(version, manifest) is None:
            reason = "; ".join(filter(None, (reason, OWN_WORD)))
        pusher = PackagePusher(self._base, keep=keep, who=self._who)
        return pusher.push(version, run_id=manifest.run_id, evaluation=manifest.evaluation, reason=reason)

    def canary(
        self, version: int | None, weight: float, *, allow_unblessed: bool = False, reason: str = ""
    ) -> ReleaseRecord:
        """Try a version on a share of the traffic.

        Args:
            version: by default the newest blessed one above the stable one that was not rolled back.
            weight: its share, between 0 and 1.
            allow_unblessed: take a version that no evaluation blessed.
            reason: recorded with the change.

        Raises:
            ModelNotFoundError: there is no such model or version.
            PackageError: the version was changed.
            NotBlessedError: no evaluation blessed it.
            ConfigError: it is the stable version, the weight does not fit, or there is none to choose.
        """
        with self._changing() as directory:
            chosen = _newest_candidate(directory, allow_unblessed) if version is None else version
            _check(directory, chosen, allow_unblessed)
            before = directory.labels.canary
            return directory.commit(
                "canary", label=CANARY, from_version=before, to_version=chosen, weight=weight, reason=reason
            )

    def promote(
        self, version: int | None = None, *, allow_unblessed: bool = False, reason: str = ""
    ) -> ReleaseRecord:
        """Make a version the stable one; a canary of it ends.

        Args:
            version: by default the canary, without one the newest blessed one above the stable one that
                was not rolled back.
            allow_unblessed: take a version that no evaluation blessed.
            reason: recorded with the change.

        Raises:
            as `canary`; ConfigError also while another version is the canary.
        """
        with self._changing() as directory:
            chosen = directory.labels.canary if version is None else version
            chosen = _newest_candidate(directory, allow_unblessed) if chosen is None else chosen
            _check(directory, chosen, allow_unblessed)
            before = directory.labels.stable
            return directory.commit(
                "promote", label=STABLE, from_version=before, to_version=chosen, reason=reason
            )

    def rollback(self, *, reason: str = "") -> ReleaseRecord:
        """End the canary; without one, make the previous stable version stable again.

        Earlier versions that are gone or damaged are passed over; the record's reason names them.

        Raises:
            ModelNotFoundError: there is no such model.
            ConfigError: there is nothing to go back to.
        """
        with self._changing() as directory:
            labels = directory.labels
            if labels.canary is not None:
                return directory.commit("rollback", label=CANARY, from_version=labels.canary, reason=reason)
            target = directory.rollback_target()
            if target is None:
                raise _no_way_back(self._base.name, labels.previous)
            skipped = labels.previous[::-1][: labels.previous[::-1].index(target)]
            told = f"{_listed(skipped)} passed over: gone or damaged" if skipped else ""
            return directory.commit(
                "rollback",
                label=STABLE,
                from_version=labels.stable,
                to_version=target,
                reason="; ".join(filter(None, (reason, told))),
            )

    @contextmanager
    def _changing(self) -> Iterator[ReleaseDirectory]:
        self._require_model()
        with ReleaseDirectory(self._base, who=self._who).locked() as directory:
            yield directory

    def _require_model(self) -> None:
        if self._base.is_dir():
            return
        there = models_in(self._base.parent)
        raise ModelNotFoundError(
            f"no model {self._base.name!r} in push directory {self._base.parent}; "
            f"there are: {', '.join(there) or 'none'}.",
            field="model",
            remedy="`tokenmill run` or `tokenmill push` pushes one; `--directory` names another directory.",
        )


def models_in(directory: Path) -> list[str]:
    """Names of the models in a push directory, sorted."""
    if not directory.is_dir():
        return []
    return sorted(entry.name for entry in directory.iterdir() if entry.is_dir() and entry.name[0] != ".")


def _newest_candidate(directory: ReleaseDirectory, allow_unblessed: bool) -> int:
    if allow_unblessed:
        raise ConfigError(
            f"`{UNBLESSED_OPTION}` was given without a version: only blessed ones are chosen by themselves.",
            field="version",
            remedy=f"Name the version with `--version`, or leave `{UNBLESSED_OPTION}` out.",
        )
    stable = -1 if directory.labels.stable is None else directory.labels.stable
    readable = {v: is_blessed(m.evaluation) for v, m in directory.readable().items() if v > stable}
    newer = {version for version, blessed in readable.items() if blessed}
    unblessed = sorted(readable.keys() - newer)
    if left := newer - directory.log.rolled_back.keys():
        return max(left)
    told = f"; {_listed(sorted(newer))} was rolled back" if newer else ""
    told += f"; {_listed(unblessed)} was blessed by no evaluation" if unblessed else ""
    raise ConfigError(
        f"there is no blessed version newer than the stable one ({directory.labels.stable}){told}.",
        field="version",
        remedy="Run the pipeline again, or name a version with `--version`.",
    )


def _check(directory: ReleaseDirectory, version: int, allow_unblessed: bool) -> None:
    manifest = directory.verified(version)
    _require_blessing(manifest, f"version {version}", allow_unblessed)


def _require_blessing(manifest: Manifest, name: str, allow_unblessed: bool) -> None:
    if not allow_unblessed and not is_blessed(manifest.evaluation):
        raise NotBlessedError(
            f"{name} was blessed by no evaluation.",
            remedy=f"Let a run evaluate it, or take it as it is with `{UNBLESSED_OPTION}`.",
        )


def _unfit_name(model: str) -> ConfigError:
    return ConfigError(
        f"model name {model!r} does not fit: up to 63 small letters, digits, `.`, `_` and `-`, the first "
        "one a letter or a digit.",
        field="model",
        remedy="Name another with `--model`.",
    )


def _no_way_back(model: str, previous: tuple[int, ...]) -> ConfigError:
    told = f": gone or damaged: {_listed(previous)}" if previous else ""
    return ConfigError(
        f"model {model!r} has no earlier stable version to go back to{told}.",
        field="model",
        remedy="Promote one with `tokenmill promote MODEL --version N`.",
    )


def _listed(versions: Sequence[int]) -> str:
    return ", ".join(f"version {version}" for version in versions)
