"""TensorFlow's own counters of compilations and graphs, which have no way to Python but this one.

Reads the monitoring registry of the loaded library through its exported C++ functions, with the
layout that libstdc++ gives their results. For tests only: the layout belongs to one build.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

_REGISTRY = "_ZN3tsl10monitoring18CollectionRegistry7DefaultEv"
_COLLECT = "_ZNK3tsl10monitoring18CollectionRegistry14CollectMetricsERKNS1_21CollectMetricsOptionsE"
XLA_COMPILATIONS = "/tensorflow/core/xla_compilations"
GRAPH_BUILDS = "/tensorflow/core/graph_build_calls"
"""Executors that sessions have built."""


def counter(name: str) -> int:
    """The sum of an integer counter's points; 0 before its first."""
    return sum(value for found, value in _points() if found == name)


def _points() -> Iterator[tuple[str, int]]:
    import tensorflow as tf

    library = ctypes.CDLL(str(Path(tf.__file__).parent / "libtensorflow_framework.so.2"))
    default, collect = getattr(library, _REGISTRY), getattr(library, _COLLECT)
    default.restype = ctypes.c_void_p
    collect.restype, collect.argtypes = None, [ctypes.c_void_p] * 3
    metrics, descriptors = ctypes.c_void_p(), ctypes.c_bool(False)
    collect(ctypes.addressof(metrics), default(), ctypes.addressof(descriptors))
    assert metrics.value is not None
    # CollectedMetrics: a map of descriptors (48 bytes), then one of name → PointSet.
    for node in _nodes(_word(metrics.value + 48 + 16)):
        name, points = _string(node + 32), _word(node + 64)
        for point in range(_word(points + 32), _word(points + 40), 8):
            # Point: labels (24 bytes), kind of the value, an int64 of kind 0.
            if ctypes.c_int32.from_address(_word(point) + 24).value == 0:
                yield name, ctypes.c_int64.from_address(_word(point) + 32).value


def _nodes(node: int) -> Iterator[int]:
    """Nodes of a std::map from its root on: colour, parent, left, right, then the pair."""
    if node:
        yield from _nodes(_word(node + 16))
        yield node
        yield from _nodes(_word(node + 24))


def _word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def _string(address: int) -> str:
    return ctypes.string_at(_word(address), _word(address + 8)).decode()
