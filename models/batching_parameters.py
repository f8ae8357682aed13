"""Batching parameters: how TensorFlow Serving may join requests to a stateless package."""

from __future__ import annotations

from pathlib import Path

BATCHING_PATH = Path("batching_params.pbtxt")
"""Beside `saved_model.pb`: a server with per-model batching reads it there and nowhere else."""

BATCH_SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Numbers of rows that are run; a batch is filled up to the next one, so by a third at most."""

_TEXT = f"""\
# BatchingParameters of TensorFlow Serving. They take effect on a server started with
# --enable_batching --enable_per_model_batching_parameters; others run each request by itself.
# Requests that are joined share their fate: one that the graph refuses, e.g. a text longer than the
# context, fails all of its batch. `tokenize` cannot be called on such a server: its ids are flat, not a
# row for each text; ask a server without batching, or leave this file out.
# A request of more rows than max_batch_size is refused. Not to be split: answers of the parts would
# have different widths and could not be joined again.
max_batch_size {{ value: {BATCH_SIZES[-1]} }}
{"".join(f"allowed_batch_sizes: {size}{chr(10)}" for size in BATCH_SIZES)}\
# How long the first request of a batch waits for others.
batch_timeout_micros {{ value: 5000 }}
# Batches that may wait; a request beyond them gets UNAVAILABLE at once.
max_enqueued_batches {{ value: 32 }}
# Batches that run at once; each uses all cores.
num_batch_threads {{ value: 2 }}
# Ids of score_ids are masked by length, whatever fills them up.
pad_variable_length_inputs: true
"""


def write_batching_parameters(package: Path) -> None:
    """Write the file into a version directory."""
    (package / BATCHING_PATH).write_text(_TEXT, encoding="utf-8")
