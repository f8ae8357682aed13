"""Sampler: greedy continuations from the network that is being trained."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from models.decoder import Decoder
from preprocessing.tokenizers.graph_tokenizer import GraphTokenizer


class Sampler:
    """Continues prompts without KV memory: a pass per token, no package needed.

    Args:
        decoder: being trained, with its adapters, if it has any.
        tokenizer: of its checkpoint; a text ends at one of its end tokens.
    """

    def __init__(self, decoder: Decoder, tokenizer: GraphTokenizer) -> None:
        self._tokenizer = tokenizer

        @tf.function(input_signature=[tf.TensorSpec([1, None], tf.int32)], autograph=False)
        def next_id(ids: tf.Tensor) -> tf.Tensor:
            logits = decoder.head(decoder.features(ids)[:, -1:])
            return tf.argmax(logits[0, 0], output_type=tf.int32)

        self._next_id = next_id

    def prompt_ids(self, prompt: str) -> list[int]:
        """The prompt's ids, with the tokenizer's begin token where it puts one."""
        begin = (
            [self._tokenizer.bos_id] if self._tokenizer.add_bos and self._tokenizer.bos_id is not None else []
        )
        return [*begin, *self._tokenizer.encode_batch([prompt])[0]]

    def continue_text(self, prompt: str, max_tokens: int) -> str:
        """What follows the prompt, at most `max_tokens` tokens."""
        ids = self.prompt_ids(prompt)
        start = len(ids)
        while len(ids) < start + max_tokens:
            ids.append(int(self._next_id(np.array([ids], np.int32))))
            if ids[-1] in self._tokenizer.eos_ids:
                break
        return self._decode(ids[start:])

    def _decode(self, ids: Sequence[int]) -> str:
        rows = tf.ragged.constant([list(ids)], tf.int32)
        return str(self._tokenizer.decode_continuation(rows)[0].numpy().decode())
