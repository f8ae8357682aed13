"""FullSignatures: a step whose token is chosen from changed logits."""

from __future__ import annotations

import tensorflow as tf

from models.decoder_computation import DecoderComputation
from models.logits_processing import process_logits
from models.paged_cache import PagedCache
from models.paged_chunk import PagedChunk
from models.sampling import SamplingRows
from models.shared_steps import SharedSteps
from models.signatures.position_check import at_least, checked, within
from models.signatures.stop_ids import finished_at
from models.signatures.tensor_specs import Endpoint


class FullSignatures(tf.Module):
    """`decode_full`: one step with penalties, biases and a vocabulary mask.

    One step a call, since the next one's history and mask depend on the id made.

    Args:
        decoder: the network.
        cache: the KV memory.
        chunk: runs the token.
        shared: traces that other signatures have too.
    """

    def __init__(
        self, decoder: DecoderComputation, cache: PagedCache, chunk: PagedChunk, shared: SharedSteps
    ) -> None:
        super().__init__(name="full_signatures")
        self.decoder = decoder
        self.cache = cache
        self.chunk = chunk
        self._shared = shared

    def endpoints(self) -> dict[str, Endpoint]:
        """Name → function."""
        return {"decode_full": self.decode_full}

    def decode_full(
        self,
        last_id: tf.Tensor,
        length: tf.Tensor,
        block_table: tf.Tensor,
        temperature: tf.Tensor,
        top_k: tf.Tensor,
        top_p: tf.Tensor,
        min_p: tf.Tensor,
        seed: tf.Tensor,
        stop_ids: tf.Tensor,
        history: tf.Tensor,
        generated_from: tf.Tensor,
        penalties: tf.Tensor,
        bias_ids: tf.Tensor,
        bias_values: tf.Tensor,
        allowed: tf.Tensor,
    ) -> dict[str, tf.Tensor]:
        """Run `last_id` at position `length`; choose from logits as `process_logits` changes them.

        `history` is what the penalties look at; whether it holds `last_id` is for the caller to say.
        """
        one = tf.constant(1)
        checks = [
            at_least("length", length, 0),
            within(self.decoder, self.cache, block_table, ("length", length), ("its step", one)),
        ]
        (length,) = checked(checks, length)
        x = self.chunk.features(last_id[:, None], tf.ones_like(length), length, block_table)
        raw = self.decoder.head(x)[:, 0]
        logits = process_logits(raw, history, generated_from, penalties, bias_ids, bias_values, allowed)
        rows = SamplingRows(temperature, top_k, top_p, min_p, seed)
        made = self._shared.sample(raw, rows, length + 1, logits=logits)
        ids = made.id[:, None]
        return {
            "ids": ids,
            "logprobs": made.logprob[:, None],
            "top_ids": made.top_ids[:, None],
            "top_logprobs": made.top_logprobs[:, None],
            "finished_at": finished_at(ids, stop_ids),
            "nonce": self.cache.nonce.read(),
        }
