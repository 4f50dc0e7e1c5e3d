"""Content negotiation: JSON, plain text, a block in short, or the page (RFC 9110, section 12.5.1)."""

import re
from typing import Literal

Format = Literal["json", "text", "block", "html"]

TYPES: tuple[tuple[Format, str, str], ...] = (
    ("json", "application", "json"),
    ("text", "text", "plain"),
    ("block", "application", "vnd.global-integers.block+json"),
    ("html", "text", "html"),
)
"""The formats, by preference. Of equally acceptable types, the first is sent."""


def preferred(accept: str, *, html: bool) -> Format:
    """Return the format that an `Accept` header prefers, or JSON if it accepts none of them.

    Args:
        accept: the header's value.
        html: whether HTML can be sent.
    """
    choices = TYPES if html else TYPES[:-1]
    return max(choices, key=lambda choice: _quality(accept, *choice[1:]))[0]


def _quality(accept: str, kind: str, subtype: str) -> float:
    """Return the weight of a media type, 0 to 1, which the most specific matching range gives."""
    best = (-1, 0.0)
    for part in accept.split(","):
        media, *parameters = (piece.strip().lower() for piece in part.split(";"))
        specificity = {f"{kind}/{subtype}": 2, f"{kind}/*": 1, "*/*": 0}.get(media, -1)
        quality = 1.0
        for parameter in parameters:
            if re.fullmatch(r"q=(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)", parameter, re.ASCII):
                quality = float(parameter[2:])
        if specificity > best[0]:
            best = (specificity, quality)
    return best[1] if best[0] >= 0 else 0.0
