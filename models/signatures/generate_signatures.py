"""GenerateSignatures: text in, text out, without KV blocks; any number of calls may run at once."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from models.attention import attend
from models.contract.signatures import NO_ID
from models.decoder_computation import DecoderComputation
from models.paged_attention import Prefix, prefix_bias
from models.sampling import SAMPLING_DTYPES, SamplingRows
from models.shared_steps import SharedSteps
from models.signatures.tensor_specs import Endpoint
from models.signatures.text_signatures import TextSignatures

STEPS = 16
"""Steps between two looks at whether all rows are done; their KV joins the prefix then."""

DEFAULT_MAX_TOKENS = 64
"""What `serving_default` generates at most, greedily."""


_ANSWER_SPECS = (
    tf.TensorSpec([None, None], tf.int32),
    tf.TensorSpec([None], tf.int32),
    tf.TensorSpec([None], tf.int32),
    SamplingRows(*(tf.TensorSpec([None], dtype) for dtype in SAMPLING_DTYPES)),
)


class _State(NamedTuple):
    """Of the outer loop. ids, logprobs [B, made]; mask [B, P]; cache [2 · layers, B, Hkv, P, D]."""

    made: tf.Tensor
    ids: tf.Tensor
    logprobs: tf.Tensor
    mask: tf.Tensor
    cache: tf.Tensor


class GenerateSignatures(tf.Module):
    """`generate`, `serving_default`.

    Args:
        decoder: the network.
        text: whose tokenizer and prompt rules apply.
        eos_ids: ids that end an answer.
        max_length: most tokens of prompt and answer together.
        shared: traces that other signatures have too; None makes its own.
    """

    def __init__(
        self,
        decoder: DecoderComputation,
        text: TextSignatures,
        eos_ids: tuple[int, ...],
        max_length: int,
        shared: SharedSteps | None = None,
    ) -> None:
        super().__init__(name="generate_signatures")
        self.decoder = decoder
        self.text = text
        self.eos_ids = eos_ids
        self.max_length = max_length
        self._shared = shared or SharedSteps(decoder)
        # One trace for both signatures: half the graph.
        self.answer = tf.function(self._generate, input_signature=_ANSWER_SPECS, autograph=False)

    def endpoints(self) -> dict[str, Endpoint]:
        """Name → function."""
        return {"serving_default": self.serving_default, "generate": self.generate}

    def serving_default(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """Greedy continuation of each text, at most 64 tokens or what the context has room for."""
        prompt, lengths = self._prompt(text)
        rows = tf.shape(lengths)
        greedy = SamplingRows(
            tf.zeros(rows), tf.zeros(rows, tf.int32), tf.ones(rows), tf.zeros(rows), tf.zeros(rows, tf.int64)
        )
        room = tf.minimum(self.max_length - lengths, DEFAULT_MAX_TOKENS)
        result = self.answer(prompt, lengths, tf.maximum(room, 1), greedy)
        return {"text": result["text"]}

    def generate(
        self,
        text: tf.Tensor,
        max_tokens: tf.Tensor,
        temperature: tf.Tensor,
        top_k: tf.Tensor,
        top_p: tf.Tensor,
        min_p: tf.Tensor,
        seed: tf.Tensor,
    ) -> dict[str, tf.Tensor]:
        """Continue each text.

        Returns:
            text [B] without the end id; ids [B, N] with it, filled up with NO_ID; length [B];
            finish_reason [B] "stop" or "length"; logprob_sum [B] over the ids.
        """
        with tf.control_dependencies(_range_checks(temperature, top_k, top_p, min_p)):
            rows = SamplingRows(tf.identity(temperature), top_k, top_p, min_p, seed)
        prompt, lengths = self._prompt(text)
        return self.answer(prompt, lengths, max_tokens, rows)

    def _prompt(self, text: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Padded prompt ids [B, T] and lengths [B]; an empty text starts from nothing but BOS."""
        ids = self.text.prompt(text)
        starts = [self.text.tokenizer.bos_id, *self.eos_ids]
        first = next((start for start in starts if start is not None), None)
        empty = ids.row_lengths() == 0
        if first is not None:
            opening = tf.RaggedTensor.from_row_lengths(
                tf.fill([tf.reduce_sum(tf.cast(empty, tf.int32))], first), tf.cast(empty, tf.int64)
            )
            ids = tf.concat([ids, opening], axis=1)
        lengths = tf.cast(ids.row_lengths(), tf.int32)
        check = tf.debugging.Assert(
            tf.reduce_all(lengths > 0), ["`text` is empty and the tokenizer has no id to begin with."]
        )
        with tf.control_dependencies([check]):
            return ids.to_tensor(), lengths

    def _generate(
        self, prompt: tf.Tensor, lengths: tf.Tensor, max_tokens: tf.Tensor, rows: SamplingRows
    ) -> dict[str, tf.Tensor]:
        checks = [
            tf.debugging.Assert(
                tf.reduce_all(max_tokens >= 1), ["`max_tokens` must be at least 1:", max_tokens]
            ),
            tf.debugging.Assert(
                tf.reduce_all(lengths + max_tokens <= self.max_length),
                [
                    f"`text` and `max_tokens` together exceed the context of {self.max_length} tokens; "
                    "shorten the text or ask for fewer tokens. Tokens of text:",
                    lengths,
                    "max_tokens:",
                    max_tokens,
                ],
            ),
        ]
        with tf.control_dependencies(checks):
            prompt = tf.identity(prompt)
        most = tf.reduce_max(max_tokens)
        state = self._prefill(prompt, lengths, rows)

        def body(*fields: tf.Tensor) -> _State:
            state = _State(*fields)
            positions = _columns(state, tf.shape(prompt)[1], lengths)
            return self._more(state, positions, lengths, rows, tf.minimum(STEPS, most - state.made))

        shapes = _State(
            *[tf.TensorShape(shape) for shape in ([], [None, None], [None, None], [None, None])],
            tf.TensorShape([state.cache.shape[0], None, state.cache.shape[2], None, state.cache.shape[4]]),
        )
        state = tf.while_loop(
            lambda *fields: tf.reduce_any(self._ends(_State(*fields).ids, max_tokens).running),
            body,
            state,
            shapes,
            parallel_iterations=1,
        )
        return self._result(_State(*state), max_tokens)

    def _prefill(self, prompt: tf.Tensor, lengths: tf.Tensor, rows: SamplingRows) -> _State:
        """Run the prompts: the state after one token."""
        width = tf.shape(prompt)[1]
        positions = tf.range(width)[None]
        x = self.decoder.embed(prompt, positions)
        cache: list[tf.Tensor] = []
        for block, mask in zip(self.decoder.blocks, self.decoder.masks(width), strict=True):
            q, k, v = block.project(x, positions)
            x = block.finish(x, attend(q, k, v, mask))
            cache += [k, v]
        last = tf.gather(x, lengths - 1, batch_dims=1)[:, None]
        made = self._shared.sample(self.decoder.head(last)[:, 0], rows, lengths)
        valid = tf.range(width)[None] < lengths[:, None]
        return _State(tf.constant(1), made.id[:, None], made.logprob[:, None], valid, tf.stack(cache))

    def _more(
        self,
        state: _State,
        positions: tf.Tensor,
        lengths: tf.Tensor,
        rows: SamplingRows,
        steps: tf.Tensor,
    ) -> _State:
        """The state some steps later."""
        layers = tf.unstack(state.cache, axis=0)
        prefix = Prefix(layers[::2], layers[1::2], prefix_bias(state.mask), positions)
        # The last id made has no KV yet: it runs first.
        made = self._shared.decode(state.ids[:, -1], lengths + state.made - 1, prefix, rows, steps)
        valid = tf.ones([tf.shape(lengths)[0], steps], tf.bool)
        return _State(
            state.made + steps,
            tf.concat([state.ids, made.ids], axis=1),
            tf.concat([state.logprobs, made.logprobs], axis=1),
            tf.concat([state.mask, valid], axis=1),
            tf.concat([state.cache, made.tail], axis=3),
        )

    def _ends(self, ids: tf.Tensor, max_tokens: tf.Tensor) -> _Ends:
        """Where each row's answer ends in ids [B, made]."""
        made = tf.shape(ids)[1]
        ended = tf.zeros_like(ids, tf.bool)
        for eos in self.eos_ids:
            ended |= ids == eos
        first = tf.reduce_min(tf.where(ended, tf.range(made)[None] + 1, tf.int32.max), axis=1)
        length = tf.minimum(first, max_tokens)
        return _Ends(length, first <= max_tokens, length > made)

    def _result(self, state: _State, max_tokens: tf.Tensor) -> dict[str, tf.Tensor]:
        ends = self._ends(state.ids, max_tokens)
        inside = tf.range(tf.shape(state.ids)[1])[None] < ends.length[:, None]
        longest = tf.reduce_max(ends.length)
        shown = ends.length - tf.cast(ends.stopped, tf.int32)
        visible = tf.RaggedTensor.from_tensor(state.ids, lengths=shown)
        return {
            "text": self.text.tokenizer.decode_continuation(visible),
            "ids": tf.where(inside, state.ids, NO_ID)[:, :longest],
            "length": ends.length,
            "finish_reason": tf.where(ends.stopped, "stop", "length"),
            "logprob_sum": tf.reduce_sum(tf.where(inside, state.logprobs, 0.0), axis=1),
        }


