"""The entry point: take an event of a Function URL or API Gateway, return a response. It never raises an error."""

import os
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from aws_client.service import set_deadline

from global_integers_core.names import CHECK_COUNTER

from . import minting
from .api.reply import Response, finished, json_response, minted_response
from .api.request import (
    NOTHING,
    CounterRequest,
    ListCounters,
    MintRequest,
    OwnerOf,
    Received,
    Request,
    received,
    request_of,
)

if TYPE_CHECKING:
    from .permissions import Allowed


def handler(event: Any, context: Any) -> Response:
    """Return the response to an event of a Function URL or HTTP API (payload format 2.0), or of a REST API (1.0)."""
    sent, request = NOTHING, None
    try:
        set_deadline(context)
        sent = received(event)
        request, region = request_of(sent, os.environ["DEFAULT_COUNTER"]), os.environ["AWS_REGION"]
        callers = minting.callers()
        counter = None if isinstance(request, ListCounters) else request.counter
        allowed = None if callers is None or _is_free(request, sent) else callers.allowed(sent.signer, counter)
        if isinstance(request, MintRequest):
            caller = allowed.caller if allowed else ""
            block, replayed = minting.mint(request.counter, request.count, request.key, caller)
            response = minted_response(request, region, block, replayed=replayed)
        else:
            response = finished(_without_minting(request, sent, region, allowed), sent)
    except Exception as error:
        from .api.problems import error_response

        response = finished(error_response(error, request, sent, getattr(context, "aws_request_id", "unknown")), sent)
    return response


def _is_free(request: Request, sent: Received) -> bool:
    """Return whether nobody has to sign: for health checks, and for what the coordinator asks to check a region."""
    if isinstance(request, MintRequest):
        return request.counter == CHECK_COUNTER
    kind = request.kind if isinstance(request, CounterRequest) else None
    return kind == "health" or (kind == "status" and sent.direct)


def _without_minting(
    request: CounterRequest | OwnerOf | ListCounters, sent: Received, region: str, allowed: "Allowed | None"
) -> Response:
    """Return the response to a request that mints nothing. Its modules are imported only here."""
    table = minting.table()
    match request:
        case CounterRequest("health", counter):
            from .api.problems import health

            return health(table, region, counter)
        case CounterRequest("status", counter):
            from .api.problems import status

            return status(table, region, counter, html=sent.html)
        case CounterRequest("page", counter):
            from .api.pages import page

            layouts, item = table.recorded(counter).layouts, table.find(counter)
            is_open, domain = "OPEN_COUNTERS" in os.environ, os.environ.get("DOMAIN", "")
            return page(counter, region, layouts, item, open_counters=is_open, domain=domain)
        case OwnerOf(counter, integer):
            from .owner import owner_document

            document = owner_document(table, region, counter, integer)
            if sent.html:
                from .api.pages import owner_page

                return owner_page(document, region)
            return json_response(document, headers={"Vary": "Accept"})
        case CounterRequest(counter=counter):
            from .counters import create

            document, is_new = create(table, counter)
            return json_response(document, HTTPStatus.CREATED if is_new else HTTPStatus.OK)
        case ListCounters(limit, after):
            from .counters import list_counters

            return json_response(list_counters(table, limit, after, allowed.names if allowed else None))


if "COUNTERS_TABLE" in os.environ:  # in Lambda, not in a test that imports this module
    minting.prepare()
