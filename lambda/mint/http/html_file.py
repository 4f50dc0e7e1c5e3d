"""Responses made from HTML files. Browsers may load nothing that isn't in the response."""

import re
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from http import HTTPStatus
from pathlib import Path

from .reply import Response

HERE = Path(__file__).parent
HEAD = "head.html"
"""What all pages begin with: their title and the styles that they share."""

STRICT_TRANSPORT = {"Strict-Transport-Security": "max-age=31536000"}
"""For a year, browsers use https only for this host. Its subdomains may be somebody else's, and aren't included."""


def html_response(
    name: str,
    parts: Mapping[str, str],
    *,
    https: bool,
    status: HTTPStatus = HTTPStatus.OK,
    headers: Mapping[str, str] | None = None,
    **allowed: str,
) -> Response:
    """Return the file `name` of this folder, after `HEAD`.

    Args:
        name: the file.
        parts: the HTML that takes the place of `%NAME%` in the files, by name. No such place is inside a style or a
            script that runs.
        https: whether the request came over https. Only then may the browser be told to use nothing else (RFC 6797,
            section 7.2).
        status: the response's status.
        headers: further headers.
        allowed: further directives of the Content-Security-Policy, with `_` for `-`.
    """
    html, own = _source(name)
    policy = own | {directive.replace("_", "-"): sources for directive, sources in allowed.items()}
    return {
        "statusCode": status.value,
        "headers": {
            "Content-Type": "text/html; charset=utf-8",
            "Cache-Control": "no-store",
            "Vary": "Accept",
            "Content-Security-Policy": "; ".join(f"{directive} {sources}" for directive, sources in policy.items()),
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            **(STRICT_TRANSPORT if https else {}),
            **(headers or {}),
        },
        "body": re.sub("%([A-Z]+)%", lambda place: parts[place[1]], html),
    }


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
