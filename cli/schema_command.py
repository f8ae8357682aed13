"""`tokenmill schema`: the configuration's JSON schema."""

from __future__ import annotations

from pathlib import Path

import click

from models.contract.errors import ConfigError


@click.command(name="schema")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="File; by default stdout.")
def command(out: Path | None) -> None:
    """Print the JSON schema of the configuration, for editors and other tools.

    \b
    Examples:
      tokenmill schema > tokenmill.schema.json
      tokenmill schema --out tokenmill.schema.json
    """
    from pipeline.config_schema import schema_text

    if out is None:
        click.echo(schema_text(), nl=False)
        return
    try:
        out.write_text(schema_text(), encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"{out} cannot be written: {error.strerror}.", field="out", remedy="Name another file."
        ) from error
    click.echo(f"wrote {out}")
