"""Speed of tf.Transform with an in-graph tokenizer, as a pipeline runs it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_SHORT, _LONG = 2_000_000, 10_000_000


def beam_speed(file: Path, tell: Callable[[str], None]) -> dict[str, Any]:
    """Seconds of a short and a long corpus, and the megabytes per second that the difference took.

    Starting a pipeline takes seconds whatever the corpus; what more text costs is the difference, None if
    the machine's noise was larger. The first pipeline of a process is not counted.

    Args:
        file: tokenizer.json or .model; of a folder another file could be read than the one measured.
        tell: called with a line about each thing done.
    """
    seconds = {}
    _transform(file, [b"warm"])
    for size in (_SHORT, _LONG):
        tell(f"tf.Transform of {size / 1e6:.0f} MB")
        documents = _documents(size)
        start = time.monotonic()
        _transform(file, documents)
        seconds[sum(map(len, documents))] = time.monotonic() - start
    (short, first), (long, second) = seconds.items()
    grown = second - first
    return {
        "seconds": {str(size): spent for size, spent in seconds.items()},
        "marginal_megabytes_per_second": (long - short) / 1e6 / grown if grown > 0 else None,
    }


def _documents(size: int) -> list[bytes]:
    from serving.benchmarks.tokenizer_texts import batches

    (texts,) = batches(1, size) or [[]]
    return texts


def _transform(file: Path, texts: list[bytes]) -> None:
    import apache_beam as beam
    import tensorflow as tf
    import tensorflow_transform.beam as tft_beam
    from tensorflow_transform.tf_metadata import dataset_metadata, schema_utils

    from preprocessing.preprocessing_fn import preprocessing_fn, transform_config

    names = ("text", "source", "path", "group")
    features = {name: tf.io.FixedLenFeature([], tf.string) for name in names}
    metadata = dataset_metadata.DatasetMetadata(schema_utils.schema_from_feature_spec(features))
    config = transform_config(file)
    rows = [{"text": text, "source": b"bench", "path": b"", "group": b""} for text in texts]
    with tempfile.TemporaryDirectory() as temporary, beam.Pipeline("DirectRunner") as pipeline:
        data = pipeline | beam.Create(rows)
        with tft_beam.Context(temp_dir=temporary, force_tf_compat_v1=False):
            (transformed, _), _ = (data, metadata) | tft_beam.AnalyzeAndTransformDataset(
                lambda inputs: preprocessing_fn(inputs, config), output_record_batches=True
            )
        _ = transformed | beam.Map(lambda batch: batch[0].num_rows) | beam.CombineGlobally(sum)
