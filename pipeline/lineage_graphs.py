"""Lineage as a graph, in the languages of Mermaid and Graphviz."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pipeline.lineage import Lineage


def mermaid(lineage: Lineage) -> str:
    """The lineage as a Mermaid flowchart."""
    lines = ["flowchart BT"]
    for key, text, kind in _nodes(lineage):
        opening, closing = ("([", "])") if kind == "version" else ("[", "]")
        lines.append(f'  {key}{opening}"{_plain(text)}"{closing}')
    lines += [f'  {start} -->|"{_plain(label)}"| {end}' for start, end, label in _edges(lineage)]
    return "\n".join(lines) + "\n"


def dot(lineage: Lineage) -> str:
    """The lineage in Graphviz' language."""
    lines = ["digraph lineage {", "  rankdir=BT;", "  node [shape=box];"]
    for key, text, kind in _nodes(lineage):
        shape = ", shape=ellipse" if kind == "version" else ""
        lines.append(f'  {key} [label="{_plain(text)}"{shape}];')
    lines += [f'  {start} -> {end} [label="{_plain(label)}"];' for start, end, label in _edges(lineage)]
    return "\n".join([*lines, "}"]) + "\n"


def _plain(text: str) -> str:
    return text.replace("\\", "/").replace('"', "'")


def _nodes(lineage: Lineage) -> Iterator[tuple[str, str, str]]:
    for place, link in enumerate(lineage.chain):
        yield f"v{place}", link.name, "version"
    for step in lineage.steps:
        yield f"e{step.id}", f"{step.component} ({step.run_id})", "step"


def _edges(lineage: Lineage) -> Iterator[tuple[str, str, str]]:
    for place in range(1, len(lineage.chain)):
        yield f"v{place}", f"v{place - 1}", "baseline"
    for step in lineage.steps:
        for name, ids in step.inputs.items():
            for maker in {one.id: one for i in ids if (one := lineage.maker(i)) is not None}.values():
                yield f"e{maker.id}", f"e{step.id}", name
    if lineage.target is not None and lineage.root is not None:
        yield f"e{lineage.root.id}", "v0", "pushed"


WRITERS: dict[str, Callable[[Lineage], str]] = {"mermaid": mermaid, "dot": dot}
"""Language → function that writes it."""
