from __future__ import annotations

import logging
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from pipeline.output_capture import captured_output


def test_everything_but_the_yielded_stream_goes_to_the_log(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    with captured_output(tmp_path / "run.log") as terminal:
        print("print")
        print("error print", file=sys.stderr)
        os.write(1, b"from C, out\n")
        os.write(2, b"from C, err\n")
        logging.getLogger("any").info("logged")
        warnings.warn("warned", stacklevel=1)
        subprocess.run([sys.executable, "-c", "print('child')"], check=True)
        terminal.write("for people\n")
    print("after")
    shown, log = capfd.readouterr(), (tmp_path / "run.log").read_text()
    assert (shown.out, shown.err) == ("after\n", "for people\n")
    expected = ("print", "error print", "from C, out", "from C, err", "logged", "warned", "child")
    assert [text for text in expected if text not in log] == []


def test_streams_and_handlers_come_back_after_an_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    handlers = logging.getLogger().handlers[:]
    open_before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(KeyError), captured_output(tmp_path / "run.log"):
        raise KeyError("x")
    print("visible")
    assert capfd.readouterr().out == "visible\n"
    assert logging.getLogger().handlers == handlers
    assert len(os.listdir("/proc/self/fd")) == open_before
