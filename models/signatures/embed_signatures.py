"""EmbedSignatures: texts as vectors."""

from __future__ import annotations

import tensorflow as tf

from models.decoder_computation import DecoderComputation
from models.embedding import mean_features
from models.signatures.tensor_specs import Endpoint
from models.signatures.text_signatures import TextSignatures


class EmbedSignatures(tf.Module):
    """`embed`; memory does not grow with the number of texts.

    Args:
        decoder: the network.
        text: whose tokenizer and prompt rules apply.
        max_length: longest text in tokens.
    """

    def __init__(self, decoder: DecoderComputation, text: TextSignatures, max_length: int) -> None:
        super().__init__(name="embed_signatures")
        self.decoder = decoder
        self.text = text
        self.max_length = max_length

    def endpoints(self) -> dict[str, Endpoint]:
        """Name → function."""
        return {"embed": self.embed}

    def embed(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Mean of the final norm's outputs over each text's tokens.

        Returns:
            embedding [B, E]; tokens [B], the BOS id counted if the tokenizer puts one. A text
            without any token has no mean: its embedding is zero and its tokens are 0.
        """
        ids = self.text.prompt(text)
        lengths = tf.cast(ids.row_lengths(), tf.int32)
        check = tf.debugging.Assert(
            tf.reduce_all(lengths <= self.max_length),
            [
                f"`text` exceeds the context of {self.max_length} tokens; embed it in parts. Tokens:",
                lengths,
            ],
        )
        with tf.control_dependencies([check]):
            dense = ids.to_tensor()
        return {"embedding": mean_features(self.decoder, dense, lengths), "tokens": lengths}
