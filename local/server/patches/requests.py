"""The path of a request to a function.

Function URLs and REST APIs hand it over as it was sent; an HTTP API decodes it. ministack decodes it everywhere.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from . import ministack, replaces

APP = ministack("app")


@replaces(APP, "_handle_special_data_plane_request", "await _handle_lambda_url_request(host, path, method, headers,")
async def as_it_was_sent(
    handle: Callable[..., Awaitable[Any]], method: str, path: str, headers: Any, *rest: Any, raw_path: str, **more: Any
) -> Any:
    """Hand over the path encoded. For an HTTP API, ministack decodes that itself."""
    host = headers.get("host", "")
    of_api = APP._parse_execute_api_url(host, path) or APP._resolve_custom_domain_request(host, path)
    sent = raw_path if of_api or APP._parse_lambda_url(host, path) else path
    return await handle(method, sent, headers, *rest, raw_path=raw_path, **more)
