"""The full test of the tokenizers: no document may have other ids than the reference gives it.

Over real texts found on this machine and over made ones, each of them cut at any byte, for published
vocabularies and for ones trained here; then text of random ids, whole and in pieces. Prints a table
kind × vocabulary and the first mismatches, made small.

    .venv/bin/python scripts/tokenizer_full.py      # all; two processes, twenty minutes
    .venv/bin/python scripts/tokenizer_full.py --vocabularies GPT-2 --megabytes 2

Exit codes: 0 no mismatch, 1 some, or a vocabulary that is refused or cannot be had, or less real text on
this machine than was asked for.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from tokenizer_full_check import Comparer, Outcome, reference_of  # noqa: E402
from tokenizer_full_fuzz import families, stream  # noqa: E402
from tokenizer_full_vocabularies import VOCABULARIES, MissingVocabularyError, prepared  # noqa: E402

from models.contract.errors import CheckpointError  # noqa: E402
from pipeline.data_table import DataTable  # noqa: E402
from pipeline.terminal import PlainConsole  # noqa: E402
from serving.benchmarks.machine_texts import TEXT_KINDS, documents  # noqa: E402

PROCESSES = 2
PART_BYTES = 6_000_000
DECODED_ROWS = 4_000
DECODING = "random ids"
FAMILIES = tuple(families([b"a"], []))


@dataclass(frozen=True)
class Job:
    """A part of one kind of text for one vocabulary.

    Args:
        vocabulary: key of VOCABULARIES.
        path: its file.
        kind: key of TEXT_KINDS, one of FAMILIES, or DECODING.
        size: bytes of text, or rows of ids.
        part: of the kind's texts this one …
        parts: … of so many.
    """

    vocabulary: str
    path: Path
    kind: str
    size: int
    part: int = 0
    parts: int = 1


def main() -> int:
    options = parse()
    started = time.monotonic()
    paths, faults = {}, {}
    for name in options.vocabularies:
        say(f"preparing {name}")
        try:
            paths[name] = prepared(name)
        except MissingVocabularyError as error:
            faults[name] = f"cannot be had: {error}"
    jobs = [job for name, path in paths.items() for job in plan(name, path, options.megabytes)]
    outcomes, refused = run(jobs, options.processes)
    faults |= refused
    for name, missing in short_texts(jobs, outcomes).items():
        faults[name] = f"{faults[name]}; {missing}" if name in faults else missing
    show(outcomes, faults)
    say(f"{time.monotonic() - started:.0f} s")
    if options.json:
        options.json.write_text(json.dumps(plain(outcomes, faults), indent=1) + "\n", encoding="utf-8")
    wrong = [
        outcome.mismatches
        for (name, kind), outcome in outcomes.items()
        if VOCABULARIES[name].exact or kind == DECODING
    ]
    return 1 if faults or any(wrong) else 0


def parse(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = list(VOCABULARIES)
    parser.add_argument("--vocabularies", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument(
        "--megabytes", type=above_zero, help="of real and of made text, instead of the plan's"
    )
    parser.add_argument("--processes", type=at_least_one, default=PROCESSES)
    parser.add_argument("--json", type=writable, help="also write the outcomes there")
    return parser.parse_args(words)


def above_zero(word: str) -> float:
    value = float(word)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{word}: must be above 0")
    return value


def at_least_one(word: str) -> int:
    value = int(word)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{word}: must be 1 or more")
    return value


def writable(word: str) -> Path:
    """A file that can be written, told before the long run and not after it."""
    path = Path(word)
    try:
        path.open("a").close()
    except OSError as error:
        raise argparse.ArgumentTypeError(f"{word}: cannot be written: {error.strerror}") from error
    return path


def plan(name: str, path: Path, megabytes: float | None = None) -> list[Job]:
    """All jobs of a vocabulary: as much real as made text, the same of each kind."""
    size = round((VOCABULARIES[name].megabytes if megabytes is None else megabytes) * 1e6)
    jobs = []
    for kinds in (tuple(TEXT_KINDS), FAMILIES):
        each = size // len(kinds)
        parts = -(-each // PART_BYTES)
        for kind in kinds:
            jobs += [Job(name, path, kind, each // parts, part, parts) for part in range(parts)]
    rows = DECODED_ROWS if megabytes is None else min(DECODED_ROWS, round(megabytes * 200))
    return [*jobs, Job(name, path, DECODING, rows)]


Outcomes = dict[tuple[str, str], Outcome]


def run(jobs: Sequence[Job], processes: int) -> tuple[Outcomes, dict[str, str]]:
    """Outcomes by vocabulary and kind, and vocabularies that are refused with the reason."""
    outcomes: Outcomes = {}
    faults: dict[str, str] = {}
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, initializer=one_thread) as pool:
        futures: list[tuple[Job, Future[Outcome | str]]] = [(job, pool.submit(work, job)) for job in jobs]
        for number, (job, future) in enumerate(futures, 1):
            outcome = future.result()
            if isinstance(outcome, str):
                faults[job.vocabulary] = outcome
                continue
            outcomes.setdefault((job.vocabulary, job.kind), Outcome()).add(outcome)
            found = f", {outcome.mismatches} MISMATCHES" if outcome.mismatches else ""
            say(f"{number} of {len(jobs)}: {job.vocabulary}, {job.kind}: {outcome.size / 1e6:.1f} MB{found}")
    return outcomes, faults


def short_texts(jobs: Sequence[Job], outcomes: Outcomes) -> dict[str, str]:
    """Vocabularies that had less real text than was asked for, with the kinds that were short."""
    wanted: dict[tuple[str, str], int] = {}
    for job in jobs:
        if job.kind in TEXT_KINDS:
            wanted[job.vocabulary, job.kind] = wanted.get((job.vocabulary, job.kind), 0) + job.size
    missing: dict[str, list[str]] = {}
    for (name, kind), size in wanted.items():
        outcome = outcomes.get((name, kind))
        if outcome is not None and outcome.size < size:
            told = f"{outcome.size / 1e6:.2f} of {size / 1e6:.2f} MB of {kind}"
            missing.setdefault(name, []).append(told)
    return {name: f"this machine has only {', '.join(kinds)}" for name, kinds in missing.items()}


def one_thread() -> None:
    """A process for each core: threads of their own would only wait for each other."""
    os.environ["RAYON_NUM_THREADS"] = "1"
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def work(job: Job) -> Outcome | str:
    """A job's outcome, or why its vocabulary is refused."""
    try:
        comparer = comparer_of(job.path)
    except CheckpointError as error:
        return f"refused: {error}"
    if job.kind == DECODING:
        return comparer.compare_decoding(job.size, seed=job.vocabulary)
    return comparer.compare(texts(job, comparer))


