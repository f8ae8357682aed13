"""How the graph of a package touches its KV arenas: never as a whole."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest
from tensorflow.core.framework import graph_pb2, node_def_pb2
from tensorflow.core.protobuf import saved_model_pb2

ARENA = re.compile(rb"^kv_[0-9a-f]{16}_(key|value)_\d+$")
SMALL = {"ResourceGather", "ResourceGatherNd", "ResourceScatterUpdate", "ResourceScatterNdUpdate"}
"""They read or write what their index names. A dense read would copy an arena once it was scattered to."""

LIFE = {"AssignVariableOp", "DestroyResourceOp"}
"""A loader's and `reset`'s zeros, and the end of it."""


def users_of_arenas(graph: graph_pb2.GraphDef) -> dict[str, set[str]]:
    """Operation that takes an arena's handle → functions it stands in, "" for the graph itself."""
    functions = {function.signature.name: function for function in graph.library.function}
    users: dict[str, set[str]] = defaultdict(set)
    seen: set[tuple[str, frozenset[int]]] = set()

    def follow(where: str, nodes: Iterable[node_def_pb2.NodeDef], handles: set[str]) -> None:
        for node in nodes:
            taken = {
                index
                for index, name in enumerate(name for name in node.input if not name.startswith("^"))
                if name.split(":")[0] in handles
            }
            if not taken:
                continue
            called = [value.func.name for value in node.attr.values() if value.HasField("func")]
            if node.op in functions:
                called.append(node.op)
            if not called and node.op in ("Identity", "NoOp"):
                raise AssertionError(f"{where}/{node.name}: a handle is passed on, this walk would lose it")
            if not called:
                users[node.op].add(where)
            for name in called:
                # A branch's arguments follow its index or predicate.
                shift = 1 if node.op in ("If", "StatelessIf", "Case", "StatelessCase") else 0
                enter(name, frozenset(index - shift for index in taken))

    def enter(name: str, arguments: frozenset[int]) -> None:
        if (name, arguments) in seen:
            return
        seen.add((name, arguments))
        function = functions[name]
        handles = {function.signature.input_arg[index].name for index in arguments}
        follow(name, function.node_def, handles)

    arenas = {
        node.name
        for node in graph.node
        if node.op == "VarHandleOp" and ARENA.match(node.attr["shared_name"].s)
    }
    assert arenas
    follow("", graph.node, arenas)
    return users


def graph_of(package: Path) -> graph_pb2.GraphDef:
    model = saved_model_pb2.SavedModel.FromString((package / "saved_model.pb").read_bytes())
    return model.meta_graphs[0].graph_def


@pytest.fixture(scope="module")
def users(tiny_package: Path) -> dict[str, set[str]]:
    return users_of_arenas(graph_of(tiny_package))


def test_arenas_are_touched_through_an_index_only(users: dict[str, set[str]]):
    assert SMALL | {"AssignVariableOp"} <= set(users) <= SMALL | LIFE
    for op, places in users.items():
        assert places, op


def test_whole_arenas_are_written_by_a_loader_and_by_reset_only(users: dict[str, set[str]]):
    writers = {re.sub(r"_\d+$", "", place) for place in users["AssignVariableOp"]}
    assert writers <= {"__inference__initializer", "__inference_reset"}, writers
    assert "__inference_reset" in writers
