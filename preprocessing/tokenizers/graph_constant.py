"""Constants that several functions of one graph share."""

from __future__ import annotations

import numpy as np
import tensorflow as tf


def graph_constant(value: np.ndarray | list[bytes]) -> tf.Tensor:
    """An eager tensor on the CPU: functions capture it, a SavedModel holds it once.

    A NumPy array used inside a function would become a constant of that function's own graph, one
    copy per signature.
    """
    with tf.init_scope(), tf.device("/CPU:0"):
        return tf.constant(value)
