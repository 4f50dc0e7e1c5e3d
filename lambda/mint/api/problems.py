"""What a caller is told of a counter that isn't minted: errors as problems of HTTP, its health and its status.

Imported with the first error, or the first of these requests.
"""

import logging
import os
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from aws_client.connection import NoResponse
from aws_client.service import ServiceError

from global_integers_core.lattice import MAX_INTEGER, first_bases
from global_integers_core.names import no_counter

from ..minting import max_block
from ..model import (
    BlockTooLarge,
    CeilingReached,
    CounterItem,
    LayoutUnknown,
    NoItem,
    Reason,
    RequestError,
    RequestRefused,
    TableEmpty,
    TableUnavailable,
    Unusable,
    WentBackwards,
)
from ..table import CounterTable
from .reply import RETRY_AFTER, RETRY_LATER, Response, json_response, problem_response, regions_instead
from .request import CounterRequest, MintRequest, OwnerOf, Problem, Received, Request

VERSION = __file__.rsplit("/", 3)[0] + "/version.txt"
"""A file of the function's archive, so it belongs to the code that runs (components/function.py)."""

REFUSED: dict[Reason, tuple[HTTPStatus, Mapping[str, str] | None]] = {
    "forbidden": (HTTPStatus.FORBIDDEN, None),
    "wrong name": (HTTPStatus.BAD_REQUEST, None),
    "no owner": (HTTPStatus.NOT_FOUND, None),
    "other request": (HTTPStatus.UNPROCESSABLE_ENTITY, None),
    "failed": (HTTPStatus.SERVICE_UNAVAILABLE, None),
    "retry": (HTTPStatus.SERVICE_UNAVAILABLE, RETRY_AFTER),
    "retry later": (HTTPStatus.SERVICE_UNAVAILABLE, RETRY_LATER),
}
"""The status of each reason, and its header."""

log = logging.getLogger("mint.handler")  # whoever searches the log finds the same name wherever an error is told


def error_response(error: Exception, request: Request | None, sent: Received, request_id: str) -> Response:
    """Return an error as a page for a browser that reads, otherwise as a problem document.

    `request` is None if what was `sent` can't be understood.
    """
    try:
        problem = error if isinstance(error, Problem) else _problem_of(error, request)
    except Exception:
        log.exception("unexpected error in request %s", request_id)
        problem = Problem(HTTPStatus.INTERNAL_SERVER_ERROR, f"unexpected error; the log has request {request_id}")
    # The coordinator must know whose answer it is: an alias may lead to another build for a while.
    if _asks_for_health(request):
        problem.members["build"] = os.environ.get("BUILD")
    region = os.environ.get("AWS_REGION", "unknown")
    if not sent.html:
        return problem_response(problem, region)
    from .pages import problem_page

    return problem_page(problem, region, sent.root)


def _asks_for_health(request: Request | None) -> bool:
    return isinstance(request, CounterRequest) and request.kind == "health"


def _problem_of(error: Exception, request: Request | None) -> Problem:
    """Return the problem of a request that failed, and log what an operator should know. Another error is raised."""
    counter: str = getattr(request, "counter", "")
    count = request.count if isinstance(request, MintRequest) else None
    match error:
        case NoItem():
            empty = isinstance(error, TableEmpty)
            return missing(counter, in_health_check=_asks_for_health(request), empty=empty)
        case BlockTooLarge(most=most):
            return _too_large(most)
        case CeilingReached(item=item, asked=asked):
            return ceiling_reached(counter, count, item, asked=asked)
        case LayoutUnknown(item=item) if item is not None and isinstance(request, OwnerOf):
            return _beyond_knowledge(counter, request.integer, item)
        case LayoutUnknown():
            detail = "a change of layout, or the record of one, is just reaching this region; try again"
            return _unavailable(detail, RETRY_AFTER)
        case RequestRefused(reason=reason):
            status, headers = REFUSED[reason]
            return Problem(status, str(error), headers)
        case Unusable():
            # The coordinator hasn't written the item, so only an operator can repair it.
            log.error("the counter's item can't be used: %s", error)
            return _unavailable("the counter's item in this region can't be used; the function's log shows it")
        case WentBackwards():  # it is logged once, by the function that has seen it
            begun = "it mints again when the home region has begun a new epoch; try again later"
            return _unavailable(f"this region's table was restored; {begun}", RETRY_LATER)
        case ServiceError() if error.unaccepted:
            # A role that has just been created is accepted after some seconds. An error that stays needs the operator.
            log.error("AWS doesn't accept this function's role or signature: %s", error)
            detail = "the table doesn't accept this function yet; try again, and if that doesn't help, the log says why"
            return _unavailable(detail, RETRY_LATER)
        case ServiceError() if not error.transient and error.meaning != "gone":
            raise error
        case TableUnavailable() | NoResponse() | ServiceError():
            log.warning("table unavailable: %s", error)
            return _unavailable("the table is unavailable; try again", RETRY_AFTER)
        case _:
            raise error


def _unavailable(
    detail: str, headers: Mapping[str, str] | None = None, members: Mapping[str, int] | None = None
) -> Problem:
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, detail, headers, members)


