"""RunConfig: everything one run of the pipeline needs, composed of the components' own configs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from components.corpus_example_gen.corpus_config import CorpusConfig
from components.exporter.export_config import ExportConfig
from components.metadata.metadata_config import MetadataConfig
from components.metadata.metadata_connection import MetadataConnection
from components.perplexity_evaluator.evaluation_config import EvaluationConfig
from components.perplexity_evaluator.gate_config import GateConfig
from components.pusher.push_config import PushConfig
from components.serving_validator.validation_config import ValidationConfig
from components.trainer.training_config import TrainingConfig
from components.tuner.tuning_config import TuningConfig
from models.contract.errors import ConfigError
from pipeline.completion_config import CompletionConfig
from pipeline.config_errors import describe, without_empty_sections
from pipeline.model_config import ModelConfig
from pipeline.unique_key_loader import UniqueKeyLoader


class RunConfig(BaseModel):
    """One run: corpus, model, training, export, evaluation, gate, validation and push.

    Relative paths are relative to the current directory.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(
        default="tokenmill",
        pattern=r"^[a-z0-9][a-z0-9-]{0,62}$",
        description="Name of the pipeline; runs of one name share their cached components.",
    )
    workdir: Path = Field(
        default=Path(".tokenmill"), description="Folder for artifacts, metadata and the runs' logs."
    )
    model: ModelConfig = Field(description="The model to start from and the name of the result.")
    corpus: CorpusConfig = Field(description="The text to fine-tune on.")
    training: TrainingConfig = Field(default_factory=TrainingConfig, description="How to fine-tune.")
    tuning: TuningConfig | None = Field(
        default=None, description="A search for training settings beforehand; by default there is none."
    )
    export: ExportConfig = Field(default_factory=ExportConfig, description="Form of the model package.")
    evaluation: EvaluationConfig = Field(
        default_factory=EvaluationConfig, description="How perplexity is measured."
    )
    gate: GateConfig = Field(default_factory=GateConfig, description="What a model must reach.")
    validation: ValidationConfig = Field(
        default_factory=ValidationConfig, description="How serving is tried out."
    )
    push: PushConfig = Field(default_factory=PushConfig, description="Where blessed packages go.")
    completion: CompletionConfig = Field(
        default_factory=CompletionConfig, description="What the pushed package is asked at the end."
    )
    metadata: MetadataConfig = Field(
        default_factory=MetadataConfig, description="The database of the runs' history."
    )

    @property
    def push_base(self) -> Path:
        """Folder of this model's pushed versions, absolute."""
        return (self.push.directory / self.model.name).resolve()

    @property
    def metadata_connection(self) -> MetadataConnection:
        """How to reach ML Metadata, without the password."""
        return MetadataConnection.of(self.metadata, self.workdir)

    @property
    def pipeline_root(self) -> Path:
        """Folder of the artifacts of all runs, absolute."""
        return (self.workdir / "artifacts" / self.name).resolve()

    def run_root(self, run_id: str) -> Path:
        """Folder of the artifacts that one run makes, absolute.

        TFX names an artifact's folder after its execution's id, and a new or restored metadata database
        gives ids out again: in one folder for all runs it would write into the files of older ones.
        """
        return self.pipeline_root / run_id

    @property
    def runs_directory(self) -> Path:
        """Folder with one folder per run, absolute."""
        return (self.workdir / "runs").resolve()

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a YAML file.

        Raises:
            ConfigError: it is missing, not YAML, has a key twice, or does not fit; every fault is named
                with its key, the value received and, for an unknown key, the nearest known one.
        """
        try:
            raw = yaml.load(path.read_text(encoding="utf-8"), UniqueKeyLoader)
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise ConfigError(
                f"configuration {path} cannot be read: {reason}.",
                field=str(path),
                remedy="Name an existing file with --config; `tokenmill init` writes a first one.",
            ) from error
        except yaml.constructor.ConstructorError as error:
            raise ConfigError(
                f"configuration {path}: {error.problem}.",
                field=str(path),
                remedy="Keep each key once per section, with plain values.",
            ) from error
        except yaml.YAMLError as error:
            raise ConfigError(f"configuration {path} is not YAML: {error}.", field=str(path)) from error
        return cls.from_raw(raw, source=str(path))

    @classmethod
    def from_raw(cls, raw: Any, *, source: str = "configuration") -> Self:
        """Validate parsed YAML; `source` names it in messages.

        Raises:
            ConfigError: see `load`.
        """
        if not isinstance(raw, dict):
            raise ConfigError(
                f"{source} holds {type(raw).__name__}, not a mapping of keys to values.",
                field=source,
                remedy="Start from the commented tokenmill.yaml.",
            )
        try:
            return cls.model_validate(without_empty_sections(raw, cls))
        except ValidationError as error:
            raise ConfigError(f"{source}: {describe(error, cls)}", field=source) from error

    def to_yaml(self) -> str:
        """The config as YAML, every default written out."""
        return yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False, allow_unicode=True)
