"""The page for browsers: one file that loads nothing from other servers. Loading it mints nothing."""

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

from integers.layouts import Layout

from ..refusals import regions_instead
from ..table import Item
from .reply import Response

STRICT_TRANSPORT = {"Strict-Transport-Security": "max-age=31536000"}
"""For a year, browsers use https only for this host. Its subdomains may be somebody else's, and aren't included."""

SOURCE = Path(__file__).with_name("page.html")


def page(
    counter: str,
    region: str,
    layouts: Sequence[Layout],
    item: Item | None,
    *,
    open_counters: bool,
    https: bool = False,
) -> Response:
    """Return the page of a counter. It says if this region doesn't have the counter, or has left the layout.

    Args:
        counter: the counter to mint from.
        region: this region.
        layouts: those that this region knows, the oldest first.
        item: the counter's item in this region, if there is one.
        open_counters: whether callers may create and list counters.
        https: whether the request came over https. Only then may the browser be told to use nothing else (RFC 6797,
            section 7.2).
    """
    html, policy = _source()
    can_mint = item is not None and item.issued < item.ceiling
    data = {
        "counter": counter,
        "region": region,
        "layouts": [layout._asdict() for layout in layouts],
        "exists": item is not None,
        "instead": [] if can_mint else regions_instead(item),
        "open": open_counters,
    }
    return {
        "statusCode": 200,
        "headers": {
            "Content-Type": "text/html; charset=utf-8",
            "Cache-Control": "no-store",
            "Vary": "Accept",
            "Content-Security-Policy": policy,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            **(STRICT_TRANSPORT if https else {}),
        },
        # Only "<" can begin the end of a script (HTML, "Restrictions for contents of script elements").
        "body": html.replace("%DATA%", json.dumps(data).replace("<", "\\u003c")),
    }


@cache
def _source() -> tuple[str, str]:
    """Return the file and its Content-Security-Policy, which allows the file's own scripts and styles only."""
    html = SOURCE.read_text(encoding="utf-8")
    allowed = {
        "default-src": "'none'",
        "script-src": _hashes("script", html),
        "style-src": _hashes("style", html),
        "img-src": "data:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return html, "; ".join(f"{directive} {sources}" for directive, sources in allowed.items())


def _hashes(element: str, html: str) -> str:
    parts = re.findall(f"<{element}>(.*?)</{element}>", html, re.DOTALL)
    return " ".join(f"'sha256-{b64encode(sha256(part.encode()).digest()).decode()}'" for part in parts)
