"""MetadataConfig: which database holds ML Metadata."""

from __future__ import annotations

import re
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

_NEEDED = ("host", "database", "user")
_ENVIRONMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class MetadataConfig(BaseModel):
    """The store of the runs' history: a SQLite file in the working directory, or a database server.

    Runs of several machines may share a server; the password comes from the environment only. The
    connection is not encrypted: ML Metadata's PostgreSQL client is built without TLS, and its MySQL client
    fails a TLS handshake. Over a network that is not trusted, go through a tunnel.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["sqlite", "mysql", "postgresql"] = Field(
        default="sqlite", description="`sqlite` is a file in `workdir`; `mysql` is MariaDB as well."
    )
    host: str | None = Field(default=None, min_length=1, description="Host of the database server.")
    port: int | None = Field(
        default=None, ge=1, le=65535, description="Its port; by default 3306 for mysql, 5432 for postgresql."
    )
    # ML Metadata puts the name into SQL without quotes, so PostgreSQL would fold capitals.
    database: str | None = Field(
        default=None,
        pattern=r"^[a-z_][a-z0-9_]{0,62}$",
        description="Name of the database; made by the first run if it is missing.",
    )
    user: str | None = Field(default=None, min_length=1, description="Who logs in.")
    password_env: str | None = Field(
        default=None, description="Environment variable that holds the password; none for a login without."
    )
    create_database: bool = Field(
        default=True,
        description="Whether a run may make the database; off for a user who may only use an existing one.",
    )

    @field_validator("password_env")
    @classmethod
    def _is_a_name(cls, value: str | None) -> str | None:
        # The value is not repeated: someone may have put the password itself here.
        if value is not None and not _ENVIRONMENT_NAME.fullmatch(value):
            raise ValueError("is not the name of an environment variable; put the password into one")
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.kind == "sqlite":
            fields = type(self).model_fields
            extra = [key for key in fields if key != "kind" and getattr(self, key) != fields[key].default]
            if extra:
                raise ValueError(f"kind sqlite takes no {', '.join(f'`{key}`' for key in extra)}")
            return self
        missing = [key for key in _NEEDED if getattr(self, key) is None]
        if missing:
            raise ValueError(f"kind {self.kind} needs {', '.join(f'`{key}`' for key in missing)} as well")
        return self
