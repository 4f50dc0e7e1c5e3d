"""Documents as pages for browsers. They have no script."""

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from .colours import colour_of
from .html_file import html_response
from .reply import Response

STATUS = {
    "position": "the last integer minted here",
    "ceiling": "the last one that this region may mint now",
    "stride": "the distance between two integers",
    "epoch": "the number of the layout",
    "fenced": "has a change of layout ended the epoch here?",
    "pending": "is there a newer layout that doesn’t apply here yet?",
    "regions": "of the newest layout, in order",
    "version": "of the code that runs here",
}
"""The members of a status document that its table shows, and what they are."""

ANOTHER = """<form>
<label>Another counter <input name="counter" required maxlength="63" pattern="[a-z0-9][a-z0-9_\\-]*" autocomplete="off"
  autocapitalize="none" spellcheck="false" title="a–z, 0–9, _ and -; a letter or digit first"></label>
<button>Show</button>
</form>"""


def status_page(document: Mapping[str, Any], base: int, *, https: bool = False) -> Response:
    """Return a status document as a page.

    Args:
        document: of `/-/status`.
        base: where the item's epoch begins. A position or a ceiling below it means that there is no integer yet.
        https: see `html_response`.
    """
    counter, here = escape(document["counter"]), document["region"]
    shown = {name: _shown(document[name]) for name in STATUS}
    early = [name for name in ("position", "ceiling") if document[name] is not None and document[name] < base]
    shown |= dict.fromkeys(early, "none yet in this epoch")
    shown["regions"] = (
        "<br>".join(f"{_region(name)}{' <span>(here)</span>' * (name == here)}" for name in document["regions"]) or "–"
    )
    state, text = ("well", "can be minted here.") if document["ok"] else ("ill", "can’t be minted here:")
    content = (
        f'<p id="state" class="{state}">The counter <b>{counter}</b> {text} {escape(document.get("reason", ""))}</p>',
        _table(STATUS, shown),
        ANOTHER,
    )
    return _page(f"Status of {counter}", f"status in <b>{escape(here)}</b>", content, https=https, form_action="'self'")


def _page(
    title: str,
    said: str,
    content: Iterable[str],
    *,
    https: bool,
    **allowed: str,
) -> Response:
    header = f"<header><h1>Global integers</h1><span>{said}</span></header>"
    parts = {"TITLE": f"{title} – Global integers", "CONTENT": "\n".join((header, *content))}
    return html_response("document.html", parts, https=https, **allowed)


def _table(rows: Mapping[str, str], shown: Mapping[str, str]) -> str:
    cells = (
        f'<tr><th scope="row">{name} <small>{what}</small></th><td>{shown[name]}</td></tr>'
        for name, what in rows.items()
    )
    return "\n".join(("<table>", *cells, "</table>"))


def _region(name: str) -> str:
    """Return a region's name after its colour, as SVG: the page's policy allows no style of an element's own."""
    square = f'<rect width="13" height="13" rx="3" fill="{colour_of(name)}"/>'
    return f'<svg width="13" height="13" aria-hidden="true">{square}</svg>{escape(name)}'


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "–" if value is None else escape(str(value))
