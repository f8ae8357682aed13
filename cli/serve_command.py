"""`tokenmill serve`: a model package behind an OpenAI-compatible HTTP API."""

from __future__ import annotations

from pathlib import Path

import click

from cli.console import print_json, quiet_tensorflow
from models.contract.errors import ConfigError


@click.command(name="serve")
@click.argument("packages", metavar="PACKAGE", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=8000,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port to listen on; 0 for a free one.",
)
@click.option(
    "--drain-seconds",
    # Kubernetes grants 30 s from SIGTERM to the end of the process.
    default=25.0,
    show_default=True,
    type=click.FloatRange(min=0),
    help="How long answers in flight may go on after SIGTERM.",
)
def command(packages: tuple[Path, ...], host: str, port: int, drain_seconds: float) -> None:
    """Serve a model package (a version directory, or its base: then the newest version).

    When it takes requests it prints one JSON line on stdout: {"ready": true, "http": URL, "model": NAME}.
    The first calls of a model are slow; /readyz answers 200 after a warm-up behind that line. A package
    exported with --xla is compiled in the background then, while requests are served; /readyz and /metrics
    tell how far that is.
    Its log goes to stderr as JSON lines, without any text of prompts or answers. SIGTERM and Ctrl-C let
    answers in flight end, then it exits with 0; a second signal cuts them short.

    Endpoints: POST /v1/completions, GET /v1/models, /healthz, /readyz, /metrics.

    \b
    Examples:
      tokenmill serve .tokenmill/models/stdlib-completion
      tokenmill serve ./packages/mine/3 --host 0.0.0.0 --port 9000
    """
    if len(packages) > 1:
        raise ConfigError(
            f"{len(packages)} packages are named ({', '.join(map(str, packages))}).",
            field="PACKAGE",
            remedy="Name one; start one server per package.",
        )
    from models.contract.package import resolve_package

    package = resolve_package(packages[0])
    import asyncio

    from serving.gateway.process_log import log_as_json
    from serving.gateway.single_process import serve_package

    log_as_json()
    asyncio.run(
        serve_package(package, host, port, drain_seconds, prepare=quiet_tensorflow, on_ready=_print_ready)
    )


def _print_ready(url: str, model: str) -> None:
    print_json({"ready": True, "http": url, "model": model})
