"""Export: from a checkpoint directory to a model package."""

from __future__ import annotations

import dataclasses
import hashlib
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from models.batching_parameters import write_batching_parameters
from models.canonical_saved_model import canonicalize
from models.checkpoint import load_checkpoint
from models.checkpoint_files import write_config
from models.contract.errors import CheckpointError, ConfigError
from models.contract.manifest import (
    HF_PATH,
    MANIFEST_PATH,
    STATE_KINDS,
    VOCAB_PATH,
    WARMUP_PATH,
    Manifest,
    TokenizerInfo,
)
from models.contract.signatures import MANDATORY, STATELESS
from models.contract.vocab import write_vocab
from models.export_options import KV_BYTES, ExportOptions
from models.package import content_hash
from models.package_variables import WEIGHTS_ATTRIBUTE
from models.packed.pack_decoder import pack_decoder
from models.packed.packed_decoder import PackedDecoder
from models.paged_cache import PagedCache
from models.scoring import LOGIT_FLOATS
from models.shared_steps import SharedSteps
from models.signatures.compiled_signatures import CompiledSignatures
from models.signatures.embed_signatures import EmbedSignatures
from models.signatures.generate_signatures import GenerateSignatures
from models.signatures.paged_signatures import PagedSignatures
from models.signatures.score_signatures import ScoreSignatures
from models.signatures.tensor_specs import Endpoint, input_specs
from models.signatures.text_signatures import TextSignatures
from models.staged_directory import staged_directory
from models.warmup import write_warmup
from models.xla_buckets import xla_buckets
from preprocessing.tokenizers import GraphTokenizer, load_tokenizer

GOLDEN_TEXTS = (
    "Hello, world!",
    "def add(a, b):\n    return a + b\n",
    " It's 2024: 3.14159 and 1,000,000.",
    "naïve café – 東京 🙂",
    "\t tabs  and   spaces \r\n\n",
    "<|endoftext|><|im_start|>",
)
"""Texts whose ids go into the manifest, so that a loader can check its tokenizer."""


def export_package(
    checkpoint: Path, base: Path, options: ExportOptions, *, version: int | None = None
) -> Path:
    """Write `<base>/<version>/`: network, tokenizer and signatures in one SavedModel, and its manifest.

    Args:
        checkpoint: Hugging Face checkpoint directory with its tokenizer.
        base: directory of the model's versions; created if absent.
        options: context, KV memory and what to record.
        version: number; None takes the current time in seconds, or the next number that is free.

    Returns:
        The version directory. It appears as a whole or not at all.

    Raises:
        CheckpointError: the checkpoint or its tokenizer cannot be read exactly, or do not match.
        ConfigError: the version exists, `base` cannot be written, or an option does not fit.
    """
    target = _target(base, version)
    tokenizer = load_tokenizer(checkpoint)
    decoder = pack_decoder(
        load_checkpoint(checkpoint), options.profile, options.dtype, options.resolve_cores()
    )
    _check_vocabulary(decoder, tokenizer, checkpoint)
    manifest = _manifest(decoder, tokenizer, options)
    with staged_directory(target, MANIFEST_PATH.as_posix()) as staging:
        _write_saved_model(staging, decoder, tokenizer, manifest)
        (staging / HF_PATH).mkdir(parents=True)
        write_config(staging / HF_PATH, decoder.config, checkpoint)
        write_vocab(staging / VOCAB_PATH, tokenizer.token_bytes)
        write_warmup(staging / WARMUP_PATH, manifest.model, manifest.signatures)
        if manifest.is_stateless:
            write_batching_parameters(staging)
        finished = dataclasses.replace(manifest, content_hash=content_hash(staging))
        (staging / MANIFEST_PATH).write_text(finished.to_json(), encoding="utf-8")
    return target


def _target(base: Path, version: int | None) -> Path:
    """The version directory to write."""
    if version is None:
        version = int(time.time())
        while (base / str(version)).exists():
            version += 1
    target = base / str(version)
    if version < 1 or target.exists():
        problem = "exists already" if version >= 1 else "is not a version number"
        raise ConfigError(
            f"package version {target} {problem}.",
            field="version",
            remedy="Choose another number, from 1 on, or none.",
        )
    return target


def _check_vocabulary(decoder: PackedDecoder, tokenizer: GraphTokenizer, checkpoint: Path) -> None:
    size = decoder.config.vocab_size
    if tokenizer.vocab_size > size:
        raise CheckpointError(
            f"{checkpoint}: the tokenizer has {tokenizer.vocab_size} ids, the network {size}.",
            field="vocab_size",
            remedy="Give the checkpoint the tokenizer it was trained with.",
        )


