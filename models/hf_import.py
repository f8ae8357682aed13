"""Import of a Hugging Face checkpoint, from a local directory or the hub."""

from __future__ import annotations

import re
from pathlib import Path

from models.checkpoint_files import (
    CHECKPOINT_FILES,
    CONFIG,
    TOKENIZER_FILES,
    VOCABULARIES,
    check_tensors,
    copy_tokenizer_files,
    tensor_shapes,
    write_checkpoint,
)
from models.contract.errors import CheckpointError
from models.decoder_config import DecoderConfig
from models.families.registry import FAMILIES
from models.staged_directory import refuse_foreign_directory, staged_directory
from models.tensor_files import open_tensors

_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


def import_hf(source: str, out: Path, revision: str | None = None) -> DecoderConfig:
    """Write a checkpoint in this project's form: checked, float32, in one file, as a whole or not at all.

    Args:
        source: local directory or hub id, e.g. "HuggingFaceTB/SmolLM2-135M-Instruct".
        out: new, empty, or an earlier checkpoint, which is replaced.
        revision: branch, tag or commit on the hub; the default branch if None.

    Returns:
        The checkpoint's config.

    Raises:
        CheckpointError: the source cannot be found, reached or reproduced exactly.
        ConfigError: `out` cannot be written.
    """
    refuse_foreign_directory(out, CONFIG, CHECKPOINT_FILES)
    directory = _locate(source, revision)
    config = DecoderConfig.load(directory)
    if not any((directory / name).is_file() for name in VOCABULARIES):
        raise CheckpointError(
            f"{directory}: holds neither {' nor '.join(VOCABULARIES)}.",
            field=VOCABULARIES[0],
            remedy="Save the checkpoint's tokenizer with transformers' fast tokenizer.",
        )
    with open_tensors(directory, FAMILIES[config.family].prefix) as tensors:
        check_tensors(tensors, config)
        weights = {name: tensors.read(name) for name in tensor_shapes(config)}
        with staged_directory(out, CONFIG, CHECKPOINT_FILES) as staging:
            copy_tokenizer_files(directory, staging)
            write_checkpoint(staging, config, weights)
    return config


def _locate(source: str, revision: str | None) -> Path:
    if Path(source).is_dir():
        return Path(source)
    if not _HUB_ID.fullmatch(source):
        raise CheckpointError(
            f"checkpoint {source!r} is neither a directory nor a hub id.",
            field=source,
            remedy="Name an existing directory or an id like owner/model.",
        )
    return _download(source, revision)


def _download(hub_id: str, revision: str | None) -> Path:
    import httpx
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    patterns = [CONFIG, "*.safetensors", "*.safetensors.index.json", *TOKENIZER_FILES]
    try:
        return Path(snapshot_download(hub_id, revision=revision, allow_patterns=patterns))
    except (HfHubHTTPError, httpx.HTTPError, OSError, ValueError) as error:
        raise CheckpointError(
            f"checkpoint {hub_id!r} is not a local directory and could not be fetched from the hub: "
            f"{str(error).splitlines()[0].rstrip('.')}.",
            field=hub_id,
            remedy="Check the id and the connection, or download it elsewhere and name its directory.",
        ) from error