def _columns(state: _State, width: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
    """Positions [B, P] of the cache's columns: the padded prompt, then what was made after it."""
    column = tf.range(tf.shape(state.mask)[1])[None]
    return tf.where(column < width, column, lengths[:, None] + column - width)


def _range_checks(
    temperature: tf.Tensor, top_k: tf.Tensor, top_p: tf.Tensor, min_p: tf.Tensor
) -> list[tf.Operation]:
    """The ranges of `models.contract.sampling_params`; NaN is in none of them."""
    ranges = {
        "`temperature` must be a number from 0 to 2:": (temperature, (temperature >= 0) & (temperature <= 2)),
        "`top_k` must be 0 (off) or positive:": (top_k, top_k >= 0),
        "`top_p` must be above 0 and at most 1:": (top_p, (top_p > 0) & (top_p <= 1)),
        "`min_p` must be a number from 0 to 1:": (min_p, (min_p >= 0) & (min_p <= 1)),
    }
    return [tf.debugging.Assert(tf.reduce_all(ok), [text, value]) for text, (value, ok) in ranges.items()]


class _Ends(NamedTuple):
    """length [B] of ids with the end id; stopped [B] by an end id; running [B]: not ended yet."""

    length: tf.Tensor
    stopped: tf.Tensor
    running: tf.Tensor
