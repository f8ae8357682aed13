"""tokenizer.json files converted from SentencePiece models, against Hugging Face tokenizers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from tokenizers import Tokenizer

from models.contract.errors import CheckpointError
from preprocessing.tokenizers import GraphTokenizer, load_tokenizer
from preprocessing.tokenizers.fingerprint import files_fingerprint, fingerprint
from preprocessing.tokenizers.load import read_spec
from preprocessing.tokenizers.sentencepiece_proto import ModelProto, PieceType
from tests.preprocessing.tokenizers import sentencepiece_models as models
from tests.preprocessing.tokenizers import vocabularies

SPACE = models.SPACE
FLAGS = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
PREPEND = {"type": "Prepend", "prepend": SPACE}
LEGACY = {"normalizer": {"type": "Sequence", "normalizers": [PREPEND, REPLACE]}}
STEPS = [
    {"type": "Replace", "pattern": {"String": SPACE}, "content": " "},
    {"type": "ByteFallback"},
    {"type": "Fuse"},
]
STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
BOS_FIRST = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
}


def metaspace(scheme: str) -> dict[str, Any]:
    pre_tokenizer = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": scheme, "split": False}
    return {"normalizer": None, "pre_tokenizer": pre_tokenizer}


FORMS = {
    "legacy": LEGACY,
    "always": metaspace("always"),
    "first": metaspace("first"),
    "never": {**metaspace("never"), "decoder": {"type": "Sequence", "decoders": STEPS}},
    "bare": {"normalizer": REPLACE, "decoder": {"type": "Sequence", "decoders": STEPS}},
}


def converted(**changes: Any) -> dict[str, Any]:
    """A trained model as transformers converts one: each way to put a piece together is a rule."""
    message = ModelProto.FromString(models.trained(user_defined_symbols=(), vocab_size=900))
    vocab = {piece.piece: index for index, piece in enumerate(message.pieces)}
    rules = []
    for piece in message.pieces:
        cuts = [(piece.piece[:at], piece.piece[at:]) for at in range(1, len(piece.piece))]
        known = [pair for pair in cuts if vocab.keys() >= set(pair) and piece.type == PieceType.NORMAL]
        known.sort(key=lambda pair: (vocab[pair[0]], vocab[pair[1]]))
        rules += [(piece.score, *pair) for pair in known]
    rules.sort(key=lambda rule: (rule[0], len(rule[1]), len(rule[2])), reverse=True)
    specials = [one.piece for one in message.pieces if one.type in (PieceType.CONTROL, PieceType.UNKNOWN)]
    value = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": vocab[content], "content": content, **FLAGS} for content in specials],
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": BOS_FIRST,
        "decoder": {"type": "Sequence", "decoders": [*STEPS, STRIP]},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": "<unk>",
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": True,
            "byte_fallback": True,
            "ignore_merges": False,
            "vocab": vocab,
            "merges": [list(rule[1:]) for rule in rules],
        },
        **changes,
    }
    return copy.deepcopy(value)


def loaded(folder: Path, **changes: Any) -> tuple[GraphTokenizer, Tokenizer]:
    path = vocabularies.write(folder / "tokenizer.json", converted(**changes))
    return load_tokenizer(path), vocabularies.reference(path)


def nasty_texts(seed: int, count: int) -> list[str | bytes]:
    return models.nasty_texts(models.trained(user_defined_symbols=(), vocab_size=900), seed, count)


@pytest.mark.parametrize("form", FORMS)
def test_ids_and_texts_equal_the_references(tmp_path: Path, form: str):
    tokenizer, reference = loaded(tmp_path, **FORMS[form])
    texts = [*nasty_texts(11, 1500), "", " ", "▁", " a", "  a", "▁a", "the the"]
    ids = tokenizer.encode_batch(texts)
    assert ids == vocabularies.reference_ids(reference, texts)
    rows = [row for row in ids if row]
    decoded = tokenizer.decode(tf.ragged.constant(rows, tf.int32)).numpy()
    assert [text.decode() for text in decoded] == [reference.decode(row) for row in rows]


@pytest.mark.parametrize("form", ["legacy", "always", "first"])
def test_special_tokens_in_trusted_text_are_found_as_by_the_reference(tmp_path: Path, form: str):
    tokenizer, _ = loaded(tmp_path, **FORMS[form])
    reference = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    texts = ["<s>a", "<s> a", "a<s>", "a <s> b</s>", "[INST]the[/INST] the", "<s><s>", "", " <s>▁a"]
    texts += [text for text in nasty_texts(12, 600) if isinstance(text, str)]
    expected = [reference.encode(text, add_special_tokens=False).ids for text in texts]
    ids = tokenizer.encode_batch(texts, with_special=True)
    assert ids == expected
    decoded = tokenizer.decode(tf.ragged.constant(ids, tf.int32, ragged_rank=1)).numpy()
    assert [text.decode() for text in decoded] == reference.decode_batch(ids, skip_special_tokens=False)


def test_streams_join_to_the_references_text(tmp_path: Path):
    tokenizer, reference = loaded(tmp_path, **LEGACY)
    rows = tokenizer.encode_batch(["the é日", " a", "\0", "x"], with_special=True)
    rows.append([1, *rows[0]])
    parts, pending = [""] * len(rows), tf.fill([len(rows)], tokenizer.stream_start)
    longest = max(map(len, rows))
    for first, last in pairwise([*range(0, longest, 2), longest]):
        ids = tf.ragged.constant([row[first:last] for row in rows], tf.int32, ragged_rank=1)
        text, pending = tokenizer.decode_stream(pending, ids, tf.constant(last == longest))
        parts = [part + more.decode() for part, more in zip(parts, text.numpy(), strict=True)]
    assert parts == reference.decode_batch(rows, skip_special_tokens=False)


def test_a_rule_beyond_the_pieces_own_makes_no_difference(tmp_path: Path):
    """Tokens that their own characters do not become are never made, whatever rules name them."""
    value = converted(**LEGACY)
    merges, vocab = value["model"]["merges"], value["model"]["vocab"]
    moved = [rule for rule in merges if "".join(rule) == SPACE + "the"]
    assert moved
    value["model"]["merges"] = [*moved, *(rule for rule in merges if rule not in moved)]
    path = vocabularies.write(tmp_path / "tokenizer.json", value)
    texts = [*nasty_texts(13, 800), "the the", "other lathe"]
    assert load_tokenizer(path).encode_batch(texts) == vocabularies.reference_ids(
        vocabularies.reference(path), texts
    )
    assert vocab


def test_roles_come_from_the_post_processor_and_the_configuration(tmp_path: Path):
    vocabularies.write(tmp_path / "tokenizer_config.json", {"eos_token": "</s>", "add_bos_token": True})
    spec = loaded(tmp_path, **LEGACY)[0]
    assert (spec.kind, spec.bos_id, spec.add_bos, spec.eos_ids) == ("sentencepiece", 1, True, (2,))
    assert set(spec.special_ids) == {"<unk>", "<s>", "</s>", *models.CONTROL}
    (tmp_path / "tokenizer_config.json").unlink()
    bare = loaded(tmp_path, **LEGACY, post_processor=None)[0]
    assert (bare.bos_id, bare.add_bos, bare.eos_ids) == (None, False, ())


def set_in(*keys: Any, to: Any) -> Callable[[dict[str, Any]], None]:
    def change(value: dict[str, Any]) -> None:
        for key in keys[:-1]:
            value = value[key]
        value[keys[-1]] = to

    return change


def without_a_byte(value: dict[str, Any]) -> None:
    value["model"]["vocab"]["none"] = value["model"]["vocab"].pop("<0x41>")


def byte_rule(value: dict[str, Any]) -> None:
    value["model"]["vocab"]["<0x41>a"] = len(value["model"]["vocab"])
    value["model"]["merges"].append(["<0x41>", "a"])


REFUSED = {
    "model.byte_fallback": set_in("model", "byte_fallback", to=False),
    "model.ignore_merges": set_in("model", "ignore_merges", to=True),
    "model.dropout": set_in("model", "dropout", to=0.5),
    "model.continuing_subword_prefix": set_in("model", "continuing_subword_prefix", to="##"),
    "model.end_of_word_suffix": set_in("model", "end_of_word_suffix", to="</w>"),
    "model.vocab": without_a_byte,
    "model.merges": byte_rule,
    "normalizer": set_in("normalizer", to={"type": "Sequence", "normalizers": [REPLACE, {"type": "NFC"}]}),
    "normalizer ": set_in("pre_tokenizer", to=metaspace("first")["pre_tokenizer"]),
    "truncation": set_in(
        "truncation", to={"max_length": 5, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}
    ),
    "decoder": set_in("decoder", to={"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "first"}),
    "decoder ": set_in("decoder", to=None),
    "post_processor": set_in("post_processor", "single", to=[*BOS_FIRST["single"][::-1]]),
    "added_tokens": set_in("added_tokens", 0, "special", to=False),
    "post_processor ": set_in("post_processor", "special_tokens", "<s>", "ids", to=[2]),
    "model.vocab ": set_in("model", "vocab", "far", to=200_000),
    "added_tokens['<s>'].normalized": set_in("added_tokens", 1, "normalized", to=True),
    "added_tokens['<s>'].lstrip": set_in("added_tokens", 1, "lstrip", to=True),
}


@pytest.mark.parametrize("field", REFUSED)
def test_what_would_not_be_exact_is_refused_by_name(tmp_path: Path, field: str):
    value = converted(**LEGACY)
    REFUSED[field](value)
    with pytest.raises(CheckpointError, match="Supported: ") as caught:
        read_spec(vocabularies.write(tmp_path / "tokenizer.json", value))
    assert caught.value.field == field.strip()


@pytest.mark.parametrize("content", ["<0xE6>", "a", SPACE + "the"])
@pytest.mark.parametrize("named", [False, True])
def test_a_special_token_that_text_becomes_is_refused(tmp_path: Path, content: str, named: bool):
    value = converted(**LEGACY)
    if named:
        vocabularies.write(tmp_path / "tokenizer_config.json", {"additional_special_tokens": [content]})
    else:
        value["added_tokens"].append({"id": value["model"]["vocab"][content], "content": content, **FLAGS})
    with pytest.raises(CheckpointError, match="no text becomes") as caught:
        read_spec(vocabularies.write(tmp_path / "tokenizer.json", value))
    assert caught.value.field == "added_tokens"


def test_an_ordinary_added_token_is_special_if_the_configuration_says_so(tmp_path: Path):
    value = converted(**LEGACY)
    size = len(value["model"]["vocab"])
    value["added_tokens"].append({**FLAGS, "id": size, "content": "<call>", "special": False})
    vocabularies.write(tmp_path / "tokenizer_config.json", {"extra_special_tokens": {"call_token": "<call>"}})
    tokenizer = load_tokenizer(vocabularies.write(tmp_path / "tokenizer.json", value))
    assert tokenizer.special_ids["<call>"] == size
    assert size not in tokenizer.encode_batch(["a<call>"])[0]


def test_empty_tokens_and_those_named_like_the_graphs_own_pieces_are_tokens_like_others(tmp_path: Path):
    value = converted(**LEGACY)
    vocab, size = value["model"]["vocab"], len(value["model"]["vocab"])
    marks = ["\ue001", "\ue002", "\ue0010", "\ue001\ue001", "\ue001unknown", f"\ue001{size + 9}"]
    vocab.update({token: size + index for index, token in enumerate([*marks, "0", ""]) if token not in vocab})
    vocab["far"] = size + 20
    value["model"]["merges"] += [["\ue001", "0"], ["\ue001", "\ue001"]]
    path = vocabularies.write(tmp_path / "tokenizer.json", value)
    texts = ["\ue001", "\ue002 a", "\ue0010", "\ue001\ue0010", f"\ue001{size + 9}", *nasty_texts(14, 300)]
    texts.append("a\ue001\ue001\ue001 the")
    expected = vocabularies.reference_ids(vocabularies.reference(path), texts)
    assert vocab["\ue0010"] in expected[2]
    assert load_tokenizer(path).encode_batch(texts) == expected


def test_the_fingerprint_of_the_files_follows_what_decoding_drops(tmp_path: Path):
    stripped, kept = (
        read_spec(vocabularies.write(tmp_path / f"{index}.json", converted(**LEGACY, **decoder)))
        for index, decoder in enumerate([{}, {"decoder": {"type": "Sequence", "decoders": STEPS}}])
    )
    assert fingerprint(stripped) == fingerprint(kept)
    assert files_fingerprint(stripped) != files_fingerprint(kept)


def test_words_split_at_spaces_are_refused(tmp_path: Path):
    form = metaspace("always")
    form["pre_tokenizer"]["split"] = True
    with pytest.raises(CheckpointError, match="pre_tokenizer"):
        loaded(tmp_path, **form)


def test_a_space_at_the_beginning_only_is_refused_beside_a_chat_template(tmp_path: Path):
    """Segments are texts of their own; the reference would add no space after a control token."""
    vocabularies.write(tmp_path / "tokenizer_config.json", {"chat_template": "{{ messages }}"})
    with pytest.raises(CheckpointError, match=r"prepend_scheme.*tokenizer\.model"):
        loaded(tmp_path, **metaspace("first"))
    loaded(tmp_path, **metaspace("always"))


def test_a_unigram_file_is_refused_with_the_model_file_as_remedy(tmp_path: Path):
    model = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0]], "byte_fallback": False}
    with pytest.raises(CheckpointError, match=r"Unigram.*tokenizer\.model") as caught:
        loaded(tmp_path, model=model, added_tokens=[], post_processor=None)
    assert caught.value.field == "model.type"


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"add_prefix_space": False}, "add_prefix_space"),
        ({"add_eos_token": True}, "add_eos_token"),
        ({"add_bos_token": False}, "add_bos_token"),
        ({"added_tokens_decoder": {"1": {"content": "<new>"}}}, "added_tokens_decoder"),
    ],
)
def test_a_configuration_that_changes_ids_is_refused(tmp_path: Path, config: dict[str, Any], field: str):
    vocabularies.write(tmp_path / "tokenizer_config.json", config)
    with pytest.raises(CheckpointError) as caught:
        loaded(tmp_path, **LEGACY)
    assert caught.value.field == field
