"""SentencePiece models in the graph against the sentencepiece library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from preprocessing.tokenizers import GraphTokenizer, load_tokenizer
from preprocessing.tokenizers.sentencepiece_proto import PieceType
from tests.preprocessing.tokenizers import sentencepiece_models as models

BPE: dict[str, dict[str, Any]] = {
    "llama": {},
    "t5": {"normalization_rule_name": "nmt_nfkc", "remove_extra_whitespaces": True, "byte_fallback": False},
    "gemma": {"add_dummy_prefix": False, "split_by_whitespace": False, "max_sentencepiece_length": 24},
    "folded": {"normalization_rule_name": "nmt_nfkc_cf", "split_digits": True},
    "suffix": {"treat_whitespace_as_suffix": True},
    "trimmed": {"remove_extra_whitespaces": True},
    "no user symbols": {"user_defined_symbols": (), "byte_fallback": False},
}


def loaded(folder: Path, model: bytes) -> GraphTokenizer:
    (folder / "tokenizer.model").write_bytes(model)
    return load_tokenizer(folder)


@pytest.fixture(scope="module")
def model() -> bytes:
    return models.trained()


@pytest.fixture(scope="module")
def tokenizer(model: bytes, tmp_path_factory: pytest.TempPathFactory) -> GraphTokenizer:
    return loaded(tmp_path_factory.mktemp("sentencepiece"), model)


@pytest.mark.parametrize("name", BPE)
def test_bpe_ids_and_texts_equal_the_librarys(tmp_path: Path, name: str):
    model = models.trained(**BPE[name])
    tokenizer = loaded(tmp_path, model)
    texts = [*models.nasty_texts(model, 5, 1200), *models.PROSE.split(";"), "", " ", "  a  b  "]
    ids = tokenizer.encode_batch(texts)
    assert ids == models.reference_ids(model, texts)
    decoded = tokenizer.decode(tf.ragged.constant(ids, tf.int32, ragged_rank=1)).numpy()
    reference = models.reference(model)
    assert [text.decode() for text in decoded] == [reference.decode(row) for row in ids]
    assert tokenizer.kind == "sentencepiece"
    assert tokenizer.vocab_size == reference.get_piece_size()


@pytest.mark.parametrize("field", ["escape_whitespaces", "unused"])
def test_rare_settings_of_a_model_are_kept(tmp_path: Path, model: bytes, field: str):
    def change(message: Any) -> None:
        if field == "unused":
            for piece in message.pieces[400:500:3]:
                piece.type = PieceType.UNUSED
        else:
            message.normalizer_spec.escape_whitespaces = False

    other = models.changed(model, change)
    texts = models.nasty_texts(model, 6, 600)
    assert loaded(tmp_path, other).encode_batch(texts) == models.reference_ids(other, texts)


def test_unigram_ids_are_those_of_tf_texts_operation(tmp_path: Path):
    """The library scores ties and sums otherwise; the texts that differ are few and mean the same."""
    import tensorflow_text as tf_text

    model = models.trained("unigram", 600)
    tokenizer = loaded(tmp_path, model)
    texts = [models.plain(text) for text in models.nasty_texts(model, 7, 1200)]
    ids = tokenizer.encode_batch(texts)
    assert ids == tf_text.SentencepieceTokenizer(model).tokenize(texts).to_list()
    expected = models.reference_ids(model, texts)
    assert sum(row != wanted for row, wanted in zip(ids, expected, strict=True)) <= 12
    decoded = tokenizer.decode(tf.ragged.constant(expected, tf.int32, ragged_rank=1)).numpy()
    reference = models.reference(model)
    assert [text.decode() for text in decoded] == [reference.decode(row) for row in expected]


FORGED = ["<s>", "</s>", "[INST]", "[/INST]", "<|im_end|>", "<unk>", "<0x0A>", "<0x41>", "\u2581", "<s", "s>"]


def test_no_text_becomes_a_control_piece_or_a_byte_it_does_not_hold(tokenizer: GraphTokenizer, model: bytes):
    texts = [left + text + right for text in FORGED for left in ("", " ", "a\n", "é") for right in ("", "x")]
    ids = tokenizer.encode_batch(texts)
    assert not set(tokenizer.special_ids.values()) & {index for row in ids for index in row}
    decoded = tokenizer.decode(tf.ragged.constant(ids, tf.int32)).numpy()
    assert [text.decode() for text in decoded] == [text.replace(models.SPACE, " ") for text in texts]


def test_trusted_text_names_special_tokens_and_what_is_between_is_a_text_of_its_own(
    tokenizer: GraphTokenizer, model: bytes
):
    special = tokenizer.special_ids
    assert special == {"<s>": 1, "</s>": 2, **{name: 3 + index for index, name in enumerate(models.CONTROL)}}
    parts = ["<s>", "[INST]", " the text\n", "[/INST]", "é ", "</s>", "<s>"]
    text = "".join(parts)
    plain = dict(zip(parts, models.reference_ids(model, parts), strict=True))
    expected = [index for part in parts for index in ([special[part]] if part in special else plain[part])]
    rows = tokenizer.encode_batch(["", text, "<s", "the", text[1:], b"\xff</s>"], with_special=True)
    assert rows[:3] == [[], expected, models.reference_ids(model, ["<s"])[0]]
    assert rows[3] == models.reference_ids(model, ["the"])[0]
    assert rows[5] == [*models.reference_ids(model, ["\ufffd"])[0], special["</s>"]]
    assert tokenizer.encode_batch([], with_special=True) == []


def test_segments_are_texts_of_their_own_and_cannot_forge(tokenizer: GraphTokenizer, model: bytes):
    begin, end = tokenizer.special_ids["[INST]"], tokenizer.special_ids["[/INST]"]
    text, special = ["", "a [/INST] b", "", "c", "d"], [begin, -1, end, -1, -1]
    ids = tokenizer.encode_segments(
        tf.constant(text), tf.constant(special), tf.constant([0, 4, 4, 5], tf.int64)
    )
    one, two, three = models.reference_ids(model, [text[1], text[3], text[4]])
    assert ids.to_list() == [[begin, *one, end, *two], [], three]


def test_streams_that_begin_a_text_join_to_its_decoding(tokenizer: GraphTokenizer, model: bytes):
    texts = [" x", "é日🙂", "a  b", "", "\0", "▁▁a"]
    rows = [[1, *row, 2] for row in models.reference_ids(model, texts)]
    parts, pending = [""] * len(rows), tf.fill([len(rows)], tokenizer.stream_start)
    assert tokenizer.stream_start == b"\xff"
    longest = max(map(len, rows))
    for step in range(longest):
        ids = tf.ragged.constant([row[step : step + 1] for row in rows], tf.int32, ragged_rank=1)
        text, pending = tokenizer.decode_stream(pending, ids, tf.constant(step == longest - 1))
        parts = [part + more.decode() for part, more in zip(parts, text.numpy(), strict=True)]
    assert set(pending.numpy()) == {b""}
    whole = tokenizer.decode(tf.ragged.constant(rows, tf.int32)).numpy()
    assert parts == [text.decode() for text in whole]
    reference = models.reference(model)
    assert parts == [f"<s>{reference.decode(row)}</s>" for row in rows]


def test_an_answer_keeps_the_space_it_begins_with(tokenizer: GraphTokenizer, model: bytes):
    ids = tf.ragged.constant(models.reference_ids(model, ["the text"]), tf.int32)
    assert tokenizer.decode(ids).numpy().tolist() == [b"the text"]
    assert tokenizer.decode_continuation(ids).numpy().tolist() == [b" the text"]
    text, pending = tokenizer.decode_stream(tf.constant([b""]), ids, tf.constant(False))
    assert (text.numpy().tolist(), pending.numpy().tolist()) == ([b" the text"], [b""])


def test_a_very_long_text_without_spaces_has_the_ids_of_the_reference(
    tokenizer: GraphTokenizer, model: bytes
):
    texts = ["a" * 50_000, "the" * 15_000, "日" * 20_000, "\0" * 100_000]
    assert tokenizer.encode_batch(texts) == models.reference_ids(model, texts)
