"""TFRecord files of tf.Examples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf
from google.protobuf.message import DecodeError

from preprocessing.records.bad_row import BadRow, beginning
from preprocessing.records.record import Record
from preprocessing.records.record_fields import RecordFields


def read_tfrecord(
    location: str, fields: RecordFields, limit: int, *, gzip: bool
) -> Iterator[Record | BadRow]:
    """Records of a TFRecord file of serialised tf.Examples.

    Args:
        location: the file.
        fields: which features to read; each must hold one value.
        limit: longest record in bytes; a longer one is a broken row.
        gzip: whether the file is packed.

    Raises:
        tf.errors.DataLossError: the file is damaged or no TFRecord file.
    """
    # tf.data takes seventy times as long to hand over single short records.
    options = tf.io.TFRecordOptions("GZIP" if gzip else "")
    for row, data in enumerate(tf.compat.v1.io.tf_record_iterator(location, options), start=1):
        if len(data) > limit:
            yield BadRow(row, "too_long", f"the record has {len(data)} bytes, more than {limit}.", "")
        else:
            yield _record(row, data, fields)


def _record(row: int, data: bytes, fields: RecordFields) -> Record | BadRow:
    try:
        features = tf.train.Example.FromString(data).features.feature
    except DecodeError:
        return BadRow(row, "not_example", "the record is no serialised tf.Example.", beginning(data))
    values = {name: _value(features[name]) for name in features}
    return fields.record(row, values, data)


def _value(feature: Any) -> Any:
    """The one value of a feature; several as a list, none as None."""
    kind = feature.WhichOneof("kind")
    values = getattr(feature, kind).value if kind else ()
    return None if not values else values[0] if len(values) == 1 else list(values)
