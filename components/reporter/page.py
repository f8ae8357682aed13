"""The report as one page of HTML that needs nothing but itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape
from plotly.offline import get_plotlyjs

from components.reporter.page_view import page_view

_TEMPLATE = Path(__file__).parent / "template"
_CODE = re.compile(r"`([^`]+)`")


def render_page(report: Mapping[str, Any]) -> str:
    """The page of a report.

    Everything in it that comes from models, corpora and configurations is escaped, and a content
    security policy forbids it to load anything.

    Args:
        report: as made by `report_data`; sections may be None.
    """
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["code"] = _code
    view = page_view(report)
    # Only where there is something to draw: it is most of the page's size.
    plotly = Markup(get_plotlyjs()) if view["charts"] else Markup("")
    style, script = (
        Markup((_TEMPLATE / name).read_text(encoding="utf-8")) for name in ("page.css", "page.js")
    )
    return environment.get_template("page.html.j2").render(**view, plotly=plotly, style=style, script=script)


def _code(text: str) -> Markup:
    """Escaped text whose `…` are set as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(text))))  # the text is escaped before
