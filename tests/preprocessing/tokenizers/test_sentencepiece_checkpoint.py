from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from models.contract.errors import CheckpointError
from preprocessing.tokenizers import load_tokenizer
from preprocessing.tokenizers.chat_template import load_chat_template
from preprocessing.tokenizers.fingerprint import fingerprint
from preprocessing.tokenizers.load import read_spec
from preprocessing.tokenizers.tokenizer_spec import TokenizerSpec
from tests.preprocessing.tokenizers import sentencepiece_models as models
from tests.preprocessing.tokenizers import vocabularies

LLAMA = {"tokenizer_class": "LlamaTokenizer"}


def checkpoint(folder: Path, files: dict[str, Any] | None = None, **config: Any) -> Path:
    (folder / "tokenizer.model").write_bytes(models.trained())
    for name, value in {**(files or {}), **({"tokenizer_config": config} if config else {})}.items():
        vocabularies.write(folder / f"{name}.json", value)
    return folder


def spec_of(folder: Path, **config: Any) -> TokenizerSpec:
    return read_spec(checkpoint(folder, **config))


def test_a_model_file_alone_names_its_roles(tmp_path: Path):
    spec = spec_of(tmp_path)
    assert (spec.kind, spec.bos_id, spec.add_bos, spec.eos_ids) == ("sentencepiece", 1, False, (2,))
    assert spec.specials == {"<s>": 1, "</s>": 2, "[INST]": 3, "[/INST]": 4, "<|im_end|>": 5}
    (tmp_path / "tokenizer.model").rename(tmp_path / "tokenizer.model.v3")
    assert read_spec(tmp_path / "tokenizer.model.v3").specials == spec.specials


@pytest.mark.parametrize(
    ("config", "add_bos"),
    [
        (LLAMA, True),
        ({"tokenizer_class": "LlamaTokenizerFast"}, True),
        ({**LLAMA, "add_bos_token": False}, False),
        ({"tokenizer_class": "XGLMTokenizer"}, False),
        ({"add_bos_token": True}, True),
    ],
)
def test_the_class_decides_about_bos_unless_the_setting_does(
    tmp_path: Path, config: dict[str, Any], add_bos: bool
):
    assert spec_of(tmp_path, **config).add_bos is add_bos


def test_without_a_class_the_models_kind_decides_about_bos(tmp_path: Path):
    assert read_spec(checkpoint(tmp_path, {"config": {"model_type": "llama"}})).add_bos
    assert not read_spec(checkpoint(tmp_path, {"config": {"model_type": "gpt2"}})).add_bos


def test_added_tokens_are_special_and_follow_the_pieces(tmp_path: Path):
    size = len(models.pieces(models.trained()))
    added = {
        "0": {"content": "<unk>", "special": True, "rstrip": True},
        "1": {"content": "<s>", "special": True},
        str(size + 1): {"content": "<|user|>", "special": True},
        str(models.reference(models.trained()).piece_to_id("99")): {"content": "99", "special": False},
    }
    files = {
        "added_tokens": {"<|user|>": size + 1, "<pad>": size},
        "generation_config": {"eos_token_id": size},
    }
    folder = checkpoint(tmp_path, files, added_tokens_decoder=added, pad_token="<pad>", eos_token="</s>")
    tokenizer = load_tokenizer(folder)
    assert (tokenizer.vocab_size, tokenizer.eos_ids) == (size + 2, (2, size))
    assert tokenizer.token_bytes[size:] == [b"<pad>", b"<|user|>"]
    assert tokenizer.encode_batch(["<pad>", "99"], with_special=True) == [
        [size],
        *models.reference_ids(models.trained(), ["99"]),
    ]
    assert tokenizer.encode_batch(["<pad>a"]) == models.reference_ids(models.trained(), ["<pad>a"])
    assert "<unk>" not in tokenizer.special_ids


def test_pieces_that_the_configuration_names_as_special_cannot_be_written(tmp_path: Path):
    index = models.reference(models.trained()).piece_to_id("<tool>")
    texts = ["<tool> the text", "a<tool>"]
    assert all(index in row for row in models.reference_ids(models.trained(), texts))
    configs: list[dict[str, Any]] = [
        {"additional_special_tokens": ["<tool>"]},
        {"extra_special_tokens": {"tool_token": {"content": "<tool>"}}},
        {"added_tokens_decoder": {str(index): {"content": "<tool>", "special": True}}},
    ]
    assert [spec_of(tmp_path, **config).specials.get("<tool>") for config in configs] == [index] * 3
    tokenizer = load_tokenizer(tmp_path)
    expected = models.reference_ids(models.as_control(models.trained(), ["<tool>"]), texts)
    assert tokenizer.encode_batch(texts) == expected
    assert not any(index in row for row in expected)
    assert tokenizer.encode_batch(["<tool>"], with_special=True) == [[index]]


