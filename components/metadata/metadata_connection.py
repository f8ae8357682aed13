"""MetadataConnection: how to reach one metadata database, without its password."""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from components.metadata.metadata_config import MetadataConfig
from models.contract.errors import ConfigError

DATABASE_FILE = "metadata.sqlite"
_PORTS = {"mysql": 3306, "postgresql": 5432}


@dataclass(frozen=True, slots=True)
class MetadataConnection:
    """Connection facts that may be written down: parameters of components, files of a working directory.

    Args:
        kind: of the database.
        path: SQLite file, absolute; "" for a server.
        host: of a server.
        port: of a server.
        database: its database.
        user: who logs in.
        password_env: environment variable with the password, "" for none.
        create_database: whether a run may make the database.
    """

    kind: Literal["sqlite", "mysql", "postgresql"]
    path: str = ""
    host: str = ""
    port: int = 0
    database: str = ""
    user: str = ""
    password_env: str = ""
    create_database: bool = True

    @classmethod
    def of(cls, config: MetadataConfig, workdir: Path) -> Self:
        """The connection that a configuration means."""
        if config.kind == "sqlite":
            return cls.sqlite(workdir / DATABASE_FILE)
        return cls(
            kind=config.kind,
            host=config.host or "",
            port=config.port or _PORTS[config.kind],
            database=config.database or "",
            user=config.user or "",
            password_env=config.password_env or "",
            create_database=config.create_database,
        )

    @classmethod
    def sqlite(cls, file: Path) -> Self:
        """The connection to a SQLite file."""
        return cls(kind="sqlite", path=str(file.resolve()))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote.

        Raises:
            ConfigError: it is something else.
        """
        try:
            return cls(**json.loads(text))
        except (ValueError, TypeError) as error:
            raise ConfigError(
                f"the metadata connection is not what a run writes: {error}.", field="metadata"
            ) from error

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(dataclasses.asdict(self))

    def __str__(self) -> str:
        if self.kind == "sqlite":
            return f"metadata database {self.path}"
        name = {"mysql": "MySQL", "postgresql": "PostgreSQL"}[self.kind]
        return f"{name} database {self.database} at {self.host}:{self.port} (user {self.user})"

    def password(self) -> str:
        """The password, "" for none.

        Raises:
            ConfigError: its environment variable is not set.
        """
        if not self.password_env:
            return ""
        password = os.environ.get(self.password_env)
        if password is None:
            raise ConfigError(
                f"{self}: the environment has no {self.password_env}.",
                field="metadata.password_env",
                remedy=f"Set {self.password_env} to the password.",
            )
        return password
