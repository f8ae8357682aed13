from __future__ import annotations

from collections.abc import Sequence

from models.contract.errors import EngineError
from serving.benchmarks.tokenizer_benchmark import TokenizerBenchmark, calls_for
from serving.benchmarks.tokenizer_stages import by_stage


class Words:
    """Counts of letters, of at most so many bytes."""

    def __init__(self, name: str, most: int = 1000, offset: int = 0) -> None:
        self.name = name
        self.calls: list[list[bytes]] = []
        self._most = most
        self._offset = offset

    def prepare(self, texts: Sequence[bytes]) -> list[bytes]:
        return list(texts)

    def encode(self, prepared: list[bytes]) -> list[list[bytes]]:
        self.calls.append(prepared)
        if any(len(text) > self._most for text in prepared):
            raise EngineError("too long")
        return [text.split() for text in prepared]

    def ids(self, encoded: list[list[bytes]]) -> list[list[int]]:
        return [[len(word) + self._offset * (len(word) > 3) for word in row] for row in encoded]


def test_tokenizers_take_turns_and_their_ids_are_compared():
    ours, peer = Words("ours"), Words("peer", offset=1)
    result = TokenizerBenchmark([ours, peer]).throughput([[b"a bc", b"d"], [b"long word"]], rounds=3)
    assert result["bytes"] == 14
    first, second = result["summary"]
    assert (first["tokenizer"], first["ratio"], first["equal_documents"]) == ("ours", None, 3)
    assert (second["tokenizer"], second["equal_documents"], second["documents"]) == ("peer", 2, 3)
    assert second["ratio"]["low"] <= second["ratio"]["median"] <= second["ratio"]["high"]
    assert second["ratio"]["rounds"] == 3
    assert [len(run["seconds"]) for run in result["runs"]] == [3, 3]
    assert ours.calls == peer.calls
    assert len(ours.calls) == 2 * (3 + 1) + 2


def test_latency_is_a_median_over_texts_in_turn():
    ours = Words("ours")
    seconds = TokenizerBenchmark([ours]).latency([b"ab", b"cd"])
    assert list(seconds) == ["ours"]
    assert ours.calls[:3] == [[b"ab"], [b"cd"], [b"ab"]]
    assert len(ours.calls) == calls_for(2) + 1


def test_long_texts_are_called_less_often():
    assert [calls_for(size) for size in (0, 200, 40_000, 10**9)] == [200, 200, 100, 20]


def test_growth_compares_halves_and_wholes():
    ours = Words("ours")
    result = TokenizerBenchmark([ours]).growth(b"abcd", rounds=2)
    assert ours.calls == [[b"ab"], [b"ab"], [b"abcd"], [b"ab"], [b"abcd"]]
    assert result["factor"] > 0


def test_a_text_that_is_refused_is_told():
    assert TokenizerBenchmark([Words("ours", most=3)]).growth(b"abcd", rounds=2) == {"refused": "too long"}


def test_one_word_is_timed_for_each():
    benchmark = TokenizerBenchmark([Words("ours"), Words("peer")])
    assert set(benchmark.single_word(b"abcdef", rounds=2)) == {"ours", "peer"}


def test_operations_belong_to_the_stage_they_are_named_after():
    nodes = [
        ("StatefulPartitionedCall/split/classes/GatherV2", 5),
        ("StatefulPartitionedCall/split_1/UnicodeDecode", 7),
        ("StatefulPartitionedCall/merge/gather/Unique", 2),
        ("StatefulPartitionedCall", 100),
        ("StatefulPartitionedCall/PartitionedCall_2", 100),
        ("Identity", 1),
    ]
    assert by_stage(nodes) == {"split": 12, "merge": 2, "other": 1}
