"""CorpusSource: one folder of text files that belongs to a corpus."""

from __future__ import annotations

import sysconfig
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, field_validator

from preprocessing.glob_filter import glob_fault

STDLIB = "{stdlib}"
"""In a source's path: the standard library's folder of the running interpreter."""

HIDDEN = ("**/.*", "**/.*/**")


class CorpusSource(BaseModel):
    """Where one part of the corpus lies and which of its files belong to it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$",
        description="Name of this part in reports; the evaluation shows one slice per source.",
    )
    path: str = Field(
        min_length=1,
        description="Folder of text files, or one file. `~` is expanded; `{stdlib}` stands for the "
        "standard library of the running Python interpreter.",
    )
    include: tuple[str, ...] = Field(
        ("**/*",),
        min_length=1,
        description="Globs of the files to read, relative to the folder: `*` stays within one path part, "
        "`**` matches any number of them.",
    )
    exclude: tuple[str, ...] = Field(
        HIDDEN, description="Globs of files to leave out; by default hidden files and folders."
    )

    @field_validator("include", "exclude")
    @classmethod
    def _relative(cls, globs: tuple[str, ...]) -> tuple[str, ...]:
        for glob in globs:
            if not glob.strip("/. ") or glob.startswith(("/", "~")) or ".." in glob.split("/"):
                raise ValueError(f"glob {glob!r} must be relative to the source's folder, e.g. '**/*.py'")
            if fault := glob_fault(glob):
                raise ValueError(f"glob {glob!r} {fault}")
        return globs

    @property
    def root(self) -> Path:
        """The folder or file as an absolute path."""
        return Path(self.path.replace(STDLIB, sysconfig.get_path("stdlib"))).expanduser().absolute()
