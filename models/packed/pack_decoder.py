"""From the Keras network to the one that a package stores."""

from __future__ import annotations

import tensorflow as tf

from models.decoder import Decoder
from models.packed.packed_decoder import PackedDecoder
from models.packed.weight_forms import WeightForms


def pack_decoder(decoder: Decoder, profile: str, dtype: str, cores: int = 2) -> PackedDecoder:
    """The same network on new variables in a package's form.

    Args:
        decoder: whose weights to take.
        profile: "off", "latency" or "throughput".
        dtype: "float32", "bfloat16" or "int8".
        cores: of the machine that serves; at most `models.packed.weight_forms.PADDED`, a power of two.
    """
    forms = WeightForms.of(profile, dtype)
    weights = {
        name: tf.Variable(array, trainable=False, name=name)
        for path, weight in decoder.named_weights().items()
        for name, array in forms.pack(path, weight.numpy())
    }
    return PackedDecoder(decoder.config, weights, forms, cores=cores)
