"""The canonical form of a SavedModel's graph: equal models have equal files."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from tensorflow.core.framework import function_pb2, graph_pb2, node_def_pb2, op_def_pb2
from tensorflow.core.protobuf import saved_model_pb2, saved_object_graph_pb2

GRAPH = "saved_model.pb"
_GRADIENT = "_gradient_op_type"
_USER_NAME = "_user_specified_name"
_IGNORED = re.compile(r"_\d+(___redundant_placeholder\d+)$")
_CAPTURED = re.compile(r"(?:while_|cond_)+\d+(?:_\d+)?")
_FINGERPRINT = "fingerprint.pb"


def canonicalize(directory: Path) -> None:
    """Rewrite a SavedModel so that its files tell nothing of the process that wrote it.

    TensorFlow ends function names in a counter of the process, orders them by hash, and adds a file
    with a random id that loaders can do without. Functions are numbered by their age here.

    Args:
        directory: just written by `tf.saved_model.save`, with one meta graph.
    """
    path = directory / GRAPH
    model = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    meta = model.meta_graphs[0]
    names = _canonical_names(function.signature.name for function in meta.graph_def.library.function)
    _rename_graph(meta.graph_def, names)
    _rename_objects(meta.object_graph_def, names)
    path.write_bytes(model.SerializeToString(deterministic=True))
    (directory / _FINGERPRINT).unlink(missing_ok=True)


def _canonical_names(names: Iterable[str]) -> dict[str, str]:
    """Function name → name with its rank in place of the process's counter."""
    numbered = [(name.rpartition("_"), name) for name in names]
    aged = sorted((int(number), name) for (_, _, number), name in numbered if number.isdecimal())
    return {name: f"{name.rpartition('_')[0]}_{rank}" for rank, (_, name) in enumerate(aged)}


def _rename_graph(graph: graph_pb2.GraphDef, names: dict[str, str]) -> None:
    functions = graph.library.function
    for node in chain(graph.node, *(function.node_def for function in functions)):
        _rename_node(node, names)
    for function in functions:
        function.signature.name = names.get(function.signature.name, function.signature.name)
        _rename_arguments(function)
    ordered = sorted(functions, key=lambda function: function.signature.name)
    del functions[:]
    functions.extend(ordered)


def _rename_arguments(function: function_pb2.FunctionDef) -> None:
    """Arguments that a loop's condition ignores, and what was called by its number only."""
    taken = _rename_plain(function.signature.input_arg)
    made = _rename_plain(function.signature.output_arg)
    for node in function.node_def:
        node.input[:] = [taken.get(name, name) for name in node.input]
    results = {made[name]: taken.get(value, value) for name, value in function.ret.items()}
    function.ret.clear()
    function.ret.update(results)
    for attributes in function.arg_attr.values():
        if _USER_NAME in attributes.attr and attributes.attr[_USER_NAME].s.isdigit():
            del attributes.attr[_USER_NAME]


def _rename_plain(arguments: Iterable[op_def_pb2.OpDef.ArgDef]) -> dict[str, str]:
    """Old name → new name of a function's inputs or outputs.

    What a loop or a branch hands on to a function that it calls has no name but the counter's.
    """
    names: dict[str, str] = {}
    for index, argument in enumerate(arguments):
        plain = f"captured_{index}" if _CAPTURED.fullmatch(argument.name) else argument.name
        names[argument.name] = _IGNORED.sub(r"\1", plain)
        argument.name = names[argument.name]
    return names


def _rename_node(node: node_def_pb2.NodeDef, names: dict[str, str]) -> None:
    """Functions that a node calls, by its attributes or as its operation; gradients are not saved."""
    node.attr.pop(_GRADIENT, None)
    node.op = names.get(node.op, node.op)
    for value in node.attr.values():
        called = [value.func] if value.HasField("func") else value.list.func
        for function in called:
            function.name = names.get(function.name, function.name)


def _rename_objects(objects: saved_object_graph_pb2.SavedObjectGraph, names: dict[str, str]) -> None:
    """Functions that objects have."""
    for node in objects.nodes:
        for index, name in enumerate(node.function.concrete_functions):
            node.function.concrete_functions[index] = names.get(name, name)
        bare = node.bare_concrete_function
        if bare.concrete_function_name:
            bare.concrete_function_name = names.get(bare.concrete_function_name, bare.concrete_function_name)
    for name in list(objects.concrete_functions):
        if name in names:
            renamed = saved_object_graph_pb2.SavedConcreteFunction()
            renamed.CopyFrom(objects.concrete_functions.pop(name))
            objects.concrete_functions[names[name]].CopyFrom(renamed)
