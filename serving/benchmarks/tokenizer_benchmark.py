"""TokenizerBenchmark: tokenizers with the same vocabulary take turns at the same texts."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from models.contract.errors import TokenmillError
from monitoring.round_ratios import round_ratio
from serving.benchmarks.decode_benchmark import rotated
from serving.benchmarks.tokenizers.measured_tokenizer import MeasuredTokenizer

_SHORTEST_TURN = 20
_CALLS = 200
"""Calls of a latency figure, fewer of long texts."""
_CALL_BYTES = 4_000_000
"""Of all calls of one latency figure together, about."""


class TokenizerBenchmark:
    """Turns within one process; the texts are prepared before, what is measured is the encoding.

    Args:
        tokenizers: ours first.
        tell: called with a line about each thing done.
    """

    def __init__(
        self, tokenizers: Sequence[MeasuredTokenizer], tell: Callable[[str], None] = lambda line: None
    ) -> None:
        self._tokenizers = {tokenizer.name: tokenizer for tokenizer in tokenizers}
        self._ours = tokenizers[0].name
        self._tell = tell

    def throughput(self, batches: Sequence[Sequence[bytes]], rounds: int) -> dict[str, Any]:
        """Speed over batches; in a round every tokenizer has each batch in turn, after a round not counted.

        Returns:
            "bytes" of a round; "runs": seconds by round and tokenizer; "summary": per tokenizer its median
            megabytes per second, the ratio of our speed to its, and how many documents have our ids.
        """
        prepared = {name: list(map(one.prepare, batches)) for name, one in self._tokenizers.items()}
        seconds: dict[str, dict[int, float]] = {name: {} for name in self._tokenizers}
        for number in range(-1, rounds):
            spent = self._round(prepared, number)
            if number < 0:
                continue
            for name, value in spent.items():
                seconds[name][number] = value
            self._tell(f"round {number + 1} of {rounds}: {_words(spent)}")
        size = sum(len(text) for batch in batches for text in batch)
        equal, total = self._equal(prepared)
        summary = [
            {
                "tokenizer": name,
                "megabytes_per_second": size / 1e6 / statistics.median(own.values()),
                "ratio": None if name == self._ours else _ratio(own, seconds[self._ours]),
                "equal_documents": equal[name],
                "documents": total,
            }
            for name, own in seconds.items()
        ]
        runs = [{"tokenizer": name, "seconds": list(own.values())} for name, own in seconds.items()]
        return {"bytes": size, "summary": summary, "runs": runs}

    def _round(self, prepared: dict[str, list[Any]], number: int) -> dict[str, float]:
        spent = dict.fromkeys(self._tokenizers, 0.0)
        for place in range(len(next(iter(prepared.values())))):
            for name in rotated(list(self._tokenizers), max(0, number) + place):
                spent[name] += _timed(self._tokenizers[name], prepared[name][place])
        return spent

    def _equal(self, prepared: dict[str, list[Any]]) -> tuple[dict[str, int], int]:
        """By tokenizer, in how many documents its ids are ours; and of how many."""
        rows = {
            name: [row for batch in prepared[name] for row in one.ids(one.encode(batch))]
            for name, one in self._tokenizers.items()
        }
        ours = rows[self._ours]
        equal = {
            name: sum(a == b for a, b in zip(ours, theirs, strict=True)) for name, theirs in rows.items()
        }
        return equal, len(ours)

    def latency(self, texts: Sequence[bytes]) -> dict[str, float]:
        """Median seconds of a call for one text, by tokenizer; all texts are of one length."""
        prepared = {name: [one.prepare([text]) for text in texts] for name, one in self._tokenizers.items()}
        seconds: dict[str, list[float]] = {name: [] for name in self._tokenizers}
        for number in range(calls_for(len(texts[0])) + 1):
            for name in rotated(list(self._tokenizers), number):
                spent = _timed(self._tokenizers[name], prepared[name][number % len(texts)])
                if number:
                    seconds[name].append(spent)
        return {name: statistics.median(own) for name, own in seconds.items()}

    def single_word(self, word: bytes, rounds: int) -> dict[str, float]:
        """Median seconds for one long word, by tokenizer."""
        prepared = {name: one.prepare([word]) for name, one in self._tokenizers.items()}
        runs = [self._round({name: [text] for name, text in prepared.items()}, n) for n in range(rounds)]
        return {name: statistics.median(run[name] for run in runs) for name in self._tokenizers}

    def growth(self, text: bytes, rounds: int) -> dict[str, Any]:
        """What twice the text costs of ours, the halves and the wholes in turns.

        Returns:
            "half_seconds" and "whole_seconds", medians; "factor", the median of the rounds' ratios; or
            "refused" with the reason.
        """
        ours = self._tokenizers[self._ours]
        half, whole = (ours.prepare([part]) for part in (text[: len(text) // 2], text))
        try:
            ours.encode(half)
            pairs = [(_timed(ours, half), _timed(ours, whole)) for _ in range(rounds)]
        except TokenmillError as error:
            return {"refused": str(error)}
        return {
            "half_seconds": statistics.median(short for short, _ in pairs),
            "whole_seconds": statistics.median(long for _, long in pairs),
            "factor": statistics.median(long / short for short, long in pairs),
        }


def calls_for(size: int) -> int:
    """How many calls give a latency figure of texts of so many bytes."""
    return max(_SHORTEST_TURN, min(_CALLS, _CALL_BYTES // max(1, size)))


def _timed(tokenizer: MeasuredTokenizer, prepared: Any) -> float:
    start = time.perf_counter()
    kept = tokenizer.encode(prepared)
    spent = time.perf_counter() - start
    del kept  # freeing what it returned is not its work
    return spent


def _ratio(theirs: dict[int, float], ours: dict[int, float]) -> dict[str, float] | None:
    """Our speed to theirs: seconds the other way round."""
    ratio = round_ratio(theirs, ours)
    return None if ratio is None else asdict(ratio)


def _words(spent: dict[str, float]) -> str:
    return ", ".join(f"{name} {seconds:.2f} s" for name, seconds in spent.items())