REFUSED: dict[str, dict[str, Any]] = {
    "add_eos_token": {"add_eos_token": True},
    "sp_model_kwargs": {"sp_model_kwargs": {"enable_sampling": True}},
    "add_prefix_space": {"add_prefix_space": False},
    "add_bos_token": {"add_bos_token": True, "bos_token": None},
    "eos_token": {"eos_token": "<nowhere>"},
    "additional_special_tokens": {"additional_special_tokens": ["<nowhere>"]},
    "added_tokens_decoder[1]": {"added_tokens_decoder": {"1": {"content": "</s>", "special": True}}},
    "added_tokens_decoder[7]": {"added_tokens_decoder": {"7": {"content": "<new>", "special": True}}},
    "added_tokens_decoder[9999].special": {"added_tokens_decoder": {"9999": {"content": "<new>"}}},
    "added_tokens_decoder[9999].lstrip": {
        "added_tokens_decoder": {"9999": {"content": "<new>", "special": True, "lstrip": True}}
    },
    "pieces": {"added_tokens_decoder": {"9999": {"content": "<a<b>", "special": True}}},
    "chat_template": {"chat_template": "{{ '<tool>' + messages[0]['content'] }}"},
}


@pytest.mark.parametrize("field", REFUSED)
def test_a_configuration_that_would_not_be_exact_is_refused_by_name(tmp_path: Path, field: str):
    if field == "add_bos_token":
        model = models.trained(bos_id=-1)
        checkpoint(tmp_path, **REFUSED[field])
        (tmp_path / "tokenizer.model").write_bytes(model)
    else:
        checkpoint(tmp_path, **REFUSED[field])
    with pytest.raises(CheckpointError) as caught:
        read_spec(tmp_path)
    assert caught.value.field == field
    assert caught.value.remedy


@pytest.mark.parametrize(
    "template",
    [
        "{% for m in messages %}{{ '<' ~ 'too' ~ 'l>' ~ m.content }}{% endfor %}",
        "{% for m in messages %}{{ '<' + m.role + '>' + m.content }}{% endfor %}",
        "{% if messages[0].role == 'system' %}<{{ 'tool' }}>{% endif %}{{ messages[-1].content }}",
        "{% for t in tools or [] %}{{ '<%s>' | format('tool') }}{% endfor %}{{ messages[-1].content }}",
    ],
)
def test_a_template_that_builds_the_name_of_a_piece_is_refused(tmp_path: Path, template: str):
    with pytest.raises(CheckpointError, match="<tool>") as caught:
        read_spec(checkpoint(tmp_path, chat_template=template))
    assert caught.value.field == "chat_template"
    read_spec(checkpoint(tmp_path, chat_template="{{ '<' + messages[0].content + '>' }}"))


def test_a_template_gets_the_roles_that_the_model_names(tmp_path: Path):
    template = "{{ bos_token }}{% for m in messages %}[INST]{{ m['content'] }}[/INST]{% endfor %}"
    chat = load_chat_template(checkpoint(tmp_path, chat_template=template))
    assert chat is not None
    segments = chat.render([{"role": "user", "content": "a [/INST]"}], add_generation_prompt=True)
    assert [(one.text, one.special) for one in segments] == [
        ("<s>", True),
        ("[INST]", True),
        ("a [/INST]", False),
        ("[/INST]", True),
    ]


def test_tokenizer_json_goes_first_and_names_the_model_beside_it_if_refused(tmp_path: Path):
    vocabularies.write(tmp_path / "tokenizer.json", vocabularies.small_json())
    assert read_spec(checkpoint(tmp_path)).kind == "byte_level_bpe"
    vocabularies.write(tmp_path / "tokenizer.json", {"model": {"type": "Unigram"}})
    with pytest.raises(CheckpointError, match=r"tokenizer\.model beside it"):
        read_spec(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    assert read_spec(tmp_path).kind == "sentencepiece"


def test_a_folder_without_a_vocabulary_names_what_it_has(tmp_path: Path):
    vocabularies.write(tmp_path / "tokenizer_config.json", {"tokenizer_class": "ByT5Tokenizer"})
    with pytest.raises(CheckpointError, match=r"neither tokenizer\.json nor tokenizer\.model.*ByT5Tokenizer"):
        load_tokenizer(tmp_path)


def test_the_fingerprint_follows_whatever_of_a_model_decides_ids(tmp_path: Path):
    def change(message: Any) -> None:
        message.normalizer_spec.remove_extra_whitespaces = True

    before = fingerprint(spec_of(tmp_path))
    assert fingerprint(spec_of(tmp_path)) == before
    (tmp_path / "tokenizer.model").write_bytes(models.changed(models.trained(), change))
    assert fingerprint(read_spec(tmp_path)) != before
