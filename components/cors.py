"""What pages of other origins may do: the same at a Function URL and at the address."""

from collections.abc import Sequence
from typing import Any

HEADERS = ("accept", "content-type", "idempotency-key")
SIGNED_HEADERS = ("authorization", "x-amz-content-sha256", "x-amz-date", "x-amz-security-token")
"""What a signature adds to a request (IAM guide, "Create a signed AWS API request")."""


def cors(origins: Sequence[str], *, open_counters: bool, signed: bool) -> dict[str, Any]:
    """Return what pages of these origins may do: all that the API offers, and read the whole response.

    A browser asks first whether it may send these headers. Those of a signature must be allowed, too.

    Returns:
        Arguments that Lambda's `FunctionUrlCors` and API Gateway's `ApiCorsConfiguration` both have.
    """
    return {
        "allow_origins": list(origins),
        "allow_methods": ["GET", "POST", "PUT"] if open_counters else ["GET", "POST"],
        "allow_headers": [*HEADERS, *(SIGNED_HEADERS if signed else ())],
        "expose_headers": ["idempotency-replayed", "retry-after"],
        "max_age": 3600,
    }
