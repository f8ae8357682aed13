"""Tokenizer files for tests: the real vocabularies, a small trained one, and texts made to hurt."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from preprocessing.tokenizers.pre_tokenizer_settings import SPLIT_PATTERNS
from preprocessing.tokenizers.word_pattern import WordPattern

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
DIGITS = {"type": "Digits", "individual_digits": True}
SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<file>", "<file_sep>")
NASTY = [
    *" \t\n\r\0'aAsStTmMdDrevl109!<|>_#",
    *"éßΩжあ日本한🙂👩\u200d\u0301\u0661\u00a0\u2028\u3000\ufeff\ufffd\u096c½Ⅷ\U000e0001\U0001d7d8",
    "'s",
    "'re",
    "'ve",
    "'ll",
    " '",
    "  ",
    "\r\n",
    "<|",
    "|>",
    *SPECIALS,
    "<tool_call>",
    "\u017f",
    "'\u017f",
    "'LL",
    "'Re",
    "\n \n",
    "!\n",
    "e\u0301",
    "\u1100\u1161",
    "\u212b",
]


def tokenizer_json(
    vocab: dict[str, int], merges: list[list[str]], specials: dict[str, int], *, digits: bool
) -> dict[str, Any]:
    """A tokenizer.json as Hugging Face writes it."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    sequence = {"type": "Sequence", "pretokenizers": [DIGITS, BYTE_LEVEL]}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": index, "content": text, **flags} for text, index in specials.items()],
        "normalizer": None,
        "pre_tokenizer": sequence if digits else BYTE_LEVEL,
        "post_processor": None,
        "decoder": BYTE_LEVEL,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": vocab,
            "merges": merges,
        },
    }


def write(path: Path, value: dict[str, Any]) -> Path:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def split_settings(regex: str) -> dict[str, Any]:
    """The pre-tokenizer of Llama 3 and Qwen2 with this pattern."""
    split = {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}
    return {"type": "Sequence", "pretokenizers": [split, {**BYTE_LEVEL, "use_regex": False}]}


def regex_of(pattern: WordPattern) -> str:
    """The regular expression as most files write it."""
    return next(regex for regex, meant in SPLIT_PATTERNS.items() if meant == pattern)


@cache
def small_vocabulary(regex: str | None = None) -> tuple[dict[str, int], list[list[str]]]:
    """A vocabulary trained on this repository's own prose: 400 tokens beside the bytes.

    Words are those of `regex`, or GPT-2's.
    """
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=regex is None)
    split = [pre_tokenizers.Split(Regex(regex), behavior="isolated")] if regex else []
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*split, byte_level])
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=656, initial_alphabet=alphabet, show_progress=False)
    sources = sorted(Path("preprocessing").rglob("*.py"))
    tokenizer.train_from_iterator([source.read_text() for source in sources], trainer)
    model = json.loads(tokenizer.to_str())["model"]
    return model["vocab"], model["merges"]


def small_json(*, digits: bool = True) -> dict[str, Any]:
    """The small vocabulary as a tokenizer.json, special tokens after it."""
    vocab, merges = small_vocabulary()
    specials = {text: len(vocab) + index for index, text in enumerate(SPECIALS)}
    return tokenizer_json(dict(vocab), [list(rule) for rule in merges], specials, digits=digits)


