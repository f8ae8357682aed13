"""UniqueKeyLoader: YAML in which a key that stands twice is an error, and `off` is the word it is."""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any

import yaml


class UniqueKeyLoader(yaml.SafeLoader):
    """PyYAML's safe loader takes the last of two equal keys silently; this one refuses them.

    As in YAML 1.2, only true and false are booleans: PyYAML would also read `off`, a word that several
    settings take, as one. Settings that are yes or no understand the words.
    """

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


_BOOL = "tag:yaml.org,2002:bool"

UniqueKeyLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != _BOOL]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
UniqueKeyLoader.add_implicit_resolver(
    _BOOL, re.compile("^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)
