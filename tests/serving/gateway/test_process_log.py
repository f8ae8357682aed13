from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]

SCRIPT = """
import logging, os, sys, warnings
from serving.gateway.process_log import log_as_json, native_lines_as_records
log_as_json(logging.DEBUG)
logging.getLogger("a").info("hello %s", "wörld", extra={"tokens": 3})
with native_lines_as_records():
    os.write(2, b"chatter of a library\\n")
    logging.getLogger("a").info("meanwhile")
warnings.warn("careful")
try:
    1 / 0
except ZeroDivisionError:
    logging.getLogger("a").exception("failed")
"""


def test_everything_on_stderr_is_json_lines():
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, check=True)
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert [(line["level"], line["logger"]) for line in lines] == [
        ("info", "a"),
        ("info", "a"),
        ("debug", "native"),
        ("warning", "py.warnings"),
        ("error", "a"),
    ]
    assert lines[0]["message"] == "hello wörld"
    assert lines[0]["tokens"] == 3
    assert lines[2]["message"] == "chatter of a library"
    assert "ZeroDivisionError" in lines[4]["exception"]
    assert done.stdout == b""
