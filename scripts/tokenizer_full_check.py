"""Comparison of a tokenizer with its reference: ids of texts, and texts of ids, whole and in pieces."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import tensorflow as tf

from preprocessing.tokenizers import GraphTokenizer
from serving.engine.incremental_detokenizer import IncrementalDetokenizer

BATCH_BYTES = 250_000
_KEPT = 3
"""Mismatches of a job that are shown."""
_MOST_TRIES = 600
"""Candidates that are tried to make a mismatch smaller."""
_BYTE_PIECE = re.compile("<0x[0-9A-F]{2}>")
_ROWS, _STEPS = 200, 20
"""Rows of ids, and calls for each."""


class Reference(Protocol):
    """The tokenizer that decides."""

    def encode(self, texts: list[str]) -> list[list[int]]:
        """Ids of texts; names of special tokens are text."""

    def decode(self, rows: list[list[int]]) -> list[str]:
        """Texts of ids, special tokens as their content."""

    def decodable(self) -> list[int]:
        """Ids whose text it tells."""


class HuggingFaceReference:
    """Hugging Face tokenizers."""

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(path))
        self._tokenizer.encode_special_tokens = True

    def encode(self, texts: list[str]) -> list[list[int]]:
        encodings = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def decode(self, rows: list[list[int]]) -> list[str]:
        return self._tokenizer.decode_batch(rows, skip_special_tokens=False)

    def decodable(self) -> list[int]:
        """All but byte pieces: of a sequence that is wrong somewhere it shows U+FFFD for every byte."""
        vocab = self._tokenizer.get_vocab()
        return sorted(index for token, index in vocab.items() if not _BYTE_PIECE.fullmatch(token))


class SentencepieceReference:
    """The sentencepiece library.

    Of an incomplete UTF-8 sequence it shows U+FFFD for every byte, Python and we for the sequence: texts are
    compared with such runs made one.
    """

    def __init__(self, path: Path) -> None:
        from sentencepiece import SentencePieceProcessor

        self._model = SentencePieceProcessor(model_file=str(path))

    def encode(self, texts: list[str]) -> list[list[int]]:
        return self._model.encode(texts)

    def decode(self, rows: list[list[int]]) -> list[str]:
        return self._model.decode(rows)

    def decodable(self) -> list[int]:
        """All but control pieces, which the library shows as nothing, and the unknown piece."""
        model = self._model
        silent = (model.is_control, model.is_unknown, model.is_unused)
        return [index for index in range(model.vocab_size()) if not any(test(index) for test in silent)]


@dataclass
class Outcome:
    """What a job found.

    Args:
        documents: compared.
        size: their bytes.
        tokens: their ids, by the reference.
        mismatches: documents that differ.
        shown: the first of them, made small: text, ours, the reference's.
    """

    documents: int = 0
    size: int = 0
    tokens: int = 0
    mismatches: int = 0
    shown: list[dict[str, Any]] = field(default_factory=list)

    def add(self, other: Outcome) -> None:
        self.documents += other.documents
        self.size += other.size
        self.tokens += other.tokens
        self.mismatches += other.mismatches
        self.shown = (self.shown + other.shown)[:_KEPT]


def reference_of(path: Path) -> Reference:
    return HuggingFaceReference(path) if path.suffix == ".json" else SentencepieceReference(path)


class Comparer:
    """A tokenizer beside its reference.

    Args:
        tokenizer: ours.
        reference: what its ids and texts must equal.
    """

    def __init__(self, tokenizer: GraphTokenizer, reference: Reference) -> None:
        self.tokenizer = tokenizer
        self._reference = reference
        self._token_bytes = tokenizer.token_bytes
        self._folds = isinstance(reference, SentencepieceReference)
        text = tf.TensorSpec([None], tf.string)
        self._encode = tf.function(tokenizer.encode, input_signature=[text], autograph=False)
        ids = tf.RaggedTensorSpec([None, None], tf.int32)
        stream = [text, ids, tf.TensorSpec([], tf.bool)]
        self._decode = tf.function(tokenizer.decode, input_signature=[ids], autograph=False)
        self._stream = tf.function(tokenizer.decode_stream, input_signature=stream, autograph=False)

    def compare(self, texts: Iterable[bytes]) -> Outcome:
        """Ids of documents; the reference gets U+FFFD for what is not UTF-8, by Python's "replace"."""
        outcome = Outcome()
        for batch in batches(texts):
            expected = self._reference.encode([text.decode("utf-8", "replace") for text in batch])
            wrong = self._differing(batch, expected)
            outcome.documents += len(batch)
            outcome.size += sum(map(len, batch))
            outcome.tokens += sum(map(len, expected))
            outcome.mismatches += len(wrong)
            for place in wrong[: _KEPT - len(outcome.shown)]:
                outcome.shown.append(self._small(batch[place]))
        return outcome

    def _differing(self, batch: list[bytes], expected: list[list[int]]) -> list[int]:
        """Places of the texts whose ids differ or cannot be had."""
        try:
            ids = self._encode(tf.constant(batch, tf.string))
        except tf.errors.InvalidArgumentError:
            pairs = zip(batch, expected, strict=True)
            return [place for place, (text, theirs) in enumerate(pairs) if self._ours(text) != theirs]
        values, splits = ids.values.numpy(), ids.row_splits.numpy()
        theirs = [np.array(row, np.int32) for row in expected]
        bounds = np.cumsum([0, *map(len, theirs)])
        if np.array_equal(splits, bounds) and np.array_equal(values, np.concatenate(theirs)):
            return []
        rows = zip(theirs, splits[:-1], splits[1:], strict=True)
        return [at for at, (row, a, b) in enumerate(rows) if not np.array_equal(row, values[a:b])]

    def _ours(self, text: bytes) -> list[int] | str:
        try:
            return self._encode(tf.constant([text], tf.string)).to_list()[0]
        except tf.errors.InvalidArgumentError as error:
            return str(error)

    def _small(self, text: bytes) -> dict[str, Any]:
        def differs(part: bytes) -> bool:
            return self._ours(part) != self._reference.encode([part.decode("utf-8", "replace")])[0]

        text = smallest(text, differs)
        theirs = self._reference.encode([text.decode("utf-8", "replace")])[0]
        return {"text": repr(text[:400]), "ours": _start(self._ours(text)), "reference": _start(theirs)}

    def compare_decoding(self, count: int, seed: str) -> Outcome:
        """Texts of random ids: whole, in pieces at every step, and by the engine's pure detokenizer.

        Pieces of a stream that begins a text, joined, are the whole; pieces of one that goes on are those
        of the engine, whose answers go on after a prompt.

        Args:
            count: rows in all.
            seed: of the rows.
        """
        outcome, rng = Outcome(), random.Random(seed)
        usable = self._reference.decodable()
        for _ in range(0, count, _ROWS):
            steps = [[rng.choices(usable, k=rng.randrange(4)) for _ in range(_STEPS)] for _ in range(_ROWS)]
            rows = [[index for step in row for index in step] for row in steps]
            texts = self._reference.decode(rows)
            decoded = self._decode(_ragged(rows)).numpy()
            begun = self._streamed(steps, self.tokenizer.stream_start)
            streamed = self._streamed(steps, b"") if self.tokenizer.stream_start else begun
            pure = [self._pure(row) for row in steps]
            outcome.documents += _ROWS
            outcome.size += sum(len(text) for text in decoded)
            outcome.tokens += sum(map(len, rows))
            for at, (text, whole) in enumerate(zip(texts, decoded, strict=True)):
                same = _folded(text) == _folded(whole.decode()) if self._folds else text == whole.decode()
                if not (same and whole.decode() == "".join(begun[at]) and streamed[at] == pure[at]):
                    outcome.mismatches += 1
                    shown = {"ids": rows[at][:60], "reference": text, "decode": whole.decode()}
                    outcome.shown.append({**shown, "stream": streamed[at], "pure": pure[at]})
        outcome.shown = outcome.shown[:_KEPT]
        return outcome

    def _streamed(self, steps: list[list[list[int]]], start: bytes) -> list[list[str]]:
        """Texts of decode_stream [rows][steps + 1], the last one for the end; `start` is pending first."""
        pending = tf.fill([len(steps)], tf.constant(start))
        texts: list[list[str]] = [[] for _ in steps]
        for step in range(_STEPS + 1):
            final = step == _STEPS
            new = [[] if final else row[step] for row in steps]
            text, pending = self._stream(pending, _ragged(new), tf.constant(final))
            for row, piece in zip(texts, text.numpy(), strict=True):
                row.append(piece.decode())
        return texts

    def _pure(self, steps: list[list[int]]) -> list[str]:
        """The same of the engine's detokenizer, which is Python's incremental UTF-8 decoder."""
        detokenizer = IncrementalDetokenizer(self._token_bytes)
        return [*(detokenizer.append(step) for step in steps), detokenizer.finish()]


def batches(texts: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Texts in batches of about BATCH_BYTES."""
    batch: list[bytes] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def smallest(text: bytes, differs: Callable[[bytes], bool]) -> bytes:
    """A part of the text that still differs and from which no single piece tried can be left out.

    Delta debugging (Zeller and Hildebrandt, 2002): leave out ever smaller pieces.
    """
    tries, step = 0, max(1, len(text) // 2)
    while step and tries < _MOST_TRIES:
        at, shorter = 0, False
        while at < len(text) and tries < _MOST_TRIES:
            rest = text[:at] + text[at + step :]
            tries += 1
            if differs(rest):
                text, shorter = rest, True
            else:
                at += step
        if not shorter or step > 1:
            step //= 2
    return text


def _folded(text: str) -> str:
    return re.sub("\ufffd+", "\ufffd", text)


def _ragged(rows: list[list[int]]) -> tf.RaggedTensor:
    values = np.array([index for row in rows for index in row], np.int32)
    lengths = np.array([len(row) for row in rows], np.int64)
    return tf.RaggedTensor.from_row_lengths(values, lengths, validate=False)


def _start(ids: list[int] | str) -> list[int] | str:
    return ids[:40] if isinstance(ids, list) else ids[:300]
