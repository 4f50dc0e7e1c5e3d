"""The state of a counter as a page for browsers. It has no script."""

from collections.abc import Mapping
from html import escape
from typing import Any

from .html_file import html_response
from .reply import Response

ROWS = {
    "position": "the last integer minted here",
    "ceiling": "the last one that this region may mint now",
    "stride": "the distance between two integers",
    "epoch": "the number of the layout",
    "fenced": "has a change of layout ended the epoch here?",
    "pending": "is there a newer layout that doesn’t apply here yet?",
    "regions": "of the newest layout, in order",
    "version": "of the code that runs here",
}
"""The members of the document that the table shows, and what they are."""


def status_page(document: Mapping[str, Any], *, https: bool = False) -> Response:
    """Return a status document as a page. For `https`, see `html_response`."""
    counter, region = escape(document["counter"]), escape(document["region"])
    state, text = ("well", "can be minted here.") if document["ok"] else ("ill", "can’t be minted here:")
    reason = escape(document.get("reason", ""))
    rows = "\n".join(
        f'<tr><th scope="row">{name} <small>{what}</small></th><td>{_cell(document, name)}</td></tr>'
        for name, what in ROWS.items()
    )
    content = (
        f"<header><h1>Global integers</h1><span>status in <b>{region}</b></span></header>\n"
        f'<p id="state" class="{state}">The counter <b>{counter}</b> {text} {reason}</p>\n<table>\n{rows}\n</table>'
    )
    return html_response("status.html", "%STATUS%", content, https=https, form_action="'self'")


def _cell(document: Mapping[str, Any], name: str) -> str:
    value = document[name]
    if name == "regions":
        here = document["region"]
        return "<br>".join(f"{escape(region)}{' <span>(here)</span>' * (region == here)}" for region in value) or "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "–" if value is None else escape(str(value))
