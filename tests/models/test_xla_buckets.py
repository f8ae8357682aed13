"""Shapes that decoding is compiled for, of GPT-2 small."""

from __future__ import annotations

from models.xla_buckets import xla_buckets

TOKEN = 2 * 12 * 768 * 4
WEIGHTS = 498_000_000
SCORING = 343_000_000


def buckets(
    profile: str, length: int = 1024, blocks: int = 457, weights: int = WEIGHTS, scoring: int = SCORING
) -> tuple[tuple[int, int], ...]:
    memory = {"weights": weights, "kv": blocks * 16 * TOKEN, "workspace": scoring}
    return xla_buckets(profile, length, 16, memory, TOKEN)


def test_no_profile_compiles_nothing():
    assert buckets("off") == ()


def test_a_lone_row_has_lengths_up_to_the_context():
    assert buckets("latency", 4096) == ((1, 128), (1, 256), (1, 512), (1, 1024), (1, 2048))
    assert buckets("latency", 200, scoring=0, blocks=14, weights=0) == ((1, 128), (1, 208))


def test_several_rows_gather_no_more_than_half_of_weights_and_kv_memory():
    found = buckets("throughput")
    assert found == (
        *((16, 128), (8, 128), (4, 128), (16, 256), (8, 256), (4, 256)),
        *((8, 512), (4, 512), (4, 1024), (1, 128), (1, 256)),
    )
    assert (16, 1024) in buckets("throughput", blocks=2000)


def test_a_kv_memory_that_just_holds_its_sequences_keeps_the_buckets_for_them():
    assert (8, 256) in buckets("throughput", blocks=1 + 8 * 12, weights=WEIGHTS // 4)
    assert (16, 256) in buckets("throughput", blocks=1 + 16 * 12, weights=WEIGHTS // 4)


def test_little_memory_still_serves_a_lone_row():
    assert buckets("throughput", 256, 17, weights=0, scoring=0) == ((1, 128), (1, 256))
