"""UniqueKeyLoader: YAML in which a key that stands twice in one mapping is an error."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import yaml


class UniqueKeyLoader(yaml.SafeLoader):
    """PyYAML's safe loader takes the last of two equal keys silently; this one refuses them."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """Build a mapping.

        Raises:
            yaml.constructor.ConstructorError: a key stands twice; the message names it and both lines.
        """
        lines: dict[tuple[str, str], int] = {}
        for key_node, _ in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                continue
            key, line = (key_node.tag, key_node.value), key_node.start_mark.line + 1
            if key in lines:
                raise yaml.constructor.ConstructorError(
                    problem=f"`{key_node.value}` stands in line {lines[key]} and again in line {line}",
                    problem_mark=key_node.start_mark,
                )
            lines[key] = line
        return super().construct_mapping(node, deep)
