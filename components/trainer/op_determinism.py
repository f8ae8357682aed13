"""op_determinism: the same numbers from the same inputs, bit for bit, for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import tensorflow as tf

# TensorFlow's public switch has no way back, and the components that follow run in this process.
from tensorflow.python.framework import config as framework_config


@contextmanager
def op_determinism(enabled: bool) -> Iterator[None]:
    """Within, TensorFlow's ops compute deterministically; afterwards as before.

    Args:
        enabled: False changes nothing.
    """
    if not enabled or framework_config.is_op_determinism_enabled():
        yield
        return
    tf.config.experimental.enable_op_determinism()
    try:
        yield
    finally:
        framework_config.disable_op_determinism()
