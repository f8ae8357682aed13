#!/usr/bin/env python3
"""Install the system programs that tests use for real, through apt when run as root.

Needs only the standard library. Programs that are there are left alone; without root or apt, or if
apt fails, the tests that are left out are named and the exit code is 0: `make test` runs the rest.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Program:
    """A program, the Debian package it comes with, and what needs it.

    Args:
        package: Debian's name.
        patterns: globs below / or names on PATH; one that exists is enough.
        tests: what is left out without it.
    """

    package: str
    patterns: tuple[str, ...]
    tests: str

    def is_there(self, root: Path = Path("/")) -> bool:
        """Whether the program can be run."""
        return any(
            shutil.which(pattern) is not None if "/" not in pattern else any(root.glob(pattern.lstrip("/")))
            for pattern in self.patterns
        )


PROGRAMS = (
    Program("postgresql", ("/usr/lib/postgresql/*/bin/initdb", "initdb"), "runs recorded in PostgreSQL"),
    Program("mariadb-server", ("mariadbd", "/usr/sbin/mariadbd"), "runs recorded in MariaDB"),
    Program("chromium", ("chromium", "chromium-browser", "google-chrome"), "the report in a real browser"),
)


def missing(programs: tuple[Program, ...] = PROGRAMS) -> list[Program]:
    """Programs that are not there."""
    return [program for program in programs if not program.is_there()]


def install(packages: list[str]) -> bool:
    """Install by apt, without what is only recommended; the package lists are fetched first."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for words in (["update", "-q"], ["install", "-q", "-y", "--no-install-recommends", *packages]):
        done = subprocess.run(["apt-get", *words], env=environment, capture_output=True, text=True)
        if done.returncode:
            print("\n".join(done.stderr.strip().splitlines()[-5:]), file=sys.stderr)
            return False
    return True


def main() -> int:
    """Install what is missing, or say what is left out."""
    lacking = missing()
    if lacking and os.geteuid() == 0 and shutil.which("apt-get"):
        names = [program.package for program in lacking]
        print(f"[system] installing {', '.join(names)} for tests that use them", file=sys.stderr, flush=True)
        install(names)
    for program in missing():
        print(f"[system] without {program.package}, left out: {program.tests}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
