"""The formats of minted integers: one is an entry of `FORMATS`, chosen by the request's `Accept`."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from global_integers_core.names import MAX_LISTED

from ..model import Block

HTML = "text/html"
"""Of the pages for browsers, which mint nothing by being loaded (`pages.py`)."""


class Minted(NamedTuple):
    """What was minted. `many`: whether a block was requested, be it of one integer."""

    counter: str
    region: str
    block: Block
    many: bool

    def document(self, **members: Any) -> str:
        """Return a JSON document about it."""
        return json.dumps({"counter": self.counter, "region": self.region, **members})


def _json(minted: Minted) -> str:
    if minted.many:
        return minted.document(integers=list(minted.block.integers()))
    return minted.document(integer=minted.block.first)


def _lines(minted: Minted) -> str:
    return "".join(f"{integer}\n" for integer in minted.block.integers())


def _in_short(minted: Minted) -> str:
    block = minted.block
    return minted.document(first=block.first, last=block.integers()[-1], stride=block.stride, count=block.count)


SHORT = "application/vnd.global-integers.block+json"
"""As short for 100,000 integers as for one. Every block of more than `MAX_LISTED` is sent in it, since callers pay
nothing for a long response."""

FORMATS: Mapping[str, Callable[[Minted], str]] = {
    "application/json": _json,
    "text/plain": _lines,
    SHORT: _in_short,
}
"""Media type → body. Of equally acceptable ones, the first is sent; the first also if none is acceptable."""

JSON = next(iter(FORMATS))


def written(minted: Minted, accepted: str) -> tuple[str, str]:
    """Return the Content-Type and the body, in the accepted format unless the block is too large to be listed."""
    media_type = SHORT if minted.block.count > MAX_LISTED else accepted
    charset = "; charset=utf-8" if media_type.startswith("text/") else ""
    return media_type + charset, FORMATS[media_type](minted)


PLAIN_BROWSERS = ("Lynx/", "Links ", "w3m/", "ELinks/", "Dillo/", "NetSurf/")
"""How the `User-Agent` of a browser begins in which no script fetches. So all that it fetches is read."""


def preferred(accept: str | None) -> str:
    """Return the media type of `FORMATS` that an `Accept` header prefers (RFC 9110, section 12.5.1), or else JSON."""
    if accept in (None, "*/*"):  # as of most clients
        return JSON
    weights = _weights(accept)
    return max(FORMATS, key=lambda media_type: _weight(weights, media_type))


def wants_page(headers: Mapping[str, str]) -> bool:
    """Return whether a person reads the response in a browser, and not a program that accepts HTML, too.

    Browsers say that they navigate (Fetch Metadata Request Headers, "Sec-Fetch-Mode"). Those that don't know this
    header are told by their name. Otherwise the page is for who prefers HTML to everything else. What is uncertain
    isn't a browser: an integer that is wasted harms less than HTML in a program. `headers` have names in lower case.
    """
    accept, agent = headers.get("accept", "*/*"), headers.get("user-agent", "")
    plain = agent.startswith(PLAIN_BROWSERS) or (agent.startswith("Mozilla/") and " NetSurf/" in agent)
    if HTML not in accept.lower() and not plain:  # as of most clients
        return False
    weights = _weights(accept)
    html, others = _weight(weights, HTML), [weight for media, weight in weights.items() if media != HTML]
    if not html or not any(others):  # the page's own script accepts nothing else
        return html > 0
    if any(name.startswith("sec-fetch-") for name in headers):
        return headers.get("sec-fetch-mode") == "navigate"
    return plain or agent.startswith(("Mozilla/", "Opera/")) or html > max(others)


def _weights(accept: str) -> dict[str, float]:
    """Return the accepted media ranges with their weights, 0 to 1. A malformed weight refuses its range."""
    weights: dict[str, float] = {}
    for part in accept.split(","):
        media, *parameters = (piece.strip().lower() for piece in part.split(";"))
        weight = 1.0
        for parameter in parameters:
            if parameter.partition("=")[0].strip() == "q":
                valid = re.fullmatch(r"q=(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)", parameter, re.ASCII)
                weight = float(parameter[2:]) if valid else 0.0
        if "/" in media:
            weights.setdefault(media, weight)
    return weights


def _weight(weights: Mapping[str, float], media_type: str) -> float:
    """Return the weight of a media type, which the most specific matching range gives."""
    ranges = (media_type, media_type.partition("/")[0] + "/*", "*/*")
    return next((weights[name] for name in ranges if name in weights), 0.0)
