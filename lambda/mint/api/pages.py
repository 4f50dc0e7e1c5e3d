"""Pages for browsers: the page that mints, and a counter's status, an integer's owner, and errors as documents.

Browsers load nothing that isn't in the response. Loading a page mints nothing.
"""

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from http import HTTPStatus
from pathlib import Path
from typing import Any

from global_integers_core.lattice import Layout

from ..model import CounterItem
from .reply import Response, regions_instead, response_with
from .request import Problem

_COLOURS = """
af-south-1 #954d05  ap-east-1 #8457d8  ap-east-2 #c43783  ap-northeast-1 #554f07  ap-northeast-2 #93147f
ap-northeast-3 #078543  ap-south-1 #0a7e83  ap-south-2 #0e7461  ap-southeast-1 #03527b  ap-southeast-2 #005b44
ap-southeast-3 #6533b3  ap-southeast-4 #a65706  ap-southeast-5 #544ccb  ap-southeast-6 #0d76ad
ap-southeast-7 #a40834  ca-central-1 #a10354  ca-west-1 #0f6f82  eu-central-1 #128263  eu-central-2 #ad3498
eu-north-1 #0172be  eu-south-1 #075761  eu-south-2 #8b1b8c  eu-west-1 #a9650d  eu-west-2 #a31900
eu-west-3 #3845bf  il-central-1 #9c4cc6  me-central-1 #006a9e  me-south-1 #b4144e  mx-central-1 #015d2d
sa-east-1 #cd3462  us-east-1 #3b6ee5  us-east-2 #af43af  us-west-1 #008719  us-west-2 #7a28a2
"""
COLOURS: dict[str, str] = dict(re.findall(r"(\S+) (#\S+)", _COLOURS))
"""White text can be read on each of them: its contrast is at least 4.5 (WCAG 2.2, 1.4.3). Regions that are often used
together differ most, in lightness too, so readers who confuse red and green can tell them apart."""


def colour_of(region: str) -> str:
    """Return a region's colour as `#rrggbb`. The name of a region that isn't in `COLOURS` selects one of them."""
    return COLOURS.get(region) or list(COLOURS.values())[sum(region.encode()) % len(COLOURS)]


STATUS = {
    "position": "the last integer minted here",
    "ceiling": "the last one that this region may mint now",
    "left": "integers that this region can mint without the home region",
    "stride": "the distance between two integers",
    "epoch": "the number of the layout",
    "fenced": "has a change of layout ended the epoch here?",
    "pending": "is there a newer layout that doesn’t apply here yet?",
    "regions": "of the newest layout, in order",
    "version": "of the code that runs here",
    "build": "of this code with its settings",
}
"""The members of a status document that its table shows, and what they are."""

OWNER = {
    "region": "the only one that mints this integer",
    "minted": "has it been taken from the counter?",
    "offset": "the region’s number in the layout",
    "stride": "the distance between two of its integers",
    "epoch": "the number of the layout",
}
"""The same for the document about an integer's owner."""

ANOTHER = """<form>
<label>Another counter <input name="counter" required maxlength="63" pattern="[a-z0-9][a-z0-9_\\-]*" autocomplete="off"
  autocapitalize="none" spellcheck="false" title="a–z, 0–9, _ and -; a letter or digit first"></label>
<button>Show</button>
</form>"""


def status_page(document: Mapping[str, Any]) -> Response:
    """Return a status document as a page. A position or a ceiling below the epoch's `base` is no integer yet."""
    counter, here, base = escape(document["counter"]), document["region"], document["base"] or 1
    shown = {name: _shown(document[name]) for name in STATUS}
    if document["position"] is not None:
        shown["position"] = f'<a href="../{counter}/{shown["position"]}">{shown["position"]}</a>'
    early = [name for name in ("position", "ceiling") if document[name] is not None and document[name] < base]
    shown |= dict.fromkeys(early, "none yet in this epoch")
    shown["regions"] = (
        "<br>".join(f"{_region(name)}{' <span>(here)</span>' * (name == here)}" for name in document["regions"]) or "–"
    )
    state, text = ("ok", "can be minted here.") if document["ok"] else ("alarm", "can’t be minted here:")
    content = (
        f'<p id="state" class="{state}">The counter <b>{counter}</b> {text} {escape(document.get("reason", ""))}</p>',
        _table(STATUS, shown),
        ANOTHER,
        _links({f"../{counter}": f"Mint from {counter}"}),
    )
    return _page(f"Status of {counter}", f"status in {_here(here)}", content, form_action="'self'")


def owner_page(document: Mapping[str, Any], here: str) -> Response:
    """Return the document about an integer's owner as a page. `here` is the region that answers."""
    counter, integer, region = escape(document["counter"]), str(document["integer"]), document["region"]
    asked = (
        f"not known here; ask <bdi>{escape(document['ask'])}</bdi>" if "ask" in document else "not known in any region"
    )
    shown = {name: _shown(document[name]) for name in OWNER} | {"region": _region(document["region"])}
    content = (
        f'<p class="large{" long" * (len(integer) > 8)}">{integer}</p>',
        f'<p class="note">{integer} of the counter <b>{counter}</b> belongs to {_here(region)}.</p>',
        _table(OWNER, shown | ({"minted": asked} if document["minted"] is None else {})),
        _links({f"../{counter}": f"Mint from {counter}", f"../-/status?counter={counter}": f"Status of {counter}"}),
    )
    return _page(f"Owner of {integer}", f"owner, according to {_here(here)}", content)


