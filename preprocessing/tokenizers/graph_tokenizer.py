"""GraphTokenizer: text to ids and back inside a TensorFlow graph."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from preprocessing.tokenizers.byte_level_bpe_encoder import ByteLevelBpeEncoder, optional_column
from preprocessing.tokenizers.bytes_encoder import BytesEncoder
from preprocessing.tokenizers.control_ids import control_ids
from preprocessing.tokenizers.detokenizer import Detokenizer
from preprocessing.tokenizers.fingerprint import fingerprint
from preprocessing.tokenizers.sentencepiece_encoder import SentencepieceEncoder
from preprocessing.tokenizers.tokenizer_spec import BYTES, SENTENCEPIECE, TokenizerSpec

_CPU = "/CPU:0"


class GraphTokenizer(tf.Module):
    """A tokenizer whose every step is a TensorFlow operation: it travels inside a SavedModel.

    The graph holds the vocabulary itself: no Python, no asset files, no lookup tables. It needs
    tensorflow and, to load, tensorflow_text. Operations are pinned to the CPU and do not compile
    with XLA. Whatever saves a function that encodes must track the tokenizer (it owns a resource).

    Args:
        spec: see `load_tokenizer`.
    """

    def __init__(self, spec: TokenizerSpec) -> None:
        super().__init__(name="tokenizer")
        self._spec = spec
        self._fingerprint = fingerprint(spec)
        self._encoder = _encoder(spec)
        self._detokenizer = Detokenizer(spec.token_bytes(), spec.text_start)
        self._functions: _Functions | None = None

    @property
    def kind(self) -> str:
        """ "byte_level_bpe", "sentencepiece" or "bytes"."""
        return self._spec.kind

    @property
    def vocab_size(self) -> int:
        """Largest id + 1."""
        return self._spec.vocab_size

    @property
    def fingerprint(self) -> str:
        """sha256 in hex of everything that decides ids."""
        return self._fingerprint

    @property
    def token_bytes(self) -> list[bytes]:
        """Bytes of ids 0 … vocab_size − 1; a special token has those of its content."""
        return self._spec.token_bytes()

    @property
    def stream_start(self) -> bytes:
        """The first `pending` of a stream that begins a text: see `decode_stream`."""
        return self._detokenizer.stream_start

    @property
    def special_ids(self) -> dict[str, int]:
        """Content of each special token → id."""
        return dict(self._spec.specials)

    @property
    def control_ids(self) -> dict[str, int]:
        """Content → id of all tokens that a chat template may write and a message may not.

        The special tokens, and the added ones that are none but may mark turns or calls as well: plain
        text that holds these becomes them, text between the marks of a conversation does not.
        """
        return control_ids(self._spec)

    @property
    def bos_id(self) -> int | None:
        """Begin-of-sequence id, if there is one."""
        return self._spec.bos_id

    @property
    def add_bos(self) -> bool:
        """Whether a prompt starts with bos_id; encoding itself never adds it."""
        return self._spec.add_bos

    @property
    def eos_ids(self) -> tuple[int, ...]:
        """Ids that end an answer, ascending."""
        return self._spec.eos_ids

    @property
    def chat_template(self) -> str | None:
        """Jinja source, if there is one."""
        return self._spec.chat_template

    def encode(self, text: tf.Tensor) -> tf.RaggedTensor:
        """Encode texts; a special token's name in a text is text: no special id can come out.

        Args:
            text: [B] string, any bytes. What is not UTF-8 becomes U+FFFD, as in Python's "replace";
                only kind "bytes" takes bytes as they are.

        Returns:
            [B, None] int32.
        """
        with tf.device(_CPU):
            return self._encoder.encode(text, with_special=False)

    def encode_with_special(self, text: tf.Tensor) -> tf.RaggedTensor:
        """As `encode`, but names of special tokens become their ids: for trusted text only."""
        with tf.device(_CPU):
            return self._encoder.encode(text, with_special=True)

    def encode_segments(
        self, text: tf.Tensor, special_id: tf.Tensor, row_splits: tf.Tensor
    ) -> tf.RaggedTensor:
        """Encode prompts made of text and control tokens, e.g. a rendered chat template.

        Args:
            text: [S] string; each is a text of its own, as between special tokens in Hugging Face
                tokenizers; where a text gets a space in front, each of them gets one. None of
                `control_ids` comes of text.
            special_id: [S] int32; −1 marks text, otherwise this id stands for the segment, whatever
                its text.
            row_splits: [R + 1] int64, which segments belong to which prompt.

        Returns:
            [R, None] int32.
        """
        with tf.device(_CPU):
            ids = self._encoder.encode_bare(tf.where(special_id >= 0, "", text))
            ids = tf.concat([ids, optional_column(special_id)], 1)
            splits = tf.gather(ids.row_splits, row_splits)
            return tf.RaggedTensor.from_row_splits(ids.values, splits, validate=False)

    def decode(self, ids: tf.RaggedTensor) -> tf.Tensor:
        """Decode ids; special tokens show as their content, ids outside the vocabulary as nothing.

        The space that encoding puts in front of a text (kind "sentencepiece") is dropped again, as the
        reference does; special tokens before it do not count as text if it comes from a model file.

        Args:
            ids: [B, None] int32.

        Returns:
            [B] string, UTF-8; wrong byte sequences become U+FFFD, as in Python's "replace".
        """
        with tf.device(_CPU):
            return self._detokenizer.decode(ids)

    def decode_continuation(self, ids: tf.RaggedTensor) -> tf.Tensor:
        """As `decode`, of ids that continue a text, e.g. an answer: nothing is dropped in front."""
        with tf.device(_CPU):
            return self._detokenizer.decode_continuation(ids)

    def decode_stream(
        self, pending: tf.Tensor, ids: tf.RaggedTensor, final: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Decode streams piece by piece; stateless, the caller keeps the bytes held back.

        Args:
            pending: [B] string, what the last call held back; at first `stream_start` if the stream
                begins a text, empty if it continues one.
            ids: [B, None] int32, new ids.
            final: [] or [B] bool, whether the streams end here: nothing is held back then.

        Returns:
            text [B] string and pending [B] string, at most 3 bytes: an incomplete UTF-8 sequence, or
            `stream_start` as long as no text has come. The texts of a stream, joined, are what `decode`
            or `decode_continuation` gives for all its ids.
        """
        with tf.device(_CPU):
            return self._detokenizer.decode_stream(pending, ids, final)

    def encode_batch(self, texts: Sequence[str | bytes], *, with_special: bool = False) -> list[list[int]]:
        """Encode outside a graph: lists of Python ints; `with_special` as in encode_with_special."""
        if self._functions is None:
            self._functions = _Functions(self)
        function = self._functions.encode_with_special if with_special else self._functions.encode
        return function(tf.constant(list(texts), tf.string)).to_list()


def _encoder(spec: TokenizerSpec) -> ByteLevelBpeEncoder | BytesEncoder | SentencepieceEncoder:
    if spec.kind == SENTENCEPIECE:
        return SentencepieceEncoder(spec)
    return BytesEncoder(spec) if spec.kind == BYTES else ByteLevelBpeEncoder(spec)


class _Functions:
    """Compiled functions for use outside a graph, kept from whatever saves the tokenizer."""

    def __init__(self, tokenizer: GraphTokenizer) -> None:
        text = tf.TensorSpec([None], tf.string)
        self.encode = tf.function(tokenizer.encode, input_signature=[text], autograph=False)
        self.encode_with_special = tf.function(
            tokenizer.encode_with_special, input_signature=[text], autograph=False
        )
