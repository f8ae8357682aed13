"""Checkpoints that `tokenmill export-hf` writes, loaded by transformers on PyTorch: are the logits the same?

Every golden goes from its checkpoint to a package and back to a checkpoint, where it can (it needs
the tiny tokenizer's number of ids), else from checkpoint to checkpoint; then transformers loads it.

    python scripts/check_hf_exports.py                        # PyTorch in this environment
    python scripts/check_hf_exports.py --torch-python PATH    # PyTorch in another one
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from models.export import export_package  # noqa: E402
from models.export_options import ExportOptions  # noqa: E402
from models.hf_export import export_hf  # noqa: E402
from models.hf_import import import_hf  # noqa: E402
from tests.models.golden import EXPORTED, NAMES, read_golden  # noqa: E402
from tests.tiny import write_tiny_tokenizer  # noqa: E402


def export(name: str, work: Path, out: Path) -> None:
    """Write the checkpoint `out/<name>` of a golden."""
    golden = read_golden(name, work / name)
    if name in EXPORTED:
        options = ExportOptions(model_name=name, num_blocks=16)
        export_hf(export_package(golden.checkpoint, work / "packages" / name, options), out / name)
    else:
        write_tiny_tokenizer(golden.checkpoint)
        import_hf(str(golden.checkpoint), out / name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch-python", default=sys.executable, help="interpreter with PyTorch")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        for name in NAMES:
            export(name, Path(folder), out)
        command = [arguments.torch_python, str(ROOT / "scripts" / "make_goldens.py"), "--load", str(out)]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
