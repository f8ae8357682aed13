from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from models.contract.errors import CheckpointError
from preprocessing.tokenizers import load_tokenizer
from preprocessing.tokenizers.load import read_spec
from tests.preprocessing.tokenizers import vocabularies
from tests.preprocessing.tokenizers.vocabularies import BYTE_LEVEL, DIGITS

END, START = "<|endoftext|>", "<|im_start|>"


def set_in(*keys: Any, to: Any) -> Callable[[dict[str, Any]], None]:
    def change(value: dict[str, Any]) -> None:
        for key in keys[:-1]:
            value = value[key]
        value[keys[-1]] = to

    return change


def template(
    *parts: dict[str, Any], ids: Sequence[int] = (657,), tokens: Sequence[str] = (START,)
) -> dict[str, Any]:
    known = {START: {"id": START, "ids": ids, "tokens": tokens}}
    return {"type": "TemplateProcessing", "single": [*parts], "pair": [], "special_tokens": known}


TEXT, BOS = {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": START, "type_id": 0}}

REFUSED = {
    "normalizer": set_in("normalizer", to={"type": "NFKC"}),
    "truncation": set_in("truncation", to={"max_length": 5}),
    "padding": set_in("padding", to={"strategy": "BatchLongest"}),
    "decoder": set_in("decoder", to={"type": "Metaspace"}),
    "model.type": set_in("model", "type", to="Unigram"),
    "model.byte_fallback": set_in("model", "byte_fallback", to=True),
    "model.ignore_merges": set_in("model", "ignore_merges", to="always"),
    "model.dropout": set_in("model", "dropout", to=0.1),
    "model.continuing_subword_prefix": set_in("model", "continuing_subword_prefix", to="##"),
    "model.end_of_word_suffix": set_in("model", "end_of_word_suffix", to="</w>"),
    "model.vocab": set_in("model", "vocab", "the", to=0),
    "model.vocab ": set_in("model", "vocab", "the", to=1 << 24),
    "model.vocab  ": set_in("model", "vocab", "the", to=200_000),
    "model.vocab   ": set_in("model", "vocab", "", to=661),
    "model.vocab    ": set_in("model", "vocab", "HALF", to=661),
    "model.merges ": lambda value: value["model"]["merges"].append(value["model"]["merges"][0]),
    "model.merges": set_in("model", "merges", 0, to=["qq", "zz"]),
    "post_processor": set_in("post_processor", to=template(TEXT, BOS)),
    "post_processor ": set_in(
        "post_processor", to=template(BOS, TEXT, ids=[657, 658], tokens=[START, "<|im_end|>"])
    ),
    "post_processor  ": set_in("post_processor", to=template(BOS, TEXT, ids=[658])),
    "post_processor   ": set_in("post_processor", to=template(BOS, TEXT, ids=[657, 658])),
    "added_tokens['<|endoftext|>'].special": set_in("added_tokens", 0, "special", to="yes"),
    "added_tokens['<|endoftext|>'].lstrip": set_in("added_tokens", 0, "lstrip", to=True),
    "added_tokens['<|endoftext|>'].rstrip": set_in("added_tokens", 0, "rstrip", to=True),
    "added_tokens['<|endoftext|>'].single_word": set_in("added_tokens", 0, "single_word", to=True),
    "added_tokens['<|endoftext|>'].id": set_in("added_tokens", 0, "id", to=7),
}
PRE_TOKENIZERS = [
    None,
    {"type": "Metaspace"},
    {**BYTE_LEVEL, "add_prefix_space": True},
    {**BYTE_LEVEL, "use_regex": False},
    {"type": "Sequence", "pretokenizers": [{**DIGITS, "individual_digits": False}, BYTE_LEVEL]},
    {"type": "Sequence", "pretokenizers": [BYTE_LEVEL, DIGITS]},
    {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": "x"}}, BYTE_LEVEL]},
]


DEEP = '{"model":' + "[" * 100_000
NESTED = '{"normalizer":' + '{"type":"Sequence","normalizers":[' * 900 + "]}" * 900 + "}"


def small(tmp_path: Path, change: Callable[[dict[str, Any]], None] | None = None, **config: Any) -> Path:
    value = vocabularies.small_json()
    if change:
        change(value)
    vocabularies.write(tmp_path / "tokenizer.json", value)
    if config:
        vocabularies.write(tmp_path / "tokenizer_config.json", config)
    return tmp_path


@pytest.mark.parametrize("field", REFUSED)
def test_what_would_not_be_exact_is_refused_by_name(tmp_path: Path, field: str):
    directory = small(tmp_path, REFUSED[field])
    file = directory / "tokenizer.json"
    file.write_text(file.read_text(encoding="utf-8").replace("HALF", "\\ud800"), encoding="utf-8")
    with pytest.raises(CheckpointError, match="Supported: ") as caught:
        read_spec(directory)
    assert caught.value.field == field.strip()
    assert field.strip() in str(caught.value)
    assert "tokenizer.json" in str(caught.value)


@pytest.mark.parametrize("value", PRE_TOKENIZERS, ids=str)
def test_other_pre_tokenizers_are_refused(tmp_path: Path, value: Any):
    with pytest.raises(CheckpointError, match="`pre_tokenizer`"):
        read_spec(small(tmp_path, set_in("pre_tokenizer", to=value)))


def test_a_special_token_that_text_could_become_is_refused(tmp_path: Path):
    flags = vocabularies.small_json()["added_tokens"][0]
    made = ["".join(rule) for rule in vocabularies.small_vocabulary()[1]]
    token = next(token for token in made if len(set(token)) == len(token))
    mergeable = {**flags, "content": token, "id": vocabularies.small_vocabulary()[0][token]}
    with pytest.raises(CheckpointError, match="no merge makes"):
        read_spec(small(tmp_path, set_in("added_tokens", to=[mergeable])))


@pytest.mark.parametrize("merges", [True, False])
def test_a_special_token_that_is_the_letter_of_a_byte_is_refused(tmp_path: Path, merges: bool):
    flags = vocabularies.small_json()["added_tokens"][0]

    def change(value: dict[str, Any]) -> None:
        value["added_tokens"] = [{**flags, "content": "!", "id": value["model"]["vocab"]["!"]}]
        value["model"]["merges"] = value["model"]["merges"] if merges else []

    with pytest.raises(CheckpointError, match=r"`added_tokens` is \"!\""):
        read_spec(small(tmp_path, change))


@pytest.mark.parametrize(
    ("content", "is_word"),
    [("\u0120<", True), ("\u0120<x", False), ("<|>", True), ("<\uff5c>", False), ("<\u00e9>", False)],
)
def test_beside_ignore_merges_a_special_token_that_a_word_becomes_is_refused(
    tmp_path: Path, content: str, is_word: bool
):
    """A token is written in letters of bytes: what counts is the text of these bytes."""
    flags = vocabularies.small_json()["added_tokens"][0]

    def change(value: dict[str, Any]) -> None:
        value["model"].update(ignore_merges=True)
        value["model"]["vocab"][content] = 656
        value["added_tokens"] = [{**flags, "content": content, "id": 656}]

    directory = small(tmp_path, change)
    if is_word:
        with pytest.raises(CheckpointError, match="no word beside ignore_merges"):
            read_spec(directory)
    else:
        assert read_spec(directory).specials == {content: 656}


def test_a_special_token_never_shares_its_id(tmp_path: Path):
    def change(value: dict[str, Any]) -> None:
        value["model"]["vocab"].update({max(vocab, key=vocab.__getitem__): 656})

    vocab = vocabularies.small_vocabulary()[0]
    with pytest.raises(CheckpointError, match="an id that no other token has"):
        read_spec(small(tmp_path, change))


@pytest.mark.parametrize(
    "config", [{"eos_token": "<call>"}, {"additional_special_tokens": ["<call>", "<zq>"]}]
)
def test_tokens_that_the_configuration_names_are_special(tmp_path: Path, config: dict[str, Any]):
    """No text of a user becomes them, though the file takes them for ordinary ones."""

    def change(value: dict[str, Any]) -> None:
        flags = value["added_tokens"][0]
        value["model"]["vocab"]["<zq>"] = 656
        for token in value["added_tokens"]:
            token["id"] += 1
        value["added_tokens"].append({**flags, "content": "<call>", "id": 662, "special": False})

    directory = small(tmp_path, change)
    assert read_spec(directory).added == {"<call>": 662}
    vocabularies.write(tmp_path / "tokenizer_config.json", config)
    spec = read_spec(directory)
    assert (spec.specials["<call>"], spec.added) == (662, {})
    assert spec.specials.get("<zq>") == (656 if "additional_special_tokens" in config else None)
    if config.get("eos_token"):
        assert spec.eos_ids == (662,)
        assert 662 not in load_tokenizer(directory).encode_batch(["a<call>"])[0]


def test_a_named_token_that_merging_makes_is_refused(tmp_path: Path):
    made = map("".join, vocabularies.small_vocabulary()[1])
    token = next(token for token in made if len(set(token)) == len(token))
    with pytest.raises(CheckpointError, match="no merge makes"):
        read_spec(small(tmp_path, set_in("added_tokens", to=[]), additional_special_tokens=[token]))


@pytest.mark.parametrize("given", [[99999], "x", [1, "x"], -7, True, 1.5, [[1]], {"a": 1}])
def test_end_ids_that_are_none_are_refused_by_name(tmp_path: Path, given: Any):
    vocabularies.write(tmp_path / "generation_config.json", {"eos_token_id": given})
    with pytest.raises(CheckpointError, match=r"generation_config\.json: `eos_token_id`") as caught:
        read_spec(small(tmp_path, eos_token=END))
    assert caught.value.field == "eos_token_id"


def test_rules_of_letters_that_no_byte_has_make_no_difference(tmp_path: Path):
    """Even if they look like the names that the graph's own pieces have."""

    def change(value: dict[str, Any]) -> None:
        for token in ("\ue001", "0", "\ue0010", "\ue000\ue003", "\ue000", "\ue003", "\ue002"):
            value["model"]["vocab"].setdefault(token, 700 + len(value["model"]["vocab"]))
        value["model"]["merges"][:0] = [["\ue001", "0"], ["\ue000", "\ue003"]]
        value["added_tokens"] = []

    directory = small(tmp_path, change)
    texts = ["the \ue0010\ue000\ue003 the", *vocabularies.nasty_texts(8, 300)]
    expected = vocabularies.reference_ids(vocabularies.reference(directory / "tokenizer.json"), texts)
    assert load_tokenizer(directory).encode_batch(texts) == expected


def test_special_tokens_that_could_overlap_are_refused(tmp_path: Path):
    with pytest.raises(CheckpointError, match="cannot overlap"):
        read_spec(small(tmp_path, set_in("added_tokens", 0, "content", to="<a<b>")))


def test_an_unknown_token_is_refused_only_if_text_could_need_it(tmp_path: Path):
    assert read_spec(small(tmp_path, set_in("model", "unk_token", to=END)))

    def without_a_byte(value: dict[str, Any]) -> None:
        value["model"]["unk_token"] = END
        del value["model"]["vocab"]["ÿ"]

    with pytest.raises(CheckpointError, match=r"model\.unk_token"):
        read_spec(small(tmp_path, without_a_byte))


def test_merges_may_be_written_as_strings(tmp_path: Path):
    merges = [" ".join(rule) for rule in vocabularies.small_vocabulary()[1]]
    spec = read_spec(small(tmp_path, set_in("model", "merges", to=merges)))
    assert spec.merges == tuple(tuple(rule) for rule in vocabularies.small_vocabulary()[1])


def test_special_roles_come_from_the_files_beside(tmp_path: Path):
    directory = small(
        tmp_path,
        bos_token={"content": START},
        eos_token=END,
        add_bos_token=True,
        chat_template="{{ messages }}",
    )
    vocabularies.write(tmp_path / "generation_config.json", {"eos_token_id": [658, 656]})
    tokenizer = load_tokenizer(directory)
    assert (tokenizer.bos_id, tokenizer.add_bos, tokenizer.eos_ids) == (657, True, (656, 658))
    assert tokenizer.chat_template == "{{ messages }}"
    assert tokenizer.special_ids[START] == 657
    assert tokenizer.vocab_size == 656 + len(vocabularies.SPECIALS)
    assert tokenizer.encode_batch(["a"])[0][0] != 657


def test_roles_are_optional(tmp_path: Path):
    spec = read_spec(small(tmp_path) / "tokenizer.json")
    assert (spec.bos_id, spec.add_bos, spec.eos_ids, spec.chat_template) == (None, False, (), None)


def test_a_template_may_put_one_token_first(tmp_path: Path):
    processors = [BYTE_LEVEL, template(BOS, TEXT)]
    change = set_in("post_processor", to={"type": "Sequence", "processors": processors})
    spec = read_spec(small(tmp_path, change))
    assert (spec.bos_id, spec.add_bos) == (657, True)
    spec = read_spec(small(tmp_path, set_in("post_processor", to=template(TEXT))))
    assert (spec.bos_id, spec.add_bos) == (None, False)


def test_a_chat_template_file_goes_first_and_a_named_default_counts(tmp_path: Path):
    named = [{"name": "tools", "template": "t"}, {"name": "default", "template": "d"}]
    directory = small(tmp_path, chat_template=named)
    assert read_spec(directory).chat_template == "d"
    (directory / "chat_template.jinja").write_text("file")
    assert read_spec(directory).chat_template == "file"


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"add_prefix_space": True}, "add_prefix_space"),
        ({"add_eos_token": True}, "add_eos_token"),
        ({"add_bos_token": True}, "add_bos_token"),
        ({"eos_token": "<nowhere>"}, "eos_token"),
        ({"added_tokens_decoder": {"9": {"content": "<new>"}}}, "added_tokens_decoder"),
    ],
)
def test_a_configuration_that_changes_ids_is_refused(tmp_path: Path, config: dict[str, Any], field: str):
    with pytest.raises(CheckpointError, match=field) as caught:
        read_spec(small(tmp_path, **config))
    assert caught.value.field == field


@pytest.mark.parametrize(
    "content", [None, "{", "[1]", json.dumps({"model": []}), '{"decoder": 3}', DEEP, NESTED]
)
def test_files_that_are_no_tokenizer_are_refused(tmp_path: Path, content: str | None):
    if content is not None:
        (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"tokenizer\.json"):
        load_tokenizer(tmp_path)
