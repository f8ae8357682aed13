"""Manifest: what a model package says of itself, in `assets.extra/tokenmill.json`."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from models.contract.errors import PackageError
from models.contract.signatures import MANDATORY, SIGNATURES, STATELESS

SCHEMA_VERSION = 1
MANIFEST_PATH = Path("assets.extra/tokenmill.json")
VOCAB_PATH = Path("assets.extra/vocab.bin")
WARMUP_PATH = Path("assets.extra/tf_serving_warmup_requests")
HF_PATH = Path("assets.extra/hf")
"""config.json and the tokenizer's files as Hugging Face names them: with the variables, a checkpoint."""

STATE_KINDS = ("paged_kv", "cross_kv", "slot_state")
"""Kinds of state a package may hold; this version writes and loads only the first."""


@dataclass(frozen=True, slots=True)
class ModelDims:
    """Sizes of the network; counts unless said otherwise."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int

    @property
    def kv_per_token(self) -> int:
        """Elements of keys and values that one token has over all layers."""
        return 2 * self.num_layers * self.num_kv_heads * self.head_dim


@dataclass(frozen=True, slots=True)
class TokenizerInfo:
    """The in-graph tokenizer.

    Args:
        kind: e.g. "byte_level_bpe".
        fingerprint: hash of everything that decides ids.
        add_bos: whether encoding a prompt puts the BOS id first.
        golden: (text, ids) pairs that a loader can check.
    """

    kind: str
    fingerprint: str
    add_bos: bool
    golden: tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything a loader needs to know before it loads.

    Args:
        model: name under which it is served.
        family: network family, e.g. "llama".
        dims: sizes of the network.
        max_length: most tokens of prompt and answer together.
        block_size: tokens per KV block.
        num_blocks: KV blocks, the null block counted; 0 in a stateless package.
        dtype: of the weights: "float32", "bfloat16" or "int8".
        kv_dtype: of the KV blocks.
        bos_id: begin-of-sequence id or None.
        eos_ids: ids that end an answer.
        tokenizer: the in-graph tokenizer.
        memory_bytes: need when loaded: "weights", "kv", "workspace"; TensorFlow's own 0.7 GB or so
            come on top, once per process.
        content_hash: sha256 over the SavedModel's files (see `models/package.py`).
        signatures: names of the signatures it carries.
        state_kinds: kinds of state it holds; none in a stateless package.
        packed: whether matrices are stored as [out, in], as serving reads them; else as the decoder has
            them, as in packages of earlier versions.
        profile: what `decode_xla` is compiled for: "off" (there is none), "latency" (one row) or
            "throughput" (many rows).
        cores: slices that products of `decode_xla` are cut into, one for each core of the machine it was
            made for; 1 where none is cut, 0 if unknown, as in packages of earlier versions.
        xla_buckets: (rows, live length in tokens) pairs that `decode_xla` is to be compiled for; empty
            without XLA.
        chat_template: Jinja source or None.
        run_id: pipeline run that made it, "" for a manual export.
        evaluation: summary of the evaluation that blessed it.
        created: ISO 8601, UTC.
    """

    model: str
    family: str
    dims: ModelDims
    max_length: int
    block_size: int
    num_blocks: int
    dtype: str
    kv_dtype: str
    bos_id: int | None
    eos_ids: tuple[int, ...]
    tokenizer: TokenizerInfo
    memory_bytes: dict[str, int]
    content_hash: str = ""
    signatures: tuple[str, ...] = MANDATORY
    state_kinds: tuple[str, ...] = ("paged_kv",)
    packed: bool = False
    profile: str = "off"
    cores: int = 0
    xla_buckets: tuple[tuple[int, int], ...] = ()
    chat_template: str | None = None
    run_id: str = ""
    evaluation: dict[str, Any] = field(default_factory=dict)
    created: str = ""
    schema_version: int = SCHEMA_VERSION

    @property
    def is_stateless(self) -> bool:
        """Whether it has no KV memory: text in, text out only."""
        return not self.state_kinds

    @property
    def kv_bytes_per_token(self) -> int:
        """Bytes of keys and values that one token occupies over all layers."""
        width = {"float32": 4, "bfloat16": 2, "float16": 2}[self.kv_dtype]
        return self.dims.kv_per_token * width

    def to_json(self) -> str:
        """The file's text."""
        return json.dumps(dataclasses.asdict(self), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str, *, source: str = "manifest") -> Self:
        """Parse and check a manifest.

        Raises:
            PackageError: it is not JSON, lacks a field, or asks for what this version does not know;
                the message names the field.
        """
        try:
            raw = json.loads(text)
        except ValueError as error:
            raise PackageError(f"{source}: not JSON: {error}.", field=source) from error
        if not isinstance(raw, dict) or raw.get("schema_version") != SCHEMA_VERSION:
            version = raw.get("schema_version") if isinstance(raw, dict) else None
            raise PackageError(
                f"{source}: `schema_version` is {version!r}, this version reads {SCHEMA_VERSION}.",
                field="schema_version",
                remedy="Export the package again with this version of Tokenmill.",
            )
        known = {f.name for f in dataclasses.fields(cls)}
        try:
            manifest = cls(**{name: _decode(name, value) for name, value in raw.items() if name in known})
            manifest._check(source)
        except (AttributeError, TypeError, KeyError, ValueError) as error:
            raise PackageError(f"{source}: not a complete manifest: {error}.", field=source) from error
        return manifest

    @classmethod
    def load(cls, package: Path) -> Self:
        """Read the manifest of a package's version directory.

        Raises:
            PackageError: there is none, or it does not fit this version.
        """
        path = package / MANIFEST_PATH
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise PackageError(
                f"{package}: no readable {MANIFEST_PATH}: not a Tokenmill model package.",
                field=str(package),
                remedy="Name a version directory written by `tokenmill export` or pushed by a run.",
            ) from error
        return cls.from_json(text, source=str(path))

    def _check(self, source: str) -> None:
        unknown = [kind for kind in self.state_kinds if kind != STATE_KINDS[0]]
        if unknown:
            raise PackageError(
                f"{source}: `state_kinds` holds {unknown}, this version serves {STATE_KINDS[0]!r} only.",
                field="state_kinds",
            )
        mandatory = MANDATORY if self.state_kinds else STATELESS
        missing = [name for name in mandatory if name not in self.signatures]
        extra = [name for name in self.signatures if name not in SIGNATURES]
        if missing or extra:
            raise PackageError(
                f"{source}: `signatures` lacks {missing} and has unknown {extra}.",
                field="signatures",
                remedy="Export the package again with this version of Tokenmill.",
            )
        for name in ("max_length", "block_size", *(("num_blocks",) if self.state_kinds else ())):
            if getattr(self, name) < 1:
                raise PackageError(
                    f"{source}: `{name}` is {getattr(self, name)}, must be positive.", field=name
                )
        if self.cores < 0:
            raise PackageError(f"{source}: `cores` is {self.cores}, must not be negative.", field="cores")


def _decode(name: str, value: Any) -> Any:
    if name == "dims":
        return ModelDims(**value)
    if name == "tokenizer":
        golden = tuple((text, tuple(ids)) for text, ids in value["golden"])
        return TokenizerInfo(**{**value, "golden": golden})
    if name == "xla_buckets":
        return tuple((rows, length) for rows, length in value)
    return tuple(value) if isinstance(value, list) else value
