"""RunReport: the type of the artifact that holds a run's report."""

from __future__ import annotations

from tfx.types.artifact import Artifact, Property, PropertyType


class RunReport(Artifact):
    """A folder with `report.html` and `report.json`; its properties tell the verdict without opening it."""

    TYPE_NAME = "RunReport"
    PROPERTIES = {"state": Property(type=PropertyType.STRING)}  # noqa: RUF012
