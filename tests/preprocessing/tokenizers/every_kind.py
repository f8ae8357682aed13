"""A small tokenizer directory of every kind that is reproduced, for tests that hold for all of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, normalizers, pre_tokenizers, trainers
from tokenizers.models import BPE

from preprocessing.tokenizers import write_byte_tokenizer
from tests.preprocessing.tokenizers import vocabularies
from tests.preprocessing.tokenizers.test_sentencepiece_json import FLAGS, LEGACY, converted
from tests.tiny import CHAT_TEMPLATE

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = LLAMA3.replace("{1,3}", "")
LLAMA_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'assistant' %}"
    "{{ ' ' + message['content'] + eos_token }}{% else %}"
    "{{ '[INST] ' + message['content'] + ' [/INST]' }}{% endif %}{% endfor %}"
)
"""Marks turns by plain text, as Llama 2 does, and answers by control tokens."""

BUILDING_TEMPLATE = (
    "{{ bos_token }}{% for t in tools or [] %}{% for key in t.function %}"
    "{{ '<' ~ key ~ '>' ~ (t.function[key] | tojson) ~ '</' ~ key ~ '>' }}{% endfor %}{% endfor %}"
    "{% for m in messages %}{{ '<|' + m.role + '|>' }}{% if m.name %}{{ m.name }}{% endif %}"
    "{{ m.content | replace('!!', '') }}<{{ m.content }}>{{ '<|' ~ 'end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|' ~ 'assistant|>' }}{% endif %}"
)
"""Builds its marks, shows keys, a second field and content within signs, and drops letters of content."""

BUILT_MARKS = ("<|user|>", "<|assistant|>", "<|end|>")


def kinds() -> dict[str, Callable[[Path], object]]:
    """Name → writes tokenizer files, with a chat template, into an existing directory."""
    return {
        "gpt2": lambda path: _write_json(path, vocabularies.small_json(digits=False)),
        "gpt2, digits apart": lambda path: _write_json(path, vocabularies.small_json()),
        "llama3": lambda path: _write_json(path, _split_json(LLAMA3)),
        "qwen2": lambda path: _write_json(path, _split_json(QWEN2)),
        "qwen2, ordinary marks": _write_ordinary_marks,
        "bytes": _write_bytes,
        "sentencepiece bpe": lambda path: _write_sentencepiece(path, "bpe"),
        "sentencepiece unigram": lambda path: _write_sentencepiece(path, "unigram"),
        "sentencepiece, user-defined pieces": _write_user_defined,
        "sentencepiece, converted": _write_converted,
    }


def _write_json(path: Path, value: dict[str, Any]) -> None:
    vocabularies.write(path / "tokenizer.json", value)
    _write_config(path, CHAT_TEMPLATE, eos_token="<|im_end|>")


def _write_config(path: Path, template: str, **fields: Any) -> None:
    (path / "tokenizer_config.json").write_text(json.dumps({"chat_template": template, **fields}))


def _split_json(pattern: str) -> dict[str, Any]:
    """As Llama 3 (`ignore_merges`) and Qwen2 (form C) write theirs."""
    vocab, merges = _trained(pattern)
    specials = {text: len(vocab) + index for index, text in enumerate(vocabularies.SPECIALS)}
    value = vocabularies.tokenizer_json(dict(vocab), [list(rule) for rule in merges], specials, digits=False)
    value = _with_split(value, pattern)
    if pattern == LLAMA3:
        value["model"]["ignore_merges"] = True
    else:
        value["normalizer"] = {"type": "NFC"}
    return value


def _write_ordinary_marks(path: Path) -> None:
    """Marks that are ordinary added tokens, as DeepSeek R1's distillations have; their names are built."""
    value = _split_json(QWEN2)
    marks = [*BUILT_MARKS, "<tool_call>", "\u3000"]
    first = 1 + max(token["id"] for token in value["added_tokens"])
    like = {**value["added_tokens"][0], "special": False}
    value["added_tokens"] += [{**like, "id": first + at, "content": one} for at, one in enumerate(marks)]
    vocabularies.write(path / "tokenizer.json", value)
    _write_config(path, BUILDING_TEMPLATE, bos_token="<|endoftext|>", eos_token="<|im_end|>")


def _with_split(value: dict[str, Any], pattern: str) -> dict[str, Any]:
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    byte_level = {**vocabularies.BYTE_LEVEL, "use_regex": False}
    value["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, byte_level]}
    return value


@cache
def _trained(pattern: str) -> tuple[dict[str, int], list[list[str]]]:
    tokenizer = Tokenizer(BPE())
    tokenizer.normalizer = normalizers.NFC()
    split = _with_split({}, pattern)["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"]
    from tokenizers import Regex

    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(split), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=500, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(_prose(), trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], model["merges"]


def _prose() -> list[str]:
    return [source.read_text() for source in sorted(Path("preprocessing/tokenizers").glob("*.py"))]


def _write_bytes(path: Path) -> None:
    write_byte_tokenizer(path, list(vocabularies.SPECIALS))
    config = path / "tokenizer_config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "chat_template": CHAT_TEMPLATE}))


def _write_user_defined(path: Path) -> None:
    """Pieces that text becomes, the template's among them: these the configuration names as special."""
    _write_sentencepiece(path, "bpe", ["<tool>", *BUILT_MARKS])
    _write_config(
        path,
        BUILDING_TEMPLATE,
        bos_token="<s>",
        eos_token="</s>",
        additional_special_tokens=list(BUILT_MARKS),
    )


def _write_converted(path: Path) -> None:
    """A tokenizer.json as transformers makes one of a model file, marks added to it."""
    value = converted(**LEGACY)
    first = len(value["model"]["vocab"])
    added = [{**FLAGS, "id": first + at, "content": mark} for at, mark in enumerate(BUILT_MARKS)]
    vocabularies.write(path / "tokenizer.json", {**value, "added_tokens": [*value["added_tokens"], *added]})
    _write_config(path, BUILDING_TEMPLATE, bos_token="<s>", eos_token="</s>")


def _write_sentencepiece(path: Path, kind: str, user_defined: Sequence[str] = ()) -> None:
    from sentencepiece import SentencePieceTrainer

    lines = [line for text in _prose() for line in text.splitlines() if line]
    with (path / "tokenizer.model").open("wb") as model:
        SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=model,
            model_type=kind,
            vocab_size=500,
            byte_fallback=kind == "bpe",
            user_defined_symbols=list(user_defined),
            hard_vocab_limit=False,
            num_threads=1,
            minloglevel=2,
        )
    _write_config(path, LLAMA_TEMPLATE, bos_token="<s>", eos_token="</s>", add_bos_token=True)