def llama3_json() -> dict[str, Any]:
    """Of Llama 3's form: every rule that makes a token, words that are tokens of no rule, a first token."""
    regex = regex_of(WordPattern.LLAMA3)
    vocab, _ = small_vocabulary(regex)
    tokens = dict(vocab)
    for word in ("Ġsplitter", "éĹ", "ĠĠĠĠĠ", "'re", "12", "!!!Ċ", "zqzq"):
        tokens.setdefault(word, len(tokens))
    specials = {text: len(tokens) + index for index, text in enumerate(SPECIALS)}
    value = tokenizer_json(tokens, every_rule(vocab), specials, digits=False)
    value["pre_tokenizer"] = split_settings(regex)
    value["model"]["ignore_merges"] = True
    first = {"SpecialToken": {"id": SPECIALS[0], "type_id": 0}}
    known = {SPECIALS[0]: {"id": SPECIALS[0], "ids": [specials[SPECIALS[0]]], "tokens": [SPECIALS[0]]}}
    template = {
        "type": "TemplateProcessing",
        "single": [first, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [],
        "special_tokens": known,
    }
    value["post_processor"] = {"type": "Sequence", "processors": [BYTE_LEVEL, template]}
    return value


def qwen2_json() -> dict[str, Any]:
    """Of Qwen2's form: normalisation form C, and added tokens that are not special."""
    regex = regex_of(WordPattern.QWEN2)
    vocab, merges = small_vocabulary(regex)
    specials = {text: len(vocab) + index for index, text in enumerate(SPECIALS)}
    value = tokenizer_json(dict(vocab), [list(rule) for rule in merges], specials, digits=False)
    value["pre_tokenizer"] = split_settings(regex)
    value["normalizer"] = {"type": "NFC"}
    value["post_processor"] = {**BYTE_LEVEL, "use_regex": False}
    value["model"].update(continuing_subword_prefix="", end_of_word_suffix="")
    for content in ("<tool_call>", "</tool_call>"):
        last = value["added_tokens"][-1]
        value["added_tokens"].append({**last, "id": last["id"] + 1, "content": content, "special": False})
    return value


def every_rule(vocab: dict[str, int]) -> list[list[str]]:
    """All pairs of tokens that make a token, in the order of the tokens' ids: as tiktoken merges."""
    tokens = sorted(vocab, key=vocab.__getitem__)
    pairs = ([token[:at], token[at:]] for token in tokens for at in range(1, len(token)))
    return [pair for pair in pairs if vocab.keys() >= {*pair}]


@cache
def smollm2_json(gguf_file: Path) -> str:
    """SmolLM2's tokenizer.json, from the metadata of its GGUF file."""
    from gguf import GGUFReader

    fields = GGUFReader(gguf_file).fields
    tokens, kinds, merges = (
        fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "token_type", "merges")
    )
    specials = {token: index for index, token in enumerate(tokens) if kinds[index] == 3}
    vocab = {token: index for index, token in enumerate(tokens)}
    rules = [rule.split(" ") for rule in merges]
    return json.dumps(tokenizer_json(vocab, rules, specials, digits=True), ensure_ascii=False)


@cache
def gpt2_json(folder: Path) -> str:
    """GPT-2's tokenizer.json, from the files it was published in."""
    vocab = json.loads((folder / "encoder.json").read_text(encoding="utf-8"))
    lines = (folder / "vocab.bpe").read_text(encoding="utf-8").splitlines()[1:]
    merges = [line.split(" ") for line in lines if line]
    specials = {"<|endoftext|>": vocab["<|endoftext|>"]}
    return json.dumps(tokenizer_json(vocab, merges, specials, digits=False), ensure_ascii=False)


def reference(path: Path) -> Tokenizer:
    """Hugging Face's tokenizer, names of special tokens in a text being text."""
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.encode_special_tokens = True
    return tokenizer


def reference_ids(tokenizer: Tokenizer, texts: list[str | bytes]) -> list[list[int]]:
    plain = [text.decode("utf-8", "replace") if isinstance(text, bytes) else text for text in texts]
    return [encoding.ids for encoding in tokenizer.encode_batch(plain, add_special_tokens=False)]


def nasty_texts(seed: int, count: int, pieces: list[str] | None = None) -> list[str | bytes]:
    """Strings of awkward characters, of tokens, of any code points, and of any bytes."""
    rng = random.Random(seed)
    makers = [
        lambda: "".join(rng.choices(NASTY, k=rng.randrange(1, 40))),
        lambda: "".join(rng.choices(pieces or NASTY, k=rng.randrange(1, 20))),
        lambda: "".join(map(_any_character, rng.choices(range(0x110000), k=rng.randrange(1, 20)))),
        lambda: "".join(rng.choices("aes'\u0301 1", k=rng.randrange(1, 60))),
        lambda: bytes(rng.choices(range(256), k=rng.randrange(1, 40))),
        lambda: "".join(rng.choices(NASTY, k=12)).encode()[rng.randrange(4) : -rng.randrange(1, 4)],
    ]
    return [makers[index % len(makers)]() for index in range(count)]


def _any_character(point: int) -> str:
    return chr(point) if not 0xD800 <= point < 0xE000 else "\ud7ff"


def resplit_json(value: dict[str, Any] | None = None, every: int = 3) -> dict[str, Any]:
    """A vocabulary, the small one if none is given, with other rules for some tokens."""
    value = value or small_json()
    merges = value["model"]["merges"]
    made: set[str] = set(pre_tokenizers.ByteLevel.alphabet())
    taken = {tuple(rule) for rule in merges}
    for index, (left, right) in enumerate(merges):
        token = left + right
        splits = [(token[:at], token[at:]) for at in range(1, len(token))]
        others = [pair for pair in splits if pair not in taken and made.issuperset(pair)]
        if others and index % every == 0:
            merges[index] = list(others[0])
        made.add(token)
    return value


def reordered_json(value: dict[str, Any], seed: int = 11, count: int = 60) -> dict[str, Any]:
    """A vocabulary some of whose rules have changed places: parts may be made after they are used."""
    merges = value["model"]["merges"]
    rng = random.Random(seed)
    for _ in range(count):
        first, second = rng.randrange(len(merges)), rng.randrange(len(merges))
        merges[first], merges[second] = merges[second], merges[first]
    return value
