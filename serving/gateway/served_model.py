"""ServedModel: what the gateway knows of the model behind its engine."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from models.contract.manifest import Manifest
from serving.engine.engine_config import EngineConfig

CHEAP_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class ServedModel:
    """One served model.

    Args:
        name: what requests call it.
        config: sizes and limits of its engine.
        vocab: bytes of each id.
        created: Unix seconds.
        fingerprint: changes when answers to the same seed may change.
    """

    name: str
    config: EngineConfig
    vocab: list[bytes]
    created: int = 0
    fingerprint: str = ""

    @property
    def max_prompt_bytes(self) -> int:
        """No text of more bytes fits into the context: every token would have to be the longest one.

        Never less than what is tokenised in no time, so that such a prompt is told its exact length.
        """
        return max((self.config.max_length - 1) * max(map(len, self.vocab)), CHEAP_BYTES)

    @classmethod
    def from_manifest(cls, manifest: Manifest, config: EngineConfig, vocab: list[bytes]) -> Self:
        """The model of a loaded package."""
        created = datetime.fromisoformat(manifest.created).timestamp() if manifest.created else 0
        fingerprint = f"fp_{manifest.content_hash[:12]}"
        return cls(manifest.model, config, vocab, int(created), fingerprint)

    def text(self, ids: tuple[int, ...]) -> str:
        """The text of ids, U+FFFD where their bytes are not UTF-8."""
        return b"".join(self.vocab[i] for i in ids).decode("utf-8", "replace")

    def card(self) -> dict[str, Any]:
        """The model as `/v1/models` lists it."""
        return {
            "id": self.name,
            "object": "model",
            "created": self.created,
            "owned_by": "tokenmill",
            "max_model_len": self.config.max_length,
        }
