"""connection_proto: a metadata connection in ML Metadata's own form."""

from __future__ import annotations

from ml_metadata.proto import metadata_store_pb2

from components.metadata.metadata_connection import MetadataConnection


def connection_proto(
    connection: MetadataConnection, *, readonly: bool = False, with_password: bool = True
) -> metadata_store_pb2.ConnectionConfig:
    """The message that ML Metadata opens a store by.

    Args:
        connection: where the store is.
        readonly: SQLite is opened for reading, and no missing database is made.
        with_password: False for a form that gets written down, such as a compiled pipeline.

    Raises:
        ConfigError: the password's environment variable is not set.
    """
    proto = metadata_store_pb2.ConnectionConfig()
    if connection.kind == "sqlite":
        sqlite = metadata_store_pb2.SqliteMetadataSourceConfig
        proto.sqlite.filename_uri = connection.path
        proto.sqlite.connection_mode = sqlite.READONLY if readonly else sqlite.READWRITE_OPENCREATE
        return proto
    password = connection.password() if with_password else ""
    if connection.kind == "mysql":
        proto.mysql.CopyFrom(_mysql(connection, password))
        proto.mysql.skip_db_creation = readonly or not connection.create_database
    else:
        proto.postgresql.CopyFrom(_postgresql(connection, password))
        proto.postgresql.skip_db_creation = readonly or not connection.create_database
    return proto


def _mysql(connection: MetadataConnection, password: str) -> metadata_store_pb2.MySQLDatabaseConfig:
    return metadata_store_pb2.MySQLDatabaseConfig(
        host=connection.host,
        port=connection.port,
        database=connection.database,
        user=connection.user,
        password=password,
    )


def _postgresql(connection: MetadataConnection, password: str) -> metadata_store_pb2.PostgreSQLDatabaseConfig:
    return metadata_store_pb2.PostgreSQLDatabaseConfig(
        host=_quoted(connection.host),
        port=str(connection.port),
        dbname=connection.database,
        user=_quoted(connection.user),
        password=_quoted(password) if password else None,
    )


def _quoted(value: str) -> str:
    r"""A value of libpq's connection string, in which ML Metadata puts it as it is.

    A password with a space or quote would otherwise end the value, and the rest of it would stand in
    the log: `buildConnectionConfig` in google/ml-metadata, metadata_store/postgresql_metadata_source.cc.
    """
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
