"""`tokenmill schema`: the configuration's JSON schema."""

from __future__ import annotations

import json
from pathlib import Path

import click

from cli.console import json_option, print_json, say
from models.contract.errors import ConfigError


@click.command(name="schema")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="File; by default stdout.")
@json_option
def command(out: Path | None, as_json: bool) -> None:
    """Print the JSON schema of the configuration, for editors and other tools.

    With --json it is one line; with --out besides, the line names the file that was written.

    \b
    Examples:
      tokenmill schema > tokenmill.schema.json
      tokenmill schema --out tokenmill.schema.json
      tokenmill schema --json
    """
    from pipeline.config_schema import schema_text

    if out is None:
        if as_json:
            print_json(json.loads(schema_text()))
        else:
            click.echo(schema_text(), nl=False)
        return
    try:
        out.write_text(schema_text(), encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"{out} cannot be written: {error.strerror}.", field="out", remedy="Name another file."
        ) from error
    if as_json:
        print_json({"path": str(out)})
    else:
        say(f"wrote {out}")
