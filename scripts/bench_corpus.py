"""Measure what reading a large corpus takes: one JSON line per format with bytes, seconds and peak memory.

    .venv/bin/python scripts/bench_corpus.py                       # 1 GB of each format
    .venv/bin/python scripts/bench_corpus.py --megabytes 64 --formats jsonl csv --near-duplicates

A file of each format is written, read by the corpus ExampleGen in a process of its own, and removed. Memory
is the largest resident set of that process above the one it had when everything was imported.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
ROW_BYTES = 600
POOL_BYTES = 2**23


def main() -> None:
    arguments = parse()
    if arguments.measure:
        print(json.dumps(measure(arguments)))
        return
    for name in arguments.formats:
        with tempfile.TemporaryDirectory(prefix="bench-corpus-") as folder:
            path = Path(folder) / "corpus" / f"corpus.{'txt' if name == 'text' else name}"
            path.parent.mkdir()
            WRITERS[name](path, arguments.megabytes * 10**6)
            command = [sys.executable, __file__, *sys.argv[1:], "--formats", name, "--measure", str(path)]
            done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
            print(done.stdout.strip().splitlines()[-1], flush=True)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--formats", nargs="+", choices=list(WRITERS), default=list(WRITERS))
    parser.add_argument("--near-duplicates", action="store_true", help="look for near-duplicates and leaks")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def measure(arguments: argparse.Namespace) -> dict[str, object]:
    """Run the ExampleGen's executor on one file."""
    sys.path.insert(0, str(ROOT))
    from tfx.dsl.components.base.base_beam_executor import BaseBeamExecutor
    from tfx.types import standard_artifacts

    from components.corpus_example_gen.corpus_config import CorpusConfig
    from components.corpus_example_gen.executor import CorpusExampleGenExecutor

    path, action = arguments.measure, "drop" if arguments.near_duplicates else "off"
    config = CorpusConfig(
        sources=[{"name": "bench", "path": str(folder_of(path))}],
        near_duplicates={"action": action},
        leakage={"action": action},
    )
    examples = standard_artifacts.Examples()
    examples.uri = str(path.parent.parent / "examples")
    context = BaseBeamExecutor.Context(
        tmp_dir=str(path.parent.parent / "tmp"),
        unique_id="1",
        beam_pipeline_args=["--direct_running_mode=in_memory"],
    )
    executor = CorpusExampleGenExecutor(context)
    before = reset_peak()
    start = time.monotonic()
    executor.Do({}, {"examples": [examples]}, {"config": config.model_dump_json(), "chat_template": ""})
    seconds = time.monotonic() - start
    report = json.loads((Path(examples.uri) / "corpus_report.json").read_text())
    return {
        "format": arguments.formats[0],
        "bytes": path.stat().st_size,
        "documents": report["documents"],
        "near_duplicates_and_leaks": action,
        "seconds": round(seconds, 1),
        "megabytes_per_second": round(path.stat().st_size / 1e6 / seconds, 1),
        "peak_memory_above_start_megabytes": round((peak() - before) / 1e6, 1),
    }


def folder_of(path: Path) -> Path:
    """The corpus: the file, or of a text, which is a single group, a folder with a second one."""
    if path.suffix == ".txt":
        (path.parent / "other.txt").write_text("another text, so that there are two groups\n")
        return path.parent
    return path


def reset_peak() -> int:
    """Resident bytes now, from where on the peak is counted."""
    Path("/proc/self/clear_refs").write_text("5")
    return memory("VmRSS")


def peak() -> int:
    return memory("VmHWM")


def memory(field: str) -> int:
    found = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found.group(1)) * 1024


def rows(size: int) -> Iterator[str]:
    """Different texts of some hundred bytes, in all about so many bytes."""
    random = np.random.default_rng(0)
    words = ["".join(random.choice(list("etaoinshrdlu"), length)) for length in random.integers(2, 10, 5000)]
    pool = " ".join(random.choice(words, POOL_BYTES // 7))
    for number in range(size // ROW_BYTES):
        start = int(random.integers(0, len(pool) - ROW_BYTES))
        yield f"{number} {pool[start : start + ROW_BYTES - 20]}"


def write_text(path: Path, size: int) -> None:
    with path.open("w") as file:
        file.writelines(f"{text}\n" for text in rows(size))


def write_jsonl(path: Path, size: int) -> None:
    with path.open("w") as file:
        file.writelines(json.dumps({"text": text}) + "\n" for text in rows(size))


def write_csv(path: Path, size: int) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text"])
        writer.writerows(enumerate(rows(size)))


def write_parquet(path: Path, size: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([("text", pa.string())])
    # One row group of a million rows: what a reader that takes whole groups would hold in memory.
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        texts = list(rows(size))
        writer.write_table(pa.table({"text": texts}, schema), row_group_size=2**20)


def write_tfrecord(path: Path, size: int) -> None:
    import tensorflow as tf

    with tf.io.TFRecordWriter(str(path)) as writer:
        for text in rows(size):
            value = tf.train.Feature(bytes_list=tf.train.BytesList(value=[text.encode()]))
            example = tf.train.Example(features=tf.train.Features(feature={"text": value}))
            writer.write(example.SerializeToString())


WRITERS: dict[str, Callable[[Path, int], None]] = {
    "text": write_text,
    "jsonl": write_jsonl,
    "csv": write_csv,
    "parquet": write_parquet,
    "tfrecord": write_tfrecord,
}

if __name__ == "__main__":
    main()
