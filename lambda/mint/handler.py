"""The entry: a Function URL's event in, an answer out. Never raises."""

import logging
import os
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from typing import Any

from .answer import Answer, Problem, minted, problem
from .patience import patiently
from .route import counter_of
from .table import CeilingReached, CounterTable, Unavailable, UnknownCounter

log = logging.getLogger(__name__)

SOON = {"Retry-After": "1"}


def handler(event: Mapping[str, Any], context: Any) -> Answer:
    """Answer one request (payload format 2.0). Mints at most one integer, and none for what it refuses."""
    try:
        return _respond(event)
    except Problem as refusal:
        return problem(refusal)
    except Exception:
        request_id = getattr(context, "aws_request_id", "unknown")
        log.exception("unexpected error in request %s", request_id)
        return problem(Problem(HTTPStatus.INTERNAL_SERVER_ERROR, f"unexpected error; the log has request {request_id}"))


def _respond(event: Mapping[str, Any]) -> Answer:
    http = event["requestContext"]["http"]
    counter = counter_of(http["method"], event["rawPath"], os.environ["DEFAULT_COUNTER"])
    try:
        return minted(counter, os.environ["AWS_REGION"], patiently(lambda: _table().mint(counter)))
    except UnknownCounter:
        raise Problem(HTTPStatus.NOT_FOUND, f"there is no counter {counter!r} in this region") from None
    except CeilingReached as reached:
        if reached.fenced:
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, "a change of layout is finishing; try again", SOON) from None
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, f"counter {counter!r} is used up in this region") from None
    except Unavailable as unavailable:
        log.warning("counter table unavailable: %s", unavailable)
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, "the counter table is unavailable; try again", SOON) from None


@cache
def _table() -> CounterTable:
    return CounterTable(os.environ["COUNTERS_TABLE"])
