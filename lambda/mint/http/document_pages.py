"""Documents as pages for browsers: a counter's status, an integer's owner, and errors. They have no script."""

from collections.abc import Iterable, Mapping
from html import escape
from http import HTTPStatus
from typing import Any

from .colours import colour_of
from .html_file import html_response
from .reply import Problem, Response

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

OWNER = {
    "region": "the only one that mints this integer",
    "minted": "has it been taken from the counter?",
    "offset": "the region’s place in the layout",
    "stride": "the distance between two of its integers",
    "epoch": "the number of the layout",
}
"""The same for the document about an integer's owner."""

ANOTHER = """<form>
<label>Another counter <input name="counter" required maxlength="63" pattern="[a-z0-9][a-z0-9_\\-]*" autocomplete="off"
  autocapitalize="none" spellcheck="false" title="a–z, 0–9, _ and -; a letter or digit first"></label>
<button>Show</button>
</form>"""


def status_page(document: Mapping[str, Any], base: int, *, https: bool = False) -> Response:
    """Return a status document as a page.

    Args:
        document: the response to `/-/status`.
        base: where the item's epoch begins. A position or a ceiling below it means that there is no integer yet.
        https: see `html_response`.
    """
    counter, here = escape(document["counter"]), document["region"]
    shown = {name: _shown(document[name]) for name in STATUS}
    if document["position"] is not None:
        shown["position"] = f'<a href="../{counter}/{shown["position"]}">{shown["position"]}</a>'
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
        _links({f"../{counter}": f"Mint from {counter}"}),
    )
    return _page(f"Status of {counter}", f"status in <b>{escape(here)}</b>", content, https=https, form_action="'self'")


def owner_page(document: Mapping[str, Any], here: str, *, https: bool = False) -> Response:
    """Return the document about an integer's owner as a page.

    Args:
        document: the response to `/{counter}/{integer}`.
        here: the region that answers.
        https: see `html_response`.
    """
    counter, integer, region = escape(document["counter"]), str(document["integer"]), escape(document["region"])
    asked = f"not known here; ask {escape(document['ask'])}" if "ask" in document else "not known in any region"
    shown = {name: _shown(document[name]) for name in OWNER} | {"region": _region(document["region"])}
    content = (
        f'<p class="large{" long" * (len(integer) > 8)}">{integer}</p>',
        f'<p class="note">{integer} of the counter <b>{counter}</b> belongs to <b>{region}</b>.</p>',
        _table(OWNER, shown | ({"minted": asked} if document["minted"] is None else {})),
        _links({f"../{counter}": f"Mint from {counter}", f"../-/status?counter={counter}": f"Status of {counter}"}),
    )
    return _page(f"Owner of {integer}", f"owner, according to <b>{escape(here)}</b>", content, https=https)


def problem_page(problem: Problem, here: str, root: str, *, https: bool = False) -> Response:
    """Return an error as a page, with the same status and headers.

    Args:
        problem: the error.
        here: the region that answers.
        root: where the API begins, relative to the request's path.
        https: see `html_response`.
    """
    title = f"{problem.status.value} {problem.status.phrase}"
    instead = ", ".join(_region(name) for name in problem.members.get("regions", ()))
    content = (
        f'<p id="state" class="ill"><b>{title}:</b> {escape(problem.detail)}</p>',
        f"<p>The other regions: {instead}</p>" * bool(instead),
        _links({root: "Mint", f"{root}-/status": "Status"}),
    )
    said = f"response from <b>{escape(here)}</b>"
    return _page(title, said, content, https=https, status=problem.status, headers=problem.headers)


def _page(
    title: str,
    said: str,
    content: Iterable[str],
    *,
    https: bool,
    status: HTTPStatus = HTTPStatus.OK,
    headers: Mapping[str, str] | None = None,
    **allowed: str,
) -> Response:
    header = f"<header><h1>Global integers</h1><span>{said}</span></header>"
    parts = {"TITLE": f"{title} – Global integers", "CONTENT": "\n".join((header, *filter(None, content)))}
    return html_response("document.html", parts, https=https, status=status, headers=headers, **allowed)


def _table(rows: Mapping[str, str], shown: Mapping[str, str]) -> str:
    cells = (
        f'<tr><th scope="row">{name} <small>{what}</small></th><td>{shown[name]}</td></tr>'
        for name, what in rows.items()
    )
    return "\n".join(("<table>", *cells, "</table>"))


def _links(links: Mapping[str, str]) -> str:
    return "<nav>" + "".join(f'<a href="{to}">{text}</a>' for to, text in links.items()) + "</nav>"


def _region(name: str) -> str:
    """Return a region's name after its colour, as SVG: the page's policy allows no style of an element's own."""
    square = f'<rect width="13" height="13" rx="3" fill="{colour_of(name)}"/>'
    return f'<svg width="13" height="13" aria-hidden="true">{square}</svg>{escape(name)}'


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "–" if value is None else escape(str(value))
