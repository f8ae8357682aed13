"""Make the environment of the engines that `tokenmill bench decode` is compared with.

They stay out of `.venv`: they pin other things, and llama.cpp is compiled from source (some minutes,
needs a C++ compiler and CMake). A package that cannot be installed is named and left out; the
benchmark names it in its table, too.

    python3 scripts/make_peers_env.py [--venv .tokenmill/peers]
    .venv/bin/tokenmill bench decode --random gpt2 --peer-python .tokenmill/peers/bin/python

Exit codes: 0 all installed, 1 the environment could not be made, 2 some packages are missing.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from bootstrap import ROOT, BootstrapError, find_python, run, say

COMMON = ("numpy", "safetensors", "gguf", "transformers")
"""What conversion of the checkpoint needs; pinned by constraints.txt."""
PEERS = {
    "torch": ("torch==2.13.0",),
    "ctranslate2": ("ctranslate2==4.8.5",),
    "llama_cpp": ("llama-cpp-python==0.3.36",),
    # The whole TensorFlow comes with it, since KerasHub runs on it here.
    "keras_hub": ("keras-hub==0.32.0", "tensorflow-cpu==2.21.0", "tensorflow-text==2.21.1", "keras==3.15.1"),
}
"""Module → its requirements. The extra `peers` of pyproject.toml has the same pins."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--venv", type=Path, default=ROOT / ".tokenmill" / "peers", help="where to install")
    venv = parser.parse_args().venv.resolve()
    try:
        python = make(venv)
    except (BootstrapError, OSError) as error:
        say(f"failed: {error}")
        return 1
    missing = [module for module in PEERS if not has(python, module) and not install(python, module)]
    if missing:
        say(f"missing: {', '.join(missing)}")
    say(f"peers: {python}")
    return 2 if missing else 0


def make(venv: Path) -> Path:
    """The environment's interpreter, with what the conversions need."""
    python = venv / "bin" / "python"
    if not python.is_file():
        say(f"creating {venv}")
        run(find_python(), "-m", "venv", venv)
    if not all(has(python, module) for module in COMMON):
        run(python, "-m", "pip", "install", "--quiet", "--constraint", pins(venv), *COMMON)
    return python


def pins(venv: Path) -> Path:
    """Tokenmill's pins of the common packages alone: the peers' others are their own affair."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    file = venv / "pins.txt"
    file.write_text("\n".join(line for line in lines if line.partition("==")[0] in COMMON) + "\n")
    return file


def has(python: Path, module: str) -> bool:
    probe = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([str(python), "-c", probe], check=False).returncode == 0


def install(python: Path, module: str) -> bool:
    say(f"installing {', '.join(PEERS[module])}")
    try:
        run(python, "-m", "pip", "install", "--quiet", *PEERS[module])
    except BootstrapError as error:
        say(f"{module} is left out: {error}")
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
