"""Creates counters while the system runs, by asking the coordinator, and lists them."""

import logging
import os
from http import HTTPStatus

from aws.invocation import InvocationFailed, NotAllowed, NotReached, invoke

from .http.reply import RETRY_AFTER, Problem, Response, json_response
from .table import CounterTable

log = logging.getLogger(__name__)

ENDED = ("Runtime.ExitError", "Runtime.OutOfMemory", "Sandbox.")
"""How Lambda's errorType begins where a function was killed or timed out; any other means that it raised."""

TIMEOUT = 25
"""Seconds that the coordinator may take. It starts cold and calls every region about ten times."""


def create(counter: str) -> Response:
    """Create a counter in every region: 201 if it is new, 200 if it existed.

    A retry after a failure goes on where that one stopped.

    Raises:
        Problem: 403, it is switched off; 503, the coordinator refused or has not answered.
    """
    try:
        done = invoke(_coordinator(), {"create": [counter]}, TIMEOUT, idempotent=True)
    except InvocationFailed as failed:
        log.error("the coordinator did not create %s: %s: %s", counter, failed.kind, failed)
        if not failed.kind or failed.kind.startswith(ENDED):
            raise _no_answer() from None
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, f"the coordinator refused: {failed}"[:280]) from None
    except NotAllowed as refused:
        log.error("the coordinator can't be asked: %s", refused)
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, "the coordinator can't be asked; the log says why") from None
    except NotReached as lost:
        log.warning("no answer from the coordinator: %s", lost)
        raise _no_answer() from None
    document = {"counter": counter, **done["counters"][counter]}
    if counter not in done["created"]:
        return json_response(document)
    return json_response(document, HTTPStatus.CREATED)


def _no_answer() -> Problem:
    detail = "the coordinator has not answered; try again, and it goes on where it stopped"
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, detail, RETRY_AFTER)


def list_page(table: CounterTable, limit: int, after: str | None) -> Response:
    """Return one page of the counters that this region has, in no order; `next` is the next page's `after`.

    Raises:
        Problem: 403, it is switched off.
        Unavailable: the table did not answer.
    """
    _coordinator()
    counters, following = table.names(limit, after)
    return json_response({"counters": counters} | ({"next": following} if following else {}))


def _coordinator() -> str:
    """Return the coordinator's ARN, where `openCounters` is on."""
    coordinator = os.environ.get("COORDINATOR", "")
    if not coordinator:
        raise Problem(
            HTTPStatus.FORBIDDEN,
            "creating and listing counters is switched off here; an operator adds one to the setting counters "
            "and deploys, invokes the coordinator, or sets openCounters",
        )
    return coordinator
