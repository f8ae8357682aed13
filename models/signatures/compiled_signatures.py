"""CompiledSignatures: `decode` with its loop compiled by XLA."""

from __future__ import annotations

import tensorflow as tf

from models.compiled_loop import compiled_steps
from models.contract.signatures import MAX_XLA_STEPS
from models.decode_loop import DecodedSteps
from models.packed.packed_decoder import PackedDecoder
from models.paged_attention import Prefix, prefix_bias
from models.paged_cache import PagedCache
from models.sampling import SamplingRows
from models.shared_steps import SharedSteps
from models.signatures.position_check import PositionCheck, at_least, checked, within
from models.signatures.stop_ids import finished_at
from models.signatures.tensor_specs import Endpoint


class CompiledSignatures(tf.Module):
    """`decode_xla`, of packages with a profile.

    Memory is gathered before and written after the compiled function: inside it, XLA would copy all
    of an arena at every call.

    Args:
        decoder: the network.
        cache: the KV memory.
        shared: traces that other signatures have too; None makes its own.
    """

    def __init__(self, decoder: PackedDecoder, cache: PagedCache, shared: SharedSteps | None = None) -> None:
        super().__init__(name="compiled_signatures")
        self._decoder = decoder
        self._cache = cache
        self._shared = shared or SharedSteps(decoder)

    def endpoints(self) -> dict[str, Endpoint]:
        """Name → function."""
        return {"decode_xla": self.decode_xla}

    def decode_xla(
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
        """What `decode` does, for at most 16 steps; all columns of the block table are gathered.

        Every number of rows and of columns is a compilation of its own.
        """
        few = (steps >= 1) & (steps <= MAX_XLA_STEPS)
        checks = [
            PositionCheck(few, [f"`steps` must be 1 to {MAX_XLA_STEPS}:", steps]),
            at_least("length", length, 0),
            within(self._decoder, self._cache, block_table, ("length", length), ("steps", steps)),
        ]
        length, steps = checked(checks, length, steps)
        blocks = self._cache.blocks_of(block_table)
        layers = range(len(self._decoder.blocks))
        keys, values = zip(*(self._cache.gather(layer, blocks) for layer in layers), strict=True)
        positions = tf.range(tf.shape(blocks)[2] * self._cache.block_size)[None]
        prefix = Prefix(list(keys), list(values), prefix_bias(positions < length[:, None]), positions)
        rows = SamplingRows(temperature, top_k, top_p, min_p, seed)
        made = self._compiled(last_id, length, prefix, rows, steps)
        slots = self._cache.slots_of(block_table, length, tf.fill(tf.shape(length), steps), steps)
        tail = tf.unstack(made.tail[..., :steps, :], axis=0)
        for layer in layers:
            self._cache.scatter(layer, slots, tail[2 * layer], tail[2 * layer + 1])
        ids = made.ids[:, :steps]
        return {
            "ids": ids,
            "logprobs": made.logprobs[:, :steps],
            "top_ids": made.top_ids[:, :steps],
            "top_logprobs": made.top_logprobs[:, :steps],
            "finished_at": finished_at(ids, stop_ids),
            "nonce": self._cache.nonce.read(),
        }

    def _compiled(self, *arguments: object) -> DecodedSteps:
        """The loop in a function of its own, on weights read outside it."""
        decoder = self._decoder.bound()
        loop = tf.function(
            lambda *inner: compiled_steps(decoder, *inner, choose=self._shared.sample),
            jit_compile=True,
            autograph=False,
        )
        return loop(*arguments)