@cache
def comparer_of(path: Path) -> Comparer:
    from preprocessing.tokenizers import load_tokenizer

    return Comparer(load_tokenizer(path), reference_of(path))


def texts(job: Job, comparer: Comparer) -> Iterator[bytes]:
    if job.kind in TEXT_KINDS:
        return documents(job.kind, job.size, job.part, job.parts)
    tokenizer = comparer.tokenizer
    specials = tokenizer.special_ids
    ordinary = set(range(tokenizer.vocab_size)) - set(specials.values())
    tokens = [token for index, token in enumerate(tokenizer.token_bytes) if token and index in ordinary]
    make = families(tokens, list(specials))[job.kind]
    return stream(make, job.size, seed=f"{job.vocabulary} {job.kind} {job.part}")


def show(outcomes: Outcomes, faults: dict[str, str]) -> None:
    columns = ("kind", "vocabulary", "MB", "documents", "tokens", "mismatches")
    table = DataTable(columns, right=columns[2:], prose=("vocabulary",))
    for name in dict.fromkeys(name for name, _ in outcomes):
        own = {kind: outcome for (owner, kind), outcome in outcomes.items() if owner == name}
        total = Outcome()
        for kind, outcome in own.items():
            add_row(table, kind, name, outcome)
            total.add(outcome)
        add_row(table, "all", name, total)
        note(table, own)
    console = PlainConsole()
    console.print(table)
    for (name, kind), outcome in outcomes.items():
        for mismatch in outcome.shown:
            console.print(f"{name}, {kind}: {json.dumps(mismatch, ensure_ascii=False)}")
    for name, fault in faults.items():
        console.print(f"{name}: {fault}")


def add_row(table: DataTable, kind: str, name: str, outcome: Outcome) -> None:
    figures = (outcome.documents, outcome.tokens, outcome.mismatches)
    table.add(kind, name, f"{outcome.size / 1e6:.1f}", *(f"{figure:,}" for figure in figures))


def note(table: DataTable, own: dict[str, Outcome]) -> None:
    """Kinds that this machine has no texts of."""
    for kind in TEXT_KINDS:
        if kind in own and not own[kind].documents:
            table.add(f"no {kind} on this machine", *[""] * 5)


def plain(outcomes: Outcomes, faults: dict[str, str]) -> dict[str, object]:
    lines = [{"vocabulary": name, "kind": kind, **asdict(one)} for (name, kind), one in outcomes.items()]
    return {"outcomes": lines, "faults": faults}


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