def missing(counter: str, *, in_health_check: bool = False, empty: bool = False) -> Problem:
    """Return the problem of a counter that has no item: 410 in a region that leaves, otherwise 404.

    A health check gets 503: the region can't mint. So does every request while the table is `empty`.
    """
    if regions := regions_instead(None):
        return _gone(counter, regions)
    if empty and not in_health_check:
        return _unavailable("this region's table is new, and its counters are about to be put there", RETRY_AFTER)
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE if in_health_check else HTTPStatus.NOT_FOUND, no_counter(counter))


def ceiling_reached(counter: str, count: int | None, item: CounterItem, *, asked: bool = False) -> Problem:
    """Return the problem of a counter that has too few integers left: 410 in a region that leaves, otherwise 503.

    If a smaller block than `count` could be minted, the member `available` is the size of the largest one. `asked` says
    whether the home region has been asked for more.
    """
    if regions := regions_instead(item):
        return _gone(counter, regions)
    available = (item.ceiling - item.issued) // item.stride
    fewer = {"available": available} if available > 0 else {}
    if item.fenced:
        return _unavailable("a change of layout is finishing; try again", RETRY_AFTER, fewer)
    left = f"has fewer than {count} integers left" if count and count > 1 else "has no integer left"
    if item.issued + (count or 1) * item.stride <= MAX_INTEGER:
        if asked:
            detail = f"counter {counter!r} {left} in this region, which has asked the home region for more; try again"
            return _unavailable(detail, RETRY_AFTER, fewer)
        until = "until the home region grants it more; try again later"
        return _unavailable(f"counter {counter!r} {left} in this region {until}", RETRY_LATER, fewer)
    left = left if count and count > 1 else "is used up"
    return _unavailable(f"counter {counter!r} {left} in this region", members=fewer)


def _too_large(most: int) -> Problem:
    """Return the problem of a block that is never minted here. It has the size of the largest one."""
    detail = f"a request mints up to {most} integers here; ask for fewer at once"
    return Problem(HTTPStatus.UNPROCESSABLE_ENTITY, detail, members={"available": most, "maxBlock": most})


def _beyond_knowledge(counter: str, integer: int, item: CounterItem) -> Problem:
    """Return the problem of an integer whose owner this region can't know: 410 if it leaves, otherwise 503.

    If no layout is being changed, the member `granted` is the last integer that this region may mint.
    """
    if regions := regions_instead(item):
        return _gone(counter, regions)
    if item.fenced:
        return _unavailable("a change of layout is under way; try again", RETRY_AFTER)
    return _unavailable(
        f"no region is known to mint {integer} yet: the home region grants integers step by step, and this region "
        f"has been granted those up to {item.ceiling}",
        RETRY_LATER,
        {"granted": item.ceiling},
    )


def _gone(counter: str, regions: list[str]) -> Problem:
    detail = f"this region has left, and no longer mints {counter!r}; use one of the other regions"
    return Problem(HTTPStatus.GONE, detail, members={"regions": regions})


def status(table: CounterTable, region: str, counter: str, *, html: bool) -> Response:
    """Return the counter's state in this region, as a page or as a JSON document.

    `ok` says whether the next mint would succeed, and `reason` why it wouldn't. `position` is the last integer that
    this region has minted; before the first one of an epoch, it is one stride below that, and below `base`. `left` are
    the integers that it can mint without the home region. `bases` are the regions of all layouts on record, and below
    which integer each has minted nothing. What isn't known is null.
    """
    layouts = table.recorded(counter).layouts
    item, problem = None, None
    try:
        item = _mintable(table, counter)
    except RequestError as error:
        problem = _problem_of(error, CounterRequest("status", counter))
        item = error.item if isinstance(error, CeilingReached) else None
        if isinstance(error, WentBackwards):
            item = table.find(counter)
    newest = layouts[-1] if layouts else None
    base = next((layout.base for layout in layouts if item and layout.epoch == item.epoch), None)
    document: dict[str, Any] = {
        "region": region,
        "counter": counter,
        "ok": problem is None,
        **({"reason": problem.detail} if problem else {}),
        "epoch": item.epoch if item else None,
        "base": base,
        "position": item.issued if item else None,
        "ceiling": item.ceiling if item else None,
        "left": (item.ceiling - item.issued) // item.stride if item else None,
        "stride": item.stride if item else None,
        "fenced": item.fenced if item else None,
        "maxBlock": max_block(),
        "pending": newest is not None and region in newest.regions and (item is None or item.epoch < newest.epoch),
        "regions": list(newest.regions) if newest else [],
        "bases": first_bases(layouts),
        "version": _version(),
        "build": os.environ.get("BUILD"),
    }
    if html:
        from .pages import status_page

        return status_page(document)
    return json_response(document, headers={"Vary": "Accept"})


def _version() -> str | None:
    try:
        with open(VERSION, encoding="utf-8") as file:  # noqa: PTH123 (pathlib would take 4 ms to import)
            return file.read().strip()
    except FileNotFoundError:
        return None


def health(table: CounterTable, region: str, counter: str) -> Response:
    """Return 200 if the next mint of the counter would succeed, or raise why it wouldn't. It takes one read."""
    _mintable(table, counter)
    return json_response({"status": "ok", "region": region, "build": os.environ.get("BUILD")})


def _mintable(table: CounterTable, counter: str) -> CounterItem:
    """Return the item from which the next integer can be minted. RequestError: why none can be."""
    item = table.item(counter)
    if item.issued >= item.ceiling:
        raise CeilingReached(item)
    return item
