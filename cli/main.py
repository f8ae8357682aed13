"""Entry point of `tokenmill`: a command group that imports a command only when it is called."""

from __future__ import annotations

import importlib
import io
import sys

import click

from cli.console import EXIT_CODES_HELP, fail, say
from models.contract.errors import TokenmillError

COMMANDS = {
    "doctor": "cli.doctor_command",
    "init": "cli.init_command",
    "schema": "cli.schema_command",
    "import": "cli.import_command",
    "run": "cli.run_command",
    "runs": "cli.runs_command",
    "export": "cli.export_command",
    "export-hf": "cli.export_hf_command",
    "evaluate": "cli.evaluate_command",
    "push": "cli.push_command",
    "canary": "cli.canary_command",
    "promote": "cli.promote_command",
    "rollback": "cli.rollback_command",
    "releases": "cli.releases_command",
    "tokenize": "cli.tokenize_command",
    "generate": "cli.generate_command",
    "serve": "cli.serve_command",
    "bench": "cli.bench_command",
}
"""Command name → module; the module's `command` is a click command."""


class LazyGroup(click.Group):
    """A click group whose commands are modules imported on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the table above: the order of use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module, if there is one."""
        module = COMMANDS.get(cmd_name)
        return importlib.import_module(module).command if module else None


@click.group(cls=LazyGroup, epilog=EXIT_CODES_HELP, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="tokenmill")
def cli() -> None:
    """Tokenmill: from a text corpus and a checkpoint to tokens streaming to users."""


def main() -> None:
    """Run the command line; turn every TokenmillError into one message and its exit code.

    A reader of stdout that leaves early (`| head -1`) ends the command without a word; click and
    rich see to that.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(_run())


def _run() -> int:
    try:
        # A command returns None, an `Exit` within it arrives here as its code.
        return cli(standalone_mode=False) or 0
    except TokenmillError as error:
        return fail(error)
    except click.exceptions.Abort:
        say("Interrupted.", err=True)
        return 130
    except click.ClickException as error:
        from pipeline.terminal import visible

        error.message = visible(error.message, keep="\n")
        error.show()
        return error.exit_code


if __name__ == "__main__":
    main()