def problem_page(problem: Problem, here: str, root: str) -> Response:
    """Return an error as a page, with the same status and headers. `here` is the region that answers."""
    title = f"{problem.status.value} {problem.status.phrase}"
    instead = ", ".join(_region(name) for name in problem.members.get("regions", ()))
    content = (
        f'<p id="state" class="alarm"><b>{title}:</b> {escape(problem.detail)}</p>',
        f"<p>The other regions: {instead}</p>" * bool(instead),
        _links({root: "Mint", f"{root}-/status": "Status"}),
    )
    said = f"response from {_here(here)}"
    return _page(title, said, content, status=problem.status, headers=problem.headers)


def _page(title: str, said: str, content: Iterable[str], **more: Any) -> Response:
    header = f"<header><h1>Global integers</h1><span>{said}</span></header>"
    parts = {"TITLE": f"{title} – Global integers", "CONTENT": "\n".join((header, *filter(None, content)))}
    return _html("document.html", parts, **more)


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
    return f'<svg width="13" height="13" aria-hidden="true">{square}</svg><bdi>{escape(name)}</bdi>'


def _here(region: str) -> str:
    return f"<b><bdi>{escape(region)}</bdi></b>"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "–" if value is None else escape(str(value))


HERE = Path(__file__).parent
HEAD = "head.html"
"""What all pages begin with: their title and the styles that they share."""


def _html(
    name: str,
    parts: Mapping[str, str],
    *,
    status: HTTPStatus = HTTPStatus.OK,
    headers: Mapping[str, str] | None = None,
    **allowed: str,
) -> Response:
    """Return the file `name` of this folder, after `HEAD`, with `parts` instead of their `%NAME%`.

    No `%NAME%` is inside a style or a script that runs. `allowed` is further directives of the
    Content-Security-Policy, with `_` for `-`.
    """
    html, own = _source(name)
    policy = own | {directive.replace("_", "-"): sources for directive, sources in allowed.items()}
    common = {
        "Vary": "Accept",
        "Content-Security-Policy": "; ".join(f"{directive} {sources}" for directive, sources in policy.items()),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
    }
    body = re.sub("%([A-Z]+)%", lambda place: parts[place[1]], html)
    return response_with(status, "text/html; charset=utf-8", body, common | dict(headers or {}))


@cache
def _source(name: str) -> tuple[str, dict[str, str]]:
    """Return the page and its Content-Security-Policy, which allows the page's own scripts and styles only."""
    html = "".join((HERE / file).read_text(encoding="utf-8") for file in (HEAD, name))
    return html, {
        "default-src": "'none'",
        "script-src": _hashes("script", html),
        "style-src": _hashes("style", html),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }


def _hashes(element: str, html: str) -> str:
    parts = re.findall(f"<{element}>(.*?)</{element}>", html, re.DOTALL)
    return " ".join(f"'sha256-{b64encode(sha256(part.encode()).digest()).decode()}'" for part in parts) or "'none'"


LAYOUTS = 4
"""How many layouts the page has at most: the one before that of the item, which shows where this began, that one, and
the following ones. So the page doesn't grow with history."""


def page(
    counter: str,
    region: str,
    layouts: Sequence[Layout],
    item: CounterItem | None,
    *,
    open_counters: bool,
    domain: str = "",
) -> Response:
    """Return the page that mints. It says if this region doesn't have the counter, or has left the layout.

    `layouts` are those that this region knows, the oldest first. With `open_counters`, callers may list counters. At
    the stack's `domain`, or a region's name below it, the page leads to the other regions.
    """
    can_mint = item is not None and item.issued < item.ceiling
    if item and layouts and item.epoch > layouts[-1].epoch:
        layouts = []  # the present one isn't recorded yet, and the past ones would contradict what is minted now
    present = next((i for i, layout in enumerate(layouts) if item and layout.epoch >= item.epoch), len(layouts))
    layouts = layouts[max(present - 1, 0) :][:LAYOUTS]
    data = {
        "counter": counter,
        "region": region,
        "layouts": [layout._asdict() for layout in layouts],
        "colours": {name: colour_of(name) for name in {region}.union(*(layout.regions for layout in layouts))},
        "next": item.issued + item.stride if item and can_mint else None,
        "exists": item is not None,
        "instead": [] if can_mint else regions_instead(item),
        "open": open_counters,
        "domain": domain,
    }
    # Only "<" can begin the end of a script (HTML, "Restrictions for contents of script elements").
    script = json.dumps(data).replace("<", "\\u003c")
    parts = {"TITLE": "Global integers", "DATA": script}
    return _html("page.html", parts, connect_src="'self'")
