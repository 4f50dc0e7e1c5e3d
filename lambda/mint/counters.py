"""Counters that come while the system runs: created in every region by asking the coordinator, and listed."""

import logging
import os
from http import HTTPStatus

from .answer import Answer, Problem, told
from .invocation import InvocationFailed, NotAllowed, NotReached, invoke
from .table import CounterTable

log = logging.getLogger(__name__)

ENDED = ("Runtime.ExitError", "Runtime.OutOfMemory", "Sandbox.")
"""How Lambda's errorType begins where a function was ended, or ran out of time; otherwise it raised."""

TIMEOUT = 25
"""Seconds that the coordinator may take. It begins cold and asks every region some ten times."""


def create(counter: str) -> Answer:
    """201 when it is new, 200 when it was there. Asked again after a failure, it goes on where it stopped.

    Raises:
        Problem: 403, it is switched off; 503, the coordinator refused or has not answered.
    """
    try:
        done = invoke(_coordinator(), {"create": [counter]}, TIMEOUT, repeatable=True)
    except InvocationFailed as failed:
        log.error("the coordinator did not create %s: %s: %s", counter, failed.kind, failed)
        if not failed.kind or failed.kind.startswith(ENDED):
            raise _ask_again() from None
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, f"the coordinator refused: {failed}"[:280]) from None
    except NotAllowed as refused:
        log.error("the coordinator can't be asked: %s", refused)
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, "the coordinator can't be asked; the log says why") from None
    except NotReached as lost:
        log.warning("no answer from the coordinator: %s", lost)
        raise _ask_again() from None
    document = {"counter": counter, **done["counters"][counter]}
    if counter not in done["created"]:
        return told(document)
    return told(document, HTTPStatus.CREATED)


def _ask_again() -> Problem:
    told = "the coordinator has not answered; ask again, and it goes on where it stopped"
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, told, {"Retry-After": "1"})


def listed(table: CounterTable, limit: int, after: str | None) -> Answer:
    """One page of the counters that this region has, in no order; `next` is what to ask for `after`.

    Raises:
        Problem: 403, it is switched off. Unavailable.
    """
    _coordinator()
    counters, following = table.names(limit, after)
    return told({"counters": counters} | ({"next": following} if following else {}))


def _coordinator() -> str:
    """Its ARN, where `openCounters` is on."""
    coordinator = os.environ.get("COORDINATOR", "")
    if not coordinator:
        raise Problem(
            HTTPStatus.FORBIDDEN,
            "creating and listing counters is switched off here; an operator adds one to the setting counters "
            "and deploys, invokes the coordinator, or sets openCounters",
        )
    return coordinator
