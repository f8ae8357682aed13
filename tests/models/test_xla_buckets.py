"""Shapes that decoding is compiled for."""

from __future__ import annotations

from models.xla_buckets import xla_buckets


def test_no_profile_compiles_nothing():
    assert xla_buckets("off", 1024, 16, 8000) == ()


def test_a_lone_row_has_lengths_up_to_the_context():
    assert xla_buckets("latency", 4096, 16, 8000) == ((1, 128), (1, 256), (1, 512), (1, 1024), (1, 2048))
    assert xla_buckets("latency", 200, 16, 8000) == ((1, 128), (1, 208))


def test_several_rows_gather_no_more_than_they_may():
    found = xla_buckets("throughput", 1024, 16, 7000)
    assert found == (
        *((16, 128), (8, 128), (4, 128), (16, 256), (8, 256), (4, 256)),
        *((8, 512), (4, 512), (4, 1024), (1, 128), (1, 256)),
    )
    assert (16, 1024) in xla_buckets("throughput", 1024, 16, 20000)


def test_little_memory_still_serves_a_lone_row():
    assert xla_buckets("throughput", 256, 16, 200) == ((1, 128), (1, 256))
