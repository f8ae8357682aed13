"""`tokenmill doctor`: what this machine has, and what is missing."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from cli.console import json_option, print_json, stdout_console

NEEDED_PACKAGES = (
    "tokenmill",
    "tokenmill-client",
    "tensorflow",
    "tensorflow-text",
    "keras",
    "tfx",
    "apache-beam",
    "ml-metadata",
    "transformers",
    "tokenizers",
    "gguf",
)
CPU_FEATURES = ("avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16")
NEEDED_GLIBC = (2, 39)
NEEDED_MEMORY_GIB = 12
NEEDED_DISK_GIB = 10


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report.

    Args:
        name: what was looked at.
        value: what was found.
        ok: whether Tokenmill can work with it.
        remedy: what to do if not; "" if nothing is needed.
    """

    name: str
    value: str
    ok: bool = True
    remedy: str = ""


def check_packages() -> list[Check]:
    """Versions of the packages that every run needs."""
    checks = []
    for name in NEEDED_PACKAGES:
        try:
            checks.append(Check(name, importlib.metadata.version(name)))
        except importlib.metadata.PackageNotFoundError:
            checks.append(Check(name, "missing", ok=False, remedy="Run `make install`."))
    return checks


def check_platform() -> list[Check]:
    """Interpreter, C library and processor."""
    python_ok = sys.version_info[:2] == (3, 11)
    libc = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else None
    version = tuple(int(part) for part in libc.split()[1].split(".")) if libc else (0,)
    return [
        Check("Python", platform.python_version(), python_ok, "" if python_ok else "Run `make install`."),
        Check(
            "glibc",
            libc or "not glibc",
            version >= NEEDED_GLIBC,
            "" if version >= NEEDED_GLIBC else "Run `make install`.",
        ),
        Check("system", f"{platform.system()} {platform.machine()}"),
        Check("CPU cores", str(len(os.sched_getaffinity(0)))),
        Check("CPU features", ", ".join(_cpu_features()) or "none of those that matter"),
    ]


def _cpu_features() -> list[str]:
    try:
        flags = set(Path("/proc/cpuinfo").read_text().split())
    except OSError:
        return []
    return [feature for feature in CPU_FEATURES if feature in flags]


def check_resources(folder: Path) -> list[Check]:
    """Memory of the machine and disk space where runs write."""
    import psutil

    gib = 1 << 30
    memory, disk = psutil.virtual_memory(), shutil.disk_usage(folder)
    enough_memory, enough_disk = memory.total >= NEEDED_MEMORY_GIB * gib, disk.free >= NEEDED_DISK_GIB * gib
    return [
        Check(
            "memory",
            f"{memory.available / gib:.1f} of {memory.total / gib:.1f} GiB available",
            enough_memory,
            ""
            if enough_memory
            else f"The demo needs about {NEEDED_MEMORY_GIB} GiB; lower `training.batch_size`.",
        ),
        Check(
            "disk",
            f"{disk.free / gib:.1f} GiB free",
            enough_disk,
            "" if enough_disk else f"Free some space: a run needs about {NEEDED_DISK_GIB} GiB.",
        ),
    ]


def _print_table(checks: list[Check]) -> None:
    from pipeline.data_table import DataTable
    from pipeline.terminal import styled

    table = DataTable(("checked", "found", "remedy"), prose=("found", "remedy"))
    for check in checks:
        mark = ("✓ ", "green") if check.ok else ("✗ ", "red")
        table.add(styled(mark, check.name), check.value, check.remedy)
    stdout_console().print(table)


@click.command(epilog="Example: tokenmill doctor --json")
@json_option
def command(as_json: bool) -> None:
    """Show versions, C library, processor, memory, disk and what is missing.

    Exits with 1 if something that Tokenmill needs is missing.
    """
    checks = [*check_platform(), *check_resources(Path.cwd()), *check_packages()]
    healthy = all(check.ok for check in checks)
    if as_json:
        print_json({"ok": healthy, "checks": [asdict(check) for check in checks]})
    else:
        _print_table(checks)
    if not healthy:
        raise click.exceptions.Exit(1)
