"""Real PostgreSQL and MariaDB servers on free loopback ports, as unprivileged system users, for tests."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PASSWORD = "a secret, with ' and @ and % in it"
"""Of the database user: full of what a connection string must quote."""
USER = "mill"
_START_SECONDS = 60


@dataclass(frozen=True)
class DatabaseServer:
    """A running server.

    Args:
        kind: "postgresql" or "mysql", as the configuration calls it.
        port: on 127.0.0.1.
        pid: of its process.
        folder: its data and log.
        run_sql: runs statements as the administrator and returns what they print.
    """

    kind: str
    port: int
    pid: int
    folder: Path
    run_sql: Callable[[str], str]


def missing_program(kind: str) -> str | None:
    """Why a server of this kind cannot be started here, naming the package to install."""
    if kind == "postgresql":
        return None if _postgresql_bin() else "no initdb and postgres: install the package postgresql"
    found = shutil.which("mariadbd") and shutil.which("mariadb-install-db")
    return None if found else "no mariadbd and mariadb-install-db: install the package mariadb-server"


@contextmanager
def database_server(kind: str) -> Iterator[DatabaseServer]:
    """Start a server with a user `USER` that may create databases; stop it in the end."""
    start = _start_postgresql if kind == "postgresql" else _start_mariadb
    # A short path: a Unix socket's name has at most 107 bytes.
    folder = Path(tempfile.mkdtemp(prefix=f"mill-{kind}-"))
    process: subprocess.Popen[bytes] | None = None
    try:
        port = _free_port()
        process, run_sql = start(folder, port)
        yield DatabaseServer(kind, port, process.pid, folder, run_sql)
    finally:
        if process is not None:
            # PostgreSQL's fast shutdown; on SIGTERM it would wait for clients to leave.
            process.send_signal(signal.SIGINT if kind == "postgresql" else signal.SIGTERM)
            process.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


def _start_postgresql(folder: Path, port: int) -> tuple[subprocess.Popen[bytes], Callable[[str], str]]:
    programs = _postgresql_bin()
    assert programs is not None
    user = _owner(folder, "postgres")
    data = folder / "data"
    initdb = [programs / "initdb", "-D", data, "-U", "admin", "--auth-host=scram-sha-256", "--no-sync"]
    _run([*initdb, "--auth-local=trust", "-E", "UTF8"], user, folder)
    options = ["-D", data, "-p", str(port), "-k", folder, "-c", "listen_addresses=127.0.0.1", "-F"]
    process = _popen([programs / "postgres", *options], user, folder)
    psql = [programs / "psql", "-h", folder, "-p", str(port), "-U", "admin", "-d", "postgres", "-Atqc"]

    def run_sql(statement: str) -> str:
        return _run([*psql, statement], user, folder)

    quoted = PASSWORD.replace("'", "''")
    _wait(lambda: run_sql(f"CREATE ROLE {USER} LOGIN CREATEDB PASSWORD '{quoted}'"), process, folder)
    return process, run_sql


def _start_mariadb(folder: Path, port: int) -> tuple[subprocess.Popen[bytes], Callable[[str], str]]:
    user = _owner(folder, "mysql")
    data, sock = folder / "data", folder / "socket"
    install = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--skip-test-db"]
    _run([*install, "--auth-root-authentication-method=normal"], user, folder)
    options = [f"--datadir={data}", f"--socket={sock}", f"--port={port}", "--bind-address=127.0.0.1"]
    fast = ["--innodb-flush-log-at-trx-commit=0", "--skip-name-resolve", f"--pid-file={folder / 'pid'}"]
    process = _popen([shutil.which("mariadbd") or "", "--no-defaults", *options, *fast], user, folder)
    client = ["mariadb", "--no-defaults", f"--socket={sock}", "-u", "root", "-N", "-B", "-e"]

    def run_sql(statement: str) -> str:
        return _run([*client, statement], user, folder)

    quoted = PASSWORD.replace("'", "''")
    create = f"CREATE USER {USER}@'%' IDENTIFIED BY '{quoted}'; GRANT ALL ON *.* TO {USER}@'%'"
    _wait(lambda: run_sql(create), process, folder)
    return process, run_sql


def _postgresql_bin() -> Path | None:
    places = [
        *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True),
        *map(Path, os.get_exec_path()),
    ]
    return next((place for place in places if (place / "initdb").exists()), None)


def _owner(folder: Path, name: str) -> str | None:
    """The user to run as, made the folder's owner: both servers refuse to run as root."""
    if os.geteuid() != 0:
        return None
    entry = pwd.getpwnam(name)
    os.chown(folder, entry.pw_uid, entry.pw_gid)
    return name


def _run(command: Sequence[str | Path], user: str | None, folder: Path) -> str:
    done = subprocess.run(
        [str(word) for word in command], cwd=folder, user=user, capture_output=True, text=True, timeout=120
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]}: {done.stderr or done.stdout}")
    return done.stdout


def _popen(command: Sequence[str | Path], user: str | None, folder: Path) -> subprocess.Popen[bytes]:
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            [str(word) for word in command], cwd=folder, user=user, stdout=log, stderr=log
        )


def _wait(create: Callable[[], str], process: subprocess.Popen[bytes], folder: Path) -> None:
    """Create the user as soon as the server answers; if it never does, stop it."""
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            create()
            return
        except RuntimeError as error:
            if process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.2)
                continue
            process.kill()
            log = (folder / "log").read_text(errors="replace")
            raise RuntimeError(f"no server: {error}\n{log[-2000:]}") from error


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
