"""The configuration's JSON schema, for editors and other tools."""

from __future__ import annotations

import json
from typing import Any

from pipeline.config import RunConfig

SCHEMA_FILE = "tokenmill.schema.json"
SCHEMA_LINE = f"# yaml-language-server: $schema={SCHEMA_FILE}"
"""First line of a configuration beside the schema; editors with a YAML language server follow it."""


def config_schema() -> dict[str, Any]:
    """JSON schema (draft 2020-12) of a configuration file.

    It accepts what `RunConfig.load` accepts, apart from rules between keys, which it cannot express; an
    empty section means its defaults.
    """
    schema = RunConfig.model_json_schema()
    for model in (schema, *schema["$defs"].values()):
        for key, value in model.get("properties", {}).items():
            value.pop("title", None)
            if "$ref" in value and key not in model.get("required", ()):
                value["anyOf"] = [{"$ref": value.pop("$ref")}, {"type": "null"}]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Tokenmill's configuration",
    }


def schema_text() -> str:
    """The schema as the file's text."""
    return json.dumps(config_schema(), indent=2, ensure_ascii=False) + "\n"
