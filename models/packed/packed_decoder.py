"""PackedDecoder: the network as a package stores it."""

from __future__ import annotations

from collections.abc import Mapping

import tensorflow as tf

from models.decoder_computation import DecoderComputation
from models.decoder_config import DecoderConfig
from models.decoder_shapes import decoder_shapes
from models.packed.kernel import Kernel
from models.packed.packed_block import PackedBlock
from models.packed.weight_forms import SCALES, WeightForms

_IDS_SPECS = (tf.TensorSpec([None, None], tf.int32),)


class PackedDecoder(DecoderComputation):
    """A decoder on weights in serving's form; computes what `models.decoder.Decoder` does.

    Args:
        config: sizes and constants.
        weights: stored name → variable or tensor, see `WeightForms.pack`.
        forms: how they lie.
        compiled: whether XLA compiles the graphs it is used in.
        cores: of the machine that serves.
    """

    def __init__(
        self,
        config: DecoderConfig,
        weights: Mapping[str, tf.Variable | tf.Tensor],
        forms: WeightForms,
        *,
        compiled: bool = False,
        cores: int = 2,
    ) -> None:
        self.config = config
        self.weights = weights
        self.forms = forms
        self.compiled = compiled
        self.cores = cores
        self._outputs = {
            path: shape[0 if path == "embedding" else -1] for path, shape in decoder_shapes(config).items()
        }
        self.blocks = [PackedBlock(self, index) for index in range(config.num_layers)]
        # One trace for all signatures that run whole sequences.
        self._features = tf.function(super().features, input_signature=_IDS_SPECS, autograph=False)

    def bound(self) -> PackedDecoder:
        """The same decoder for a function that XLA compiles, on tensors read by the function around it.

        A compiled function that read variables itself would lock them for as long as it runs.
        """
        tensors = {name: tf.convert_to_tensor(value) for name, value in self.weights.items()}
        return PackedDecoder(self.config, tensors, self.forms, compiled=True, cores=self.cores)

    def features(
        self, ids: tf.Tensor, positions: tf.Tensor | None = None, segment_ids: tf.Tensor | None = None
    ) -> tf.Tensor:
        """As in `DecoderComputation`."""
        if positions is None and segment_ids is None:
            return self._features(ids)
        return super().features(ids, positions, segment_ids)

    def product(self, name: str, x: tf.Tensor) -> tf.Tensor:
        """Product with the matrix stored as `name`: [B, T, in] → [B, T, out] float32."""
        kernel = self._kernel(name)
        rows = kernel.product(tf.reshape(x, [-1, x.shape[-1]]), few_rows=x.shape[1] == 1)
        return tf.reshape(rows, [tf.shape(x)[0], tf.shape(x)[1], kernel.num_outputs])

    def vector(self, name: str) -> tf.Tensor:
        """The norm or bias stored as `name`."""
        return tf.convert_to_tensor(self.weights[name])

    def token_rows(self, ids: tf.Tensor) -> tf.Tensor:
        """Implements `DecoderComputation`."""
        return self._kernel("embedding").rows(ids)

    def position_rows(self, positions: tf.Tensor) -> tf.Tensor:
        """Implements `DecoderComputation`."""
        return tf.gather(tf.convert_to_tensor(self.weights["position_embedding"]), positions)

    def logits(self, x: tf.Tensor) -> tf.Tensor:
        """Implements `DecoderComputation`."""
        return self.product("embedding" if self.config.tied else "head", x)

    def _kernel(self, name: str) -> Kernel:
        scales = self.weights.get(name + SCALES)
        return Kernel(
            self.forms.kernel,
            tf.convert_to_tensor(self.weights[name]),
            None if scales is None else tf.convert_to_tensor(scales),
            num_outputs=self._outputs[name],
            compiled=self.compiled,
            cores=self.cores,
        )
