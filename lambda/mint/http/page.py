"""The page that a browser gets: one file, which asks for nothing but integers. Getting it mints nothing."""

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

from integers.layouts import Layout

from .reply import Response

SOURCE = Path(__file__).with_name("page.html")


def page(counter: str, region: str, layouts: Sequence[Layout], *, open_counters: bool) -> Response:
    """`layouts`: as far as this region has been told, the oldest first."""
    html, policy = _source()
    data = {
        "counter": counter,
        "region": region,
        "layouts": [layout._asdict() for layout in layouts],
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
        },
        # In a script, only "<" could begin its end (HTML, "Restrictions for contents of script elements").
        "body": html.replace("%DATA%", json.dumps(data).replace("<", "\\u003c")),
    }


@cache
def _source() -> tuple[str, str]:
    """The file, and a policy under which nothing runs, and nothing looks, but what is in it (CSP level 3)."""
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
