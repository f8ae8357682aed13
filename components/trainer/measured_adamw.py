"""MeasuredAdamW: Keras' AdamW that keeps the norm of the gradient it clips."""

from __future__ import annotations

from typing import Any

import keras


@keras.saving.register_keras_serializable("tokenmill")
class MeasuredAdamW(keras.optimizers.AdamW):
    """AdamW with `global_clipnorm`, which computes the global norm anyway: here it can be read.

    `gradient_norm`, a float32 scalar, is the global norm of the last update's gradient before
    clipping, averaged over accumulated passes.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._measured = keras.Variable(0.0, trainable=False, name="gradient_norm")

    @property
    def gradient_norm(self) -> float:
        """Of the last update; 0 before the first."""
        return float(self._measured)

    def _clip_gradients(self, grads: list[Any]) -> list[Any]:
        squares = [keras.ops.sum(keras.ops.square(grad)) for grad in grads if grad is not None]
        norm = keras.ops.sqrt(keras.ops.sum(keras.ops.stack(squares)))
        self._measured.assign(norm)
        if not self.global_clipnorm:
            return super()._clip_gradients(grads)
        # Not finite: the scale is NaN, which the monitor finds in the next loss.
        scale = self.global_clipnorm * keras.ops.minimum(1.0 / norm, 1.0 / self.global_clipnorm)
        scale = scale + (norm - norm)
        return [None if grad is None else grad * scale for grad in grads]
