"""SentencepieceOperation: TF Text's SentencePiece operation with a model that a SavedModel holds once."""

from __future__ import annotations

import hashlib

import tensorflow as tf
from tensorflow.python.saved_model import save_context  # no public API tells that a model is being saved
from tensorflow_text.python.ops import sentencepiece_tokenizer as tf_text

_OPERATIONS = tf_text.gen_sentencepiece_tokenizer


class SentencepieceOperation(tf.Module):
    """Tokenizes as `tensorflow_text.SentencepieceTokenizer` does, whose model a SavedModel holds twice.

    Args:
        model: serialised ModelProto.
    """

    def __init__(self, model: bytes) -> None:
        super().__init__()
        self._model = _Model(model)

    def tokenize(self, text: tf.Tensor) -> tf.RaggedTensor:
        """[B] string, UTF-8, to [B, None] int32: the numbers of pieces."""
        values, splits = _OPERATIONS.sentencepiece_tokenize_op(
            self._model.resource_handle,
            text,
            nbest_size=0,
            alpha=1.0,
            add_bos=False,
            add_eos=False,
            reverse=False,
            out_type=tf.int32,
        )
        return tf.RaggedTensor.from_row_splits(values, splits, validate=False)


class _Model(tf.saved_model.experimental.TrackableResource):
    """The operation's resource, under a name by which all that look for it find one.

    Only one function has the model, an attribute, in it. The loader of version 2 calls it to create the
    resource, that of version 1 in the initial operation; the main graph's node, which runs in every call,
    has the name alone. A call of the function in its place would cost a third more time for a short text.
    So there is one resource for each model as long as the session, outside sessions the process, lives.
    """

    def __init__(self, model: bytes) -> None:
        super().__init__()
        self._model = model
        self._name = f"sentencepiece_{hashlib.sha256(model).hexdigest()}"

        with tf.init_scope():
            whole = tf.function(lambda: self._node(model), autograph=False)
            self._create = whole.get_concrete_function()
            _ = self.resource_handle

    def _node(self, model: bytes) -> tf.Tensor:
        return _OPERATIONS.sentencepiece_op(model=model, shared_name=self._name)

    def _create_resource(self) -> tf.Tensor:
        if tf.executing_eagerly() or tf.compat.v1.get_default_graph().building_function:
            return self._create()
        # A graph of version 1 that is not being saved has no initial operation.
        return self._node(b"" if save_context.in_save_context() else self._model)

    def _initialize(self) -> None:
        self._create()
