"""The entry point: take an event of a Function URL or API Gateway, return a response. It never raises an error."""

import os
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from aws.connection import NoResponse
from aws.service import ServiceError, set_deadline

from integers.names import CHECK_COUNTER

from . import minting
from .api.reply import Problem, Response, finished, json_response, minted_response, problem_response
from .api.request import (
    CreateCounter,
    HealthRequest,
    ListCounters,
    MintRequest,
    OwnerOf,
    Page,
    Request,
    Status,
    as_function_url,
    invoked_directly,
    is_https,
    method_of,
    request_of,
    root_of,
    signer_of,
    wants_html,
)
from .errors import RequestError

if TYPE_CHECKING:
    from .permissions import Allowed


def handler(event: Mapping[str, Any], context: Any) -> Response:
    """Return the response to an event of a Function URL or HTTP API (payload format 2.0), or of a REST API (1.0)."""
    if "httpMethod" in event:  # only payload format 1.0 has it
        return {**_answer(as_function_url(event), context), "isBase64Encoded": False}
    return _answer(event, context)


def _answer(event: Mapping[str, Any], context: Any) -> Response:
    try:
        set_deadline(context)
        response = _respond(event)
    except Problem as problem:
        response = _problem(problem, event)
    except Exception:
        import logging  # rarely needed

        request_id = getattr(context, "aws_request_id", "unknown")
        logging.getLogger(__name__).exception("unexpected error in request %s", request_id)
        detail = f"unexpected error; the log has request {request_id}"
        response = _problem(Problem(HTTPStatus.INTERNAL_SERVER_ERROR, detail), event)
    return finished(response, method_of(event), https=is_https(event))


def _problem(problem: Problem, event: Mapping[str, Any]) -> Response:
    region = os.environ.get("AWS_REGION", "unknown")
    if not wants_html(event):
        return problem_response(problem, region)
    from .api.pages import problem_page

    return problem_page(problem, region, root_of(event))


def _respond(event: Mapping[str, Any]) -> Response:
    request = request_of(event, os.environ["DEFAULT_COUNTER"])
    region = os.environ["AWS_REGION"]
    try:
        callers = minting.callers()
        allowed = None if callers is None or _is_free(request, event) else callers.allowed(signer_of(event))
        if allowed and not isinstance(request, HealthRequest | ListCounters):
            allowed.check(request.counter)
        if isinstance(request, MintRequest):
            block, replayed = minting.mint(
                request.counter, request.count, request.key, allowed.caller if allowed else ""
            )
            return minted_response(request, region, block, replayed=replayed)
        return _without_minting(request, region, allowed, html=wants_html(event))
    except (RequestError, ServiceError, NoResponse) as error:
        from .api.problems import problem_of

        raise problem_of(error, request, os.environ["DEFAULT_COUNTER"]) from None


def _is_free(request: Request, event: Mapping[str, Any]) -> bool:
    """Return whether nobody has to sign: for health checks, and for what the coordinator asks to check a region."""
    if isinstance(request, MintRequest):
        return request.counter == CHECK_COUNTER
    return isinstance(request, HealthRequest) or (isinstance(request, Status) and invoked_directly(event))


def _without_minting(
    request: Page | HealthRequest | Status | OwnerOf | CreateCounter | ListCounters,
    region: str,
    allowed: "Allowed | None",
    *,
    html: bool,
) -> Response:
    """Return the response to a request that mints nothing. Its modules are imported only here."""
    table = minting.table()
    match request:
        case HealthRequest():
            from .api.problems import health

            return health(table, region, os.environ["DEFAULT_COUNTER"])
        case Status(counter):
            from .api.problems import status

            return status(table, region, counter, html=html)
        case Page(counter):
            from .api.pages import page

            layouts, item = table.layouts(counter), table.find(counter)
            return page(counter, region, layouts, item, open_counters="COORDINATOR" in os.environ)
        case OwnerOf(counter, integer):
            from .owner import owner_document

            document = owner_document(table, region, counter, integer)
            if html:
                from .api.pages import owner_page

                return owner_page(document, region)
            return json_response(document, headers={"Vary": "Accept"})
        case CreateCounter(counter):
            from .counters import create

            document, is_new = create(counter)
            return json_response(document, HTTPStatus.CREATED if is_new else HTTPStatus.OK)
        case ListCounters(limit, after):
            from .counters import list_counters

            return json_response(list_counters(table, limit, after, allowed.names if allowed else None))


if "COUNTERS_TABLE" in os.environ:  # in Lambda, not in a test that imports this module
    minting.prepare()
