from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_what_is_left_out_fails_as_if_it_were_not_installed():
    run(
        "from cli.lean_import import leave_out\n"
        "leave_out('xmlrpc')\n"
        "try: import xmlrpc\n"
        "except ImportError: pass\n"
        "else: raise AssertionError\n"
    )


def test_what_is_there_stays_there():
    run("import json\nfrom cli.lean_import import leave_out\nleave_out('json')\nimport json\njson.dumps(1)")