def _manifest(decoder: PackedDecoder, tokenizer: GraphTokenizer, options: ExportOptions) -> Manifest:
    """Everything but the content hash."""
    config = decoder.config
    max_length = options.resolve_max_length(config.max_length)
    num_blocks = options.resolve_num_blocks(config.dims, max_length)
    memory = _memory(decoder, num_blocks * options.block_size, max_length)
    token = config.dims.kv_per_token * KV_BYTES
    buckets = xla_buckets(options.profile, max_length, options.block_size, memory, token)
    gathered = token * max((rows * length for rows, length in buckets), default=0)
    return Manifest(
        model=options.model_name,
        family=config.family,
        dims=config.dims,
        max_length=max_length,
        block_size=options.block_size,
        num_blocks=num_blocks,
        dtype=options.dtype,
        kv_dtype="float32",
        bos_id=tokenizer.bos_id,
        eos_ids=config.eos_ids or tokenizer.eos_ids,
        tokenizer=_tokenizer_info(tokenizer),
        memory_bytes=memory | {"workspace": max(memory["workspace"], gathered)},
        signatures=_signatures(options),
        state_kinds=() if options.stateless else STATE_KINDS[:1],
        packed=True,
        profile=options.profile,
        cores=options.resolve_cores(),
        xla_buckets=buckets,
        chat_template=tokenizer.chat_template,
        run_id=options.run_id,
        evaluation=options.evaluation,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _signatures(options: ExportOptions) -> tuple[str, ...]:
    """What the package carries."""
    if options.stateless:
        return (*STATELESS, "embed")
    compiled = () if options.profile == "off" else ("decode_xla",)
    return (*MANDATORY, *compiled, "decode_full", "verify", "embed")


def _tokenizer_info(tokenizer: GraphTokenizer) -> TokenizerInfo:
    ids = tf.function(TextSignatures(tokenizer).prompt, autograph=False)(tf.constant(GOLDEN_TEXTS)).to_list()
    return TokenizerInfo(
        kind=tokenizer.kind,
        fingerprint=tokenizer.fingerprint,
        add_bos=tokenizer.add_bos,
        golden=tuple((text, tuple(row)) for text, row in zip(GOLDEN_TEXTS, ids, strict=True)),
    )


def _memory(decoder: PackedDecoder, cached_tokens: int, max_length: int) -> dict[str, int]:
    """Bytes of weights, KV blocks and the largest intermediate values of a scoring call."""
    attention = 3 * decoder.config.num_heads * max_length**2 * 4
    return {
        "weights": sum(weight.numpy().nbytes for weight in decoder.weights.values()),
        "kv": cached_tokens * decoder.config.dims.kv_per_token * KV_BYTES,
        "workspace": attention + 3 * LOGIT_FLOATS * 4,
    }


def _write_saved_model(
    directory: Path, decoder: PackedDecoder, tokenizer: GraphTokenizer, manifest: Manifest
) -> None:
    owner = _identity(decoder, manifest)
    cache = (
        None
        if manifest.is_stateless
        else PagedCache(manifest.dims, manifest.num_blocks, manifest.block_size, owner)
    )
    endpoints = build_endpoints(decoder, tokenizer, cache, manifest)
    # A root of our own holds what the loader must find. ExportArchive would do the same, but trace every
    # signature a second time. Arenas are created and zeroed by the loader, the checkpoint skips them.
    root = tf.Module()
    setattr(root, WEIGHTS_ATTRIBUTE, dict(decoder.weights))
    root.cache, root.tokenizer = cache, tokenizer
    signatures = {
        name: tf.function(
            endpoints[name], input_signature=input_specs(name), autograph=False
        ).get_concrete_function()
        for name in manifest.signatures
    }
    # Nothing is trained from a package: gradients of its functions need not be traced.
    options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
    tf.saved_model.save(root, str(directory), signatures, options)
    canonicalize(directory)


def _identity(decoder: PackedDecoder, manifest: Manifest) -> str:
    """Sixteen hex digits that packages share only if all they compute is the same."""
    computed = dataclasses.replace(manifest, run_id="", evaluation={}, created="")
    digest = hashlib.sha256(computed.to_json().encode())
    for path, weight in decoder.weights.items():
        digest.update(path.encode())
        digest.update(np.ascontiguousarray(weight.numpy()).view(np.uint8))
    return digest.hexdigest()[:16]


def build_endpoints(
    decoder: PackedDecoder, tokenizer: GraphTokenizer, cache: PagedCache | None, manifest: Manifest
) -> dict[str, Endpoint]:
    """Name → function of every signature of a package; those without memory only if it has none."""
    text, shared = TextSignatures(tokenizer), SharedSteps(decoder)
    groups: list[Any] = [
        text,
        ScoreSignatures(decoder, text, manifest.max_length),
        EmbedSignatures(decoder, text, manifest.max_length),
        GenerateSignatures(decoder, text, manifest.eos_ids, manifest.max_length, shared),
    ]
    if cache is not None:
        groups.append(PagedSignatures(decoder, cache, shared))
        groups.append(CompiledSignatures(decoder, cache, shared))
    return {name: function for group in groups for name, function in group.endpoints().items()}
