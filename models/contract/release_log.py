"""ReleaseLog: the history of a push directory, from its append-only `releases.jsonl`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from models.contract.errors import PackageError
from models.contract.labels import Labels
from models.contract.release_record import ReleaseRecord

RELEASES_FILE = "releases.jsonl"


@dataclass(frozen=True, slots=True)
class ReleaseLog:
    """All records of one model's releases.

    Args:
        records: by sequence, ascending.
        broken: numbers, from 1, of whole lines that are no records. The last line, if it has no line
            end, is one whose writer was killed: it is passed over without being counted here.
    """

    records: tuple[ReleaseRecord, ...] = ()
    broken: tuple[int, ...] = ()

    @property
    def last_sequence(self) -> int:
        """Sequence of the latest record, 0 without one."""
        return self.records[-1].sequence if self.records else 0

    @property
    def versions(self) -> dict[int, ReleaseRecord]:
        """Versions that are recorded as present, each with the record of its appearance."""
        found: dict[int, ReleaseRecord] = {}
        for record in self.records:
            if record.action in ("push", "adopt") and record.to_version is not None:
                found[record.to_version] = record
            elif record.action == "remove" and record.from_version is not None:
                found.pop(record.from_version, None)
        return found

    @property
    def rolled_back(self) -> dict[int, ReleaseRecord]:
        """Versions that lost their label by a rollback and got none since, each with the record of it.

        In the order of the rollbacks, the latest last.
        """
        found: dict[int, ReleaseRecord] = {}
        for record in self.records:
            if record.action == "rollback" and record.from_version is not None:
                found.pop(record.from_version, None)
                found[record.from_version] = record
            if record.label and record.to_version is not None:
                found.pop(record.to_version, None)
        return found

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse the file's text; of lines with the same sequence the first one counts."""
        records: dict[int, ReleaseRecord] = {}
        broken = []
        lines = text.split("\n")  # `splitlines` would also cut at separators inside a reason.
        for number, line in enumerate(lines, 1):
            try:
                record = ReleaseRecord.from_line(line)
            except PackageError:
                if number < len(lines):
                    broken.append(number)
            else:
                records.setdefault(record.sequence, record)
        return cls(tuple(records[sequence] for sequence in sorted(records)), tuple(broken))

    @classmethod
    def load(cls, base: Path) -> Self:
        """The history of `<push directory>/<model>`, empty if there is none.

        A change whose writer was killed between the label file and its line is part of it.

        Raises:
            PackageError: `releases.jsonl` or `labels.json` cannot be read.
        """
        labels = Labels.load(base)
        log = cls.parse(read_log(base))
        if labels is None or labels.last is None or labels.last.sequence <= log.last_sequence:
            return log
        return cls((*log.records, labels.last), log.broken)


def read_log(base: Path) -> str:
    """The text of `releases.jsonl`, "" if there is none.

    Raises:
        PackageError: it cannot be read.
    """
    path = base / RELEASES_FILE
    try:
        return path.read_bytes().decode("utf-8", errors="replace")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as error:
        raise PackageError(f"{path} cannot be read: {error.strerror}.", field=str(path)) from error
