"""VerifySignatures: many guessed tokens checked by one call."""

from __future__ import annotations

import tensorflow as tf

from models.decoder_computation import DecoderComputation
from models.paged_cache import PagedCache
from models.paged_chunk import PagedChunk
from models.sampling import Sampled, SamplingRows
from models.shared_steps import SharedSteps
from models.signatures.position_check import at_least, checked, columns_of, within
from models.signatures.tensor_specs import Endpoint


class VerifySignatures(tf.Module):
    """`verify`: what speculative decoding calls in place of `decode`.

    A draft is accepted if it is the id that `decode` would have made at its position: same logits,
    same uniform number of (seed, position), hence same id. So the answer is the one without
    speculation, token for token, greedy or sampled, and no correction of the distribution is needed.
    Source of the idea: Leviathan, Kalman and Matias, "Fast Inference from Transformers via
    Speculative Decoding" (2023), with draws coupled through the seed instead of by rejection.

    Args:
        decoder: the network.
        cache: the KV memory.
        chunk: runs the drafts.
        shared: traces that other signatures have too.
    """

    def __init__(
        self, decoder: DecoderComputation, cache: PagedCache, chunk: PagedChunk, shared: SharedSteps
    ) -> None:
        super().__init__(name="verify_signatures")
        self.decoder = decoder
        self.cache = cache
        self.chunk = chunk
        self._shared = shared

    def endpoints(self) -> dict[str, Endpoint]:
        """Name → function."""
        return {"verify": self.verify}

    def verify(
        self,
        last_id: tf.Tensor,
        length: tf.Tensor,
        draft_ids: tf.Tensor,
        draft_lengths: tf.Tensor,
        block_table: tf.Tensor,
        temperature: tf.Tensor,
        top_k: tf.Tensor,
        top_p: tf.Tensor,
        min_p: tf.Tensor,
        seed: tf.Tensor,
    ) -> dict[str, tf.Tensor]:
        """Run `last_id` at position `length` and the drafts behind it; a row may have none.

        KV of all drafts is written. That of rejected ones stays where it is and does no harm: every
        call sees positions below its `length` or `start` only, and the positions from there on are
        written by the call that runs their real ids before any call sees them.

        Returns:
            accepted [B]: leading drafts that are right; next_id [B], which follows them. Columns of
            logprobs, top_ids and top_logprobs [B, D + 1] belong to the ids of `decode`, and are
            valid up to column `accepted`.
        """
        width = tf.shape(draft_ids)[1]
        checks = [
            at_least("length", length, 0),
            columns_of("draft_ids", draft_ids, "draft_lengths", draft_lengths),
            within(
                self.decoder, self.cache, block_table, ("length", length), ("drafts + 1", draft_lengths + 1)
            ),
        ]
        (length,) = checked(checks, length)
        drafted = tf.range(width)[None] < draft_lengths[:, None]
        # Filling may hold any number, but the embedding has a row for ids only.
        ids = tf.concat([last_id[:, None], tf.where(drafted, draft_ids, 0)], axis=1)
        x = self.chunk.features(ids, draft_lengths + 1, length, block_table)
        rows = SamplingRows(temperature, top_k, top_p, min_p, seed)
        made = self._choose(x, rows, length)
        right = tf.cast(drafted & (made.id[:, :-1] == draft_ids), tf.int32)
        accepted = tf.reduce_sum(tf.math.cumprod(right, axis=1), axis=1)
        return {
            "accepted": accepted,
            "next_id": tf.gather(made.id, accepted, batch_dims=1),
            "logprobs": made.logprob,
            "top_ids": made.top_ids,
            "top_logprobs": made.top_logprobs,
            "nonce": self.cache.nonce.read(),
        }

    def _choose(self, x: tf.Tensor, rows: SamplingRows, length: tf.Tensor) -> Sampled:
        """What follows each of features [B, D + 1, E], as if it were the last one: [B, D + 1, …]."""
        count, columns = tf.shape(x)[0], tf.shape(x)[1]
        logits = self.decoder.head(x)
        flat = tf.reshape(logits, [-1, logits.shape[-1]])
        position = tf.reshape(length[:, None] + 1 + tf.range(columns)[None], [-1])
        made = self._shared.sample(flat, rows.take(tf.repeat(tf.range(count), columns)), position)
        return Sampled(
            *(tf.reshape(part, tf.concat([[count, columns], tf.shape(part)[1:]], axis=0)) for part in made)
        )
