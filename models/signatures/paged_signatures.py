"""PagedSignatures: the calls of an engine that owns block tables."""

from __future__ import annotations

import tensorflow as tf

from models.decoder_computation import DecoderComputation
from models.paged_attention import Prefix, prefix_bias
from models.paged_cache import PagedCache
from models.paged_chunk import PagedChunk
from models.sampling import SamplingRows
from models.shared_steps import SharedSteps
from models.signatures.full_signatures import FullSignatures
from models.signatures.position_check import at_least, checked, columns_of, within
from models.signatures.stop_ids import finished_at
from models.signatures.tensor_specs import Endpoint
from models.signatures.verify_signatures import VerifySignatures


class PagedSignatures(tf.Module):
    """`prefill`, `decode`, `decode_full`, `verify`, `copy_blocks`, `reset`; every call returns the nonce.

    Args:
        decoder: the network.
        cache: the KV memory.
        shared: traces that other signatures have too; None makes its own.
    """

    def __init__(
        self, decoder: DecoderComputation, cache: PagedCache, shared: SharedSteps | None = None
    ) -> None:
        super().__init__(name="paged_signatures")
        self.decoder = decoder
        self.cache = cache
        self.chunk = PagedChunk(decoder, cache)
        self._shared = shared or SharedSteps(decoder)
        self._full = FullSignatures(decoder, cache, self.chunk, self._shared)
        self._verify = VerifySignatures(decoder, cache, self.chunk, self._shared)

    def endpoints(self) -> dict[str, Endpoint]:
        """Name → function."""
        return {
            "prefill": self.prefill,
            "decode": self.decode,
            **self._full.endpoints(),
            **self._verify.endpoints(),
            "copy_blocks": self.copy_blocks,
            "reset": self.reset,
        }

    def prefill(
        self,
        ids: tf.Tensor,
        lengths: tf.Tensor,
        start: tf.Tensor,
        block_table: tf.Tensor,
        temperature: tf.Tensor,
        top_k: tf.Tensor,
        top_p: tf.Tensor,
        min_p: tf.Tensor,
        seed: tf.Tensor,
    ) -> dict[str, tf.Tensor]:
        """Run ids [B, T] at the positions from `start` on, write their KV, sample what follows.

        The blocks hold the KV of the first `start` positions already: a chunk of a long prompt, a
        turn of a conversation and a hit in a prefix cache are the same call. A row of length 0 is
        padding and may point to the null block.
        """
        checks = [
            at_least("start", start, 0),
            columns_of("ids", ids, "lengths", lengths),
            within(self.decoder, self.cache, block_table, ("start", start), ("lengths", lengths)),
        ]
        (start,) = checked(checks, start)
        x = self.chunk.features(ids, lengths, start, block_table)
        last = tf.gather(x, tf.maximum(lengths - 1, 0), batch_dims=1)[:, None]
        rows = SamplingRows(temperature, top_k, top_p, min_p, seed)
        made = self._shared.sample(self.decoder.head(last)[:, 0], rows, start + lengths)
        return {
            "next_id": made.id,
            "logprob": made.logprob,
            "top_ids": made.top_ids,
            "top_logprobs": made.top_logprobs,
            "nonce": self.cache.nonce.read(),
        }

    def decode(
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
        steps: tf.Tensor,
    ) -> dict[str, tf.Tensor]:
        """Run `last_id` at position `length` and go on for `steps` steps.

        The live prefix is gathered once, the steps carry their own KV, which is written at the end.
        A row goes on after a stop id; what it makes then is for the caller to drop.
        """
        checks = [
            at_least("steps", steps, 1),
            at_least("length", length, 0),
            within(self.decoder, self.cache, block_table, ("length", length), ("steps", steps)),
        ]
        length, steps = checked(checks, length, steps)
        blocks = self.cache.blocks_of(block_table, length)
        layers = range(len(self.decoder.blocks))
        keys, values = zip(*(self.cache.gather(layer, blocks) for layer in layers), strict=True)
        positions = tf.range(tf.shape(blocks)[2] * self.cache.block_size)[None]
        rows = SamplingRows(temperature, top_k, top_p, min_p, seed)
        prefix = Prefix(list(keys), list(values), prefix_bias(positions < length[:, None]), positions)
        made = self._shared.decode(last_id, length, prefix, rows, steps)
        slots = self.cache.slots_of(block_table, length, tf.fill(tf.shape(length), steps), steps)
        tail = tf.unstack(made.tail, axis=0)
        for layer in layers:
            self.cache.scatter(layer, slots, tail[2 * layer], tail[2 * layer + 1])
        return {
            "ids": made.ids,
            "logprobs": made.logprobs,
            "top_ids": made.top_ids,
            "top_logprobs": made.top_logprobs,
            "finished_at": finished_at(made.ids, stop_ids),
            "nonce": self.cache.nonce.read(),
        }

    def copy_blocks(self, source: tf.Tensor, target: tf.Tensor) -> dict[str, tf.Tensor]:
        """Copy whole blocks: source [P] → target [P]."""
        self.cache.copy(source, target)
        return {"nonce": self.cache.nonce.read()}

    def reset(self) -> dict[str, tf.Tensor]:
        """Zero all KV memory and draw a new nonce."""
        self.cache.reset()
        return {"nonce": self.cache.nonce.read()}
