"""A value of every code point, in two tables that are small where most pages are alike."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

_PAGE_BITS = 8
_PAGE = 1 << _PAGE_BITS


def code_point_table(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and values for `look_up`; pages of 256 equal values are held once.

    Args:
        values: [0x110000], of any dtype.

    Returns:
        Offsets [4352] int32, values [n] of the same dtype.
    """
    pages = [page.tobytes() for page in values.reshape(-1, _PAGE)]
    place = {page: index for index, page in enumerate(dict.fromkeys(pages))}
    offsets = [(place[page] - number) * _PAGE for number, page in enumerate(pages)]
    return np.array(offsets, np.int32), np.frombuffer(b"".join(place), values.dtype)


def look_up(offsets: tf.Tensor, values: tf.Tensor, points: tf.Tensor) -> tf.Tensor:
    """The values [n] of code points [n] int32."""
    return tf.gather(values, tf.gather(offsets, tf.bitwise.right_shift(points, _PAGE_BITS)) + points)
