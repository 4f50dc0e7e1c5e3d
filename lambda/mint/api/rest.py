"""Read a REST API's event (payload format 1.0) as one of a Function URL (2.0). Imported only for such an event.

API Gateway guide, "Lambda proxy integrations in API Gateway": `path` has no stage, and stays encoded as it was sent.
The parameters of the query are decoded. Each header and each parameter has a list of all its values.
"""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from .request import mapping_of


def as_function_url(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event of a REST API as a Function URL would have sent it, with the members that this function reads.

    Repeated headers are joined with commas, also if they are spelled in different cases. Repeated parameters stay
    repeated. The caller is the one whose signature API Gateway has checked (`requestContext.identity`).
    """
    context = mapping_of(event.get("requestContext"))
    identity = mapping_of(context.get("identity"))
    headers: dict[str, str] = {}
    for name, value in _pairs(event.get("multiValueHeaders")):
        lower = name.lower()
        headers[lower] = f"{headers[lower]},{value}" if lower in headers else value
    return {
        "rawPath": event.get("path"),
        "rawQueryString": _query_string(event.get("multiValueQueryStringParameters")),
        "headers": headers,
        "requestContext": {
            # The key shows that the event came through an API, even if the value is None.
            "domainName": context.get("domainName"),
            "http": {"method": event.get("httpMethod")},
            "authorizer": {"iam": {"userArn": identity.get("userArn")}},
        },
        "body": event.get("body"),
        "isBase64Encoded": event.get("isBase64Encoded"),
    }


def _query_string(parameters: Any) -> str:
    if not parameters:
        return ""
    from urllib.parse import urlencode  # 2 ms, and most requests have no query string

    return urlencode(list(_pairs(parameters)), errors="replace")


def _pairs(lists: Any) -> Iterator[tuple[str, str]]:
    """Yield each name with each of its values."""
    for name, values in mapping_of(lists).items():
        for value in cast("list[Any]", values) if isinstance(values, list) else [values]:
            yield str(name), str(value)
