"""The formats of minted integers: one is an entry of `FORMATS`, chosen by the request's `Accept`."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
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


def preferred(accept: str | None, *more: str) -> str:
    """Return the media type that an `Accept` header prefers (RFC 9110, section 12.5.1), or JSON if it accepts none.

    There are those of `FORMATS`, and `more` that may be sent.
    """
    if accept in (None, "*/*"):  # as of most clients
        return JSON
    choices: Iterable[str] = (*FORMATS, *more)
    return max(choices, key=lambda choice: _quality(accept, choice))


def _quality(accept: str, media_type: str) -> float:
    """Return the weight of a media type, 0 to 1, which the most specific matching range gives."""
    best = (-1, 0.0)
    matching = {media_type: 2, media_type.partition("/")[0] + "/*": 1, "*/*": 0}
    for part in accept.split(","):
        media, *parameters = (piece.strip().lower() for piece in part.split(";"))
        specificity = matching.get(media, -1)
        quality = 1.0
        for parameter in parameters:
            if re.fullmatch(r"q=(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)", parameter, re.ASCII):
                quality = float(parameter[2:])
        if specificity > best[0]:
            best = (specificity, quality)
    return best[1] if best[0] >= 0 else 0.0
