"""The first stop id of a row."""

from __future__ import annotations

import tensorflow as tf

from models.signatures.stop_ids import finished_at


def test_finished_at_is_the_first_stop_id():
    ids = tf.constant([[5, 2, 7, 2], [1, 1, 1, 1], [9, 4, 4, 4]])
    stops = tf.constant([[2, 7], [-1, -1], [4, -1]])
    assert finished_at(ids, stops).numpy().tolist() == [1, 4, 1]
