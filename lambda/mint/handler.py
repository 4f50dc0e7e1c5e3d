"""The entry: a Function URL's event in, an answer out. Never raises."""

import os
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from . import deadline
from .answer import Answer, Problem, healthy, minted, problem
from .dynamodb import DynamoDB
from .patience import patiently
from .request import Health, Mint, request_of
from .table import Block, CeilingReached, CounterTable, Unavailable, UnknownCounter

if TYPE_CHECKING:
    from logging import Logger

    from .receipts import Receipts

SOON = {"Retry-After": "1"}


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
        match request:
            case Health():
                _table().answers(os.environ["DEFAULT_COUNTER"])
                return healthy(region)
            case Mint():
                block, replayed = _minted(request)
                headers = {"Idempotency-Replayed": "true"} if replayed else {}
                return minted(
                    request.counter,
                    region,
                    block.integers(),
                    block=request.count is not None,
                    as_text=request.as_text,
                    headers=headers,
                )
    except Unavailable as unavailable:
        _log().warning("table unavailable: %s", unavailable)
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, "the table is unavailable; try again", SOON) from None


def _minted(request: Mint) -> tuple[Block, bool]:
    """The integers asked for, and whether an earlier request minted them."""
    if request.key is None:
        return _fresh(request), False
    from .receipts import OtherRequest

    try:
        return _receipts().once(request.key, request.counter, request.count, lambda: _fresh(request))
    except OtherRequest:
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY, "this Idempotency-Key was used for another counter or count; use a new one"
        ) from None


def _fresh(request: Mint) -> Block:
    counter, count = request.counter, request.count or 1
    table = _table()
    try:
        return patiently(lambda: table.mint(counter) if count == 1 else table.mint_block(counter, count))
    except UnknownCounter:
        raise Problem(HTTPStatus.NOT_FOUND, f"there is no counter {counter!r} in this region") from None
    except CeilingReached as reached:
        if reached.fenced:
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, "a change of layout is finishing; try again", SOON) from None
        left = "is used up" if count == 1 else f"has fewer than {count} integers left"
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, f"counter {counter!r} {left} in this region") from None


def _log() -> "Logger":
    import logging

    return logging.getLogger(__name__)


@cache
def _dynamodb() -> DynamoDB:
    return DynamoDB()


@cache
def _table() -> CounterTable:
    return CounterTable(os.environ["COUNTERS_TABLE"], _dynamodb())


@cache
def _receipts() -> "Receipts":
    from .receipts import Receipts

    return Receipts(os.environ["RECEIPTS_TABLE"], int(os.environ["IDEMPOTENCY_HOURS"]) * 3600, _dynamodb())


if "COUNTERS_TABLE" in os.environ:  # in Lambda, while it still lends a whole processor; no call is made
    _table()
