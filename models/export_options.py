"""ExportOptions: what a caller decides about a model package."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from models.contract.errors import ConfigError
from models.contract.manifest import ModelDims

DTYPES = ("float32", "bfloat16", "int8")
PROFILES = ("off", "latency", "throughput")
DEFAULT_MAX_LENGTH = 2048
MOST_CORES = 64
"""More slices of a product than this are not made."""

DEFAULT_KV_BYTES = 512 * 2**20
"""KV memory of a package whose number of blocks nobody chose."""

KV_BYTES = 4
"""Of an element of keys or values, float32."""

DEFAULT_SEQUENCES = 64
"""More full-length sequences than this are not provided for by default."""

_NO_MEMORY = "a stateless package has neither KV memory nor `decode_xla`"


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """Options of `models.export.export_package`.

    Args:
        model_name: name under which the package is served.
        max_length: most tokens of prompt and answer together; None takes the checkpoint's, at most
            2048.
        block_size: tokens per KV block.
        num_blocks: KV blocks, the null block counted; None fills 512 MiB, but never less than one
            sequence of full length nor more than 64 of them.
        dtype: of the weights: "float32", "bfloat16" or "int8".
        profile: "off" for calls without XLA, "latency" or "throughput" for `decode_xla` with one row or
            with many.
        cores: of the machine that serves, which products of a compiled package are cut for; None takes this
            machine's.
        stateless: whether to leave out KV memory and all signatures that need it.
        run_id: pipeline run that exports, "" otherwise.
        evaluation: summary of the evaluation to record.

    Raises:
        ConfigError: a value is out of range; `field` names it.
    """

    model_name: str = "model"
    max_length: int | None = None
    block_size: int = 16
    num_blocks: int | None = None
    dtype: str = "float32"
    profile: str = "off"
    cores: int | None = None
    stateless: bool = False
    run_id: str = ""
    evaluation: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check("model_name", self.model_name, bool(self.model_name.strip()), "a name")
        _check("max_length", self.max_length, self.max_length is None or self.max_length >= 2, "at least 2")
        _check("block_size", self.block_size, self.block_size >= 1, "at least 1")
        _check(
            "num_blocks",
            self.num_blocks,
            self.num_blocks is None or self.num_blocks >= 2,
            "at least 2: block 0 is never handed out",
        )
        _check("dtype", self.dtype, self.dtype in DTYPES, f"one of {', '.join(DTYPES)}")
        _check("cores", self.cores, self.cores is None or self.cores >= 1, "at least 1")
        _check("profile", self.profile, self.profile in PROFILES, f"one of {', '.join(PROFILES)}")
        if self.stateless:
            _check("num_blocks", self.num_blocks, self.num_blocks is None, f"left out: {_NO_MEMORY}")
            _check("profile", self.profile, self.profile == "off", f"off: {_NO_MEMORY}")

    def resolve_max_length(self, longest: int) -> int:
        """The package's context.

        Args:
            longest: tokens the checkpoint was made for.

        Raises:
            ConfigError: more was asked for.
        """
        if self.max_length is None:
            return min(longest, DEFAULT_MAX_LENGTH)
        if self.max_length > longest:
            raise ConfigError(
                f"`max_length` is {self.max_length}, the checkpoint was made for {longest} tokens.",
                field="max_length",
                remedy=f"Choose at most {longest}.",
            )
        return self.max_length

    @property
    def cuts_products(self) -> bool:
        """Whether `cores` matters: only a compiled decode of float32 weights is cut for them."""
        return self.profile != "off" and self.dtype == "float32"

    def resolve_cores(self) -> int:
        """Slices that products are cut into: a power of two, at most one for each core; 1 if none is cut."""
        if not self.cuts_products:
            return 1
        cores = min(self.cores or os.cpu_count() or 1, MOST_CORES)
        return 1 << (cores.bit_length() - 1)

    def resolve_num_blocks(self, dims: ModelDims, max_length: int) -> int:
        """The package's KV blocks, the null block counted; none if it is stateless."""
        if self.stateless:
            return 0
        if self.num_blocks is not None:
            return self.num_blocks
        sequence = -(-max_length // self.block_size)
        affordable = DEFAULT_KV_BYTES // (dims.kv_per_token * KV_BYTES * self.block_size)
        return 1 + min(max(affordable, sequence), DEFAULT_SEQUENCES * sequence)


def _check(name: str, value: object, ok: bool, wanted: str) -> None:
    if not ok:
        raise ConfigError(f"`{name}` is {value!r}.", field=name, remedy=f"It must be {wanted}.")
