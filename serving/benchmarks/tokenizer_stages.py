"""Where the time of an in-graph tokenizer goes: operations of a traced call, by the stage that owns them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  registers the operations
from tensorflow.python.saved_model.loader_impl import SavedModelLoader  # the public one logs that it is old

from serving.benchmarks.tokenizers.session_tokenizer import SIGNATURE

STAGES = ("nfc", "normalize", "split", "unique", "merge", "gather")
"""Name scopes of the encoders, in the order of the work."""
OTHER = "other"

_CALL = re.compile(r"(Stateful)?PartitionedCall(_\d+)?$")


def stage_times(package: Path, batches: Sequence[Sequence[bytes]], threads: int) -> dict[str, float]:
    """Milliseconds per batch that the operations of each stage take, the sum over operations.

    A traced call is slower than others, and operations may run side by side: the shares count, not the sum.

    Args:
        package: SavedModel as SessionTokenizer takes it.
        batches: the first one is not counted.
        threads: of computation.
    """
    config = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=threads)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    options = tf.compat.v1.RunOptions(trace_level=tf.compat.v1.RunOptions.FULL_TRACE)
    spent: Counter[str] = Counter()
    with tf.Graph().as_default() as graph, tf.compat.v1.Session(graph=graph, config=config) as session:
        model = SavedModelLoader(str(package)).load(session, ["serve"])
        signature = model.signature_def[SIGNATURE]
        fetches = [info.name for info in signature.outputs.values()]
        text = signature.inputs["text"].name
        for number, batch in enumerate(batches):
            traced = tf.compat.v1.RunMetadata()
            session.run(fetches, {text: np.array(batch, object)}, options, traced)
            if number:
                spent.update(_by_stage(traced))
    counted = max(1, len(batches) - 1)
    return {stage: spent[stage] / 1e3 / counted for stage in (*STAGES, OTHER) if spent[stage]}


def _by_stage(traced: tf.compat.v1.RunMetadata) -> Counter[str]:
    """Microseconds of each stage."""
    nodes = (node for device in traced.step_stats.dev_stats for node in device.node_stats)
    return by_stage((node.node_name, node.op_end_rel_micros - node.op_start_rel_micros) for node in nodes)


def by_stage(nodes: Iterable[tuple[str, int]]) -> Counter[str]:
    """Sums by stage of (name of an operation, figure); calls of functions are left out, their parts count."""
    sums: Counter[str] = Counter()
    for name, figure in nodes:
        *scopes, last = name.split("/")
        if not _CALL.match(last):
            sums[next((scope for scope in map(_plain, scopes) if scope in STAGES), OTHER)] += figure
    return sums


def _plain(scope: str) -> str:
    """A scope's name without the number that a second one of that name gets."""
    return re.sub(r"_\d+$", "", scope)
