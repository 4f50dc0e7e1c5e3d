"""The entry: a Function URL's event in, an answer out. Never raises."""

import os
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from . import deadline, warm
from .answer import Answer, Problem, minted, problem, told
from .minting import SOON, mint
from .request import Create, Health, Mint, Names, Page, Whose, request_of
from .table import Unavailable

if TYPE_CHECKING:
    from logging import Logger


def handler(event: Mapping[str, Any], context: Any) -> Answer:
    """Answer one request (payload format 2.0). It mints what is asked for at most once, and nothing if refused."""
    try:
        deadline.begin(context)
        return _respond(event)
    except Problem as refusal:
        return problem(refusal)
    except Exception:
        request_id = getattr(context, "aws_request_id", "unknown")
        _log().exception("unexpected error in request %s", request_id)
        return problem(Problem(HTTPStatus.INTERNAL_SERVER_ERROR, f"unexpected error; the log has request {request_id}"))


def _respond(event: Mapping[str, Any]) -> Answer:
    request = request_of(event, os.environ["DEFAULT_COUNTER"])
    region = os.environ["AWS_REGION"]
    try:
        if isinstance(request, Mint):
            block, replayed = mint(request)
            return minted(
                request.counter,
                region,
                block.integers(),
                block=request.count is not None,
                as_text=request.as_text,
                headers={"Idempotency-Replayed": "true"} if replayed else {},
            )
        return _told(request, region)
    except Unavailable as unavailable:
        _log().warning("table unavailable: %s", unavailable)
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, "the table is unavailable; try again", SOON) from None


def _told(request: Page | Health | Whose | Create | Names, region: str) -> Answer:
    """What mints nothing: its modules are imported when it is asked for."""
    table = warm.table()
    match request:
        case Health():
            table.answers(os.environ["DEFAULT_COUNTER"])
            return told({"status": "ok", "region": region})
        case Page(counter):
            from .page import page

            return page(counter, region, table.layouts(counter), open_counters="COORDINATOR" in os.environ)
        case Whose(counter, integer):
            from .whose import whose

            return told(whose(table, region, counter, integer))
        case Create(counter):
            from .counters import create

            return create(counter)
        case Names(limit, after):
            from .counters import listed

            return listed(table, limit, after)


def _log() -> "Logger":
    import logging

    return logging.getLogger(__name__)


if "COUNTERS_TABLE" in os.environ:  # in Lambda
    warm.prepare()
