"""Lineage as trees for people."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterator
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from pipeline.graph_execution import GraphExecution
from pipeline.lineage import Lineage
from pipeline.run_record import RunRecord
from pipeline.run_report import duration
from pipeline.terminal import styled
from pipeline.version_origin import VersionOrigin

_LONGEST_NOTE = 72


def lineage_view(lineage: Lineage) -> RenderableType:
    """Chain, origin and what came of it, one below the other."""
    parts: list[RenderableType] = [_heading("Chain", "each measured against the one below it")]
    parts += _chain(lineage)
    parts += ["", _heading("Came from", lineage.title), _origin_tree(lineage)]
    if lineage.releases:
        parts += ["", _heading("Releases", ""), *_releases(lineage)]
    forward = list(_forward(lineage))
    if forward:
        parts += ["", _heading("Was used", ""), *forward]
    return Group(*parts)


def _heading(name: str, note: str) -> Text:
    return styled((name, "bold"), f"{'  ' if note else ''}", (note, "dim"))


def _chain(lineage: Lineage) -> Iterator[Text]:
    if not lineage.chain:
        yield styled("  nothing was measured yet")
    if lineage.target is None and lineage.run is not None and lineage.chain:
        yield styled(f"  ({lineage.title}, {lineage.run.state}: {_measure(lineage.run)})")
    for link in lineage.chain:
        yield styled("  ").append_text(styled("  ").join(part for part in _link(link) if part))


def _link(link: VersionOrigin) -> Iterator[Text]:
    yield styled((link.name, "bold"))
    yield styled((" ".join(link.labels), "green"))
    if link.version is None:
        yield styled((link.path, "dim"))
        return
    if link.perplexity is not None:
        yield styled(_measure(link))
    if link.started_from is not None:
        yield styled(f"trained on from {link.started_from}")
    if link.run_id:
        yield styled((f"run {link.run_id}", "dim"))
    if link.pushed:
        yield styled((time.strftime("%Y-%m-%d %H:%M", time.localtime(link.pushed)), "dim"))
    if not link.recorded:
        yield styled(("not recorded by a run here", "yellow"))
    if not link.present:
        yield styled(("removed", "yellow"))


def _measure(one: VersionOrigin | RunRecord) -> str:
    if one.perplexity is None:
        return "perplexity not known"
    text = f"perplexity {one.perplexity:.3f}"
    if one.ratio is None:
        return text
    text += f", {(one.ratio - 1) * 100:+.2f} %"
    if one.interval is None:
        return text
    low, high = ((end - 1) * 100 for end in one.interval)
    return f"{text} ({low:+.2f} to {high:+.2f} %)"


def _origin_tree(lineage: Lineage) -> RenderableType:
    root = lineage.root
    if root is None:
        return "  no component is recorded"
    shown: set[int] = set()
    by_id = {step.id: step for step in (*lineage.steps, root)}
    if lineage.target is None:
        # Of a run without a version all ends are shown, not only what its last component read.
        tree = Tree(styled((lineage.title, "bold")))
        read = {artifact_id for step in lineage.steps for artifact_id in step.read}
        ends = [step for step in reversed(lineage.steps) if not read & set(step.written)]
        for step in dict.fromkeys(one.id for one in (root, *ends)):
            _grow(lineage, tree.add(_step(by_id[step], "", lineage)), by_id[step], shown)
        return tree
    tree = Tree(_step(root, "", lineage))
    _grow(lineage, tree, root, shown)
    return tree


def _grow(lineage: Lineage, tree: Tree, step: GraphExecution, shown: set[int]) -> None:
    """Add what a step read, and on; a step that feeds several is opened up where it first appears."""
    shown.add(step.id)
    for name, ids in step.inputs.items():
        for artifact_id in ids:
            maker = lineage.maker(artifact_id)
            if maker is None:
                tree.add(styled(f"{name} ", (lineage.artifacts[artifact_id].uri, "dim")))
            elif maker.id in shown:
                tree.add(styled(f"{name} ← {maker.component} ", ("(above)", "dim")))
            else:
                _grow(lineage, tree.add(_step(maker, name, lineage)), maker, shown)


def _step(step: GraphExecution, name: str, lineage: Lineage) -> Text:
    of_another = lineage.run is None or step.run_id != lineage.run.run_id
    fact = _fact(step, lineage)
    return styled(
        f"{name} ← " if name else "",
        (step.component, "bold"),
        (f"  {duration(step.seconds)}", "dim"),
        (f"  of run {step.run_id}" if of_another else "", "cyan"),
        f"  {fact}" if fact else "",
    )


def _fact(step: GraphExecution, lineage: Lineage) -> str:
    """What a reader wants to know of a step, from the properties of its outputs."""
    found: dict[str, Any] = {}
    for artifact_id in step.written:
        found |= lineage.artifacts[artifact_id].properties
    if step.component == "BaselineLookup" and "baseline_path" in found:
        return f"found {found['baseline_path']}"
    if step.component == "WarmStart" and "start_path" in found:
        return f"took {found['start_path']}"
    if step.component == "PerplexityEvaluator" and "perplexity" in found:
        return f"perplexity {found['perplexity']:.3f}, {'blessed' if found.get('blessed') else 'not blessed'}"
    if step.component == "ServingValidator" and "blessed" in found:
        return "blessed" if found["blessed"] else "not blessed"
    return f"span {found['span']}" if step.component == "CorpusExampleGen" and "span" in found else ""


def _releases(lineage: Lineage) -> Iterator[Text]:
    for record in lineage.releases:
        ends = " → ".join(str(end) for end in (record.from_version, record.to_version) if end is not None)
        what = f"{record.action} {record.label}".strip() + (f" {record.weight:.0%}" if record.weight else "")
        note = textwrap.shorten(f"{record.who} {record.reason}", _LONGEST_NOTE, placeholder=" …")
        yield styled(f"  {record.time}  ", (what, "bold"), f"  {ends}  ", (note, "dim"))


def _forward(lineage: Lineage) -> Iterator[Text]:
    for words, records in (
        ("as the baseline of", lineage.judged_against),
        ("as the start of", lineage.started_from),
    ):
        for record in records:
            version = f", version {record.pushed_version}" if record.pushed_version else ""
            yield styled(f"  {words} run {record.run_id}  ", (f"{record.state}{version}", "dim"))
    for run_id, components in lineage.reused_by.items():
        yield styled(f"  from cache by run {run_id}  ", (", ".join(components), "dim"))
