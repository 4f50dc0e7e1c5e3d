"""Say why a counter can't be minted here now, as problem documents."""

import os
from http import HTTPStatus

from integers.lattice import MAX_INTEGER
from integers.names import no_counter

from .api.reply import RETRY_AFTER, RETRY_LATER, Problem
from .table import CounterItem


def regions_instead(item: CounterItem | None) -> list[str]:
    """Return the regions to go to if this region leaves the layout and its item is fenced or missing, else none."""
    leaving = os.environ.get("LEAVING", "")
    return leaving.split(",") if leaving and (item is None or item.fenced) else []


def missing(counter: str, status: HTTPStatus = HTTPStatus.NOT_FOUND) -> Problem:
    """Return the problem of a counter that has no item: 410 in a region that leaves, otherwise `status`."""
    if regions := regions_instead(None):
        return _gone(counter, regions)
    return Problem(status, no_counter(counter))


def ceiling_reached(counter: str, count: int | None, item: CounterItem) -> Problem:
    """Return the problem of a counter that has too few integers left: 410 in a region that leaves, otherwise 503.

    If a smaller block could be minted, the member `available` is the size of the largest one.

    Args:
        counter: the counter.
        count: the size of the requested block, or None for a single integer.
        item: the counter's item.
    """
    if regions := regions_instead(item):
        return _gone(counter, regions)
    available = (item.ceiling - item.issued) // item.stride
    fewer = {"available": available} if available > 0 else {}
    if item.fenced:
        detail = "a change of layout is finishing; try again"
        return Problem(HTTPStatus.SERVICE_UNAVAILABLE, detail, RETRY_AFTER, fewer)
    left = f"has fewer than {count} integers left" if count and count > 1 else "has no integer left"
    if item.issued + (count or 1) * item.stride <= MAX_INTEGER:
        return Problem(
            HTTPStatus.SERVICE_UNAVAILABLE,
            f"counter {counter!r} {left} in this region until the home region grants it more; try again later",
            RETRY_LATER,
            fewer,
        )
    left = left if count and count > 1 else "is used up"
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, f"counter {counter!r} {left} in this region", members=fewer)


def beyond_knowledge(counter: str, integer: int, item: CounterItem) -> Problem:
    """Return the problem of an integer whose owner this region can't know: 410 if it leaves, otherwise 503.

    If no layout is being changed, the member `granted` is the last integer that this region may mint.
    """
    if regions := regions_instead(item):
        return _gone(counter, regions)
    if item.fenced:
        return Problem(HTTPStatus.SERVICE_UNAVAILABLE, "a change of layout is under way; try again", RETRY_AFTER)
    return Problem(
        HTTPStatus.SERVICE_UNAVAILABLE,
        f"no region is known to mint {integer} yet: the home region grants integers step by step, and this region "
        f"has been granted those up to {item.ceiling}",
        RETRY_LATER,
        {"granted": item.ceiling},
    )


def unusable() -> Problem:
    """Return the problem of an item that the coordinator hasn't written, which only an operator can repair."""
    return Problem(
        HTTPStatus.SERVICE_UNAVAILABLE, "the counter's item in this region can't be used; the function's log shows it"
    )


def restored() -> Problem:
    """Return the problem of a table that went backwards."""
    return Problem(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "this region's table was restored; it mints again when the home region has begun a new epoch; try again later",
        RETRY_LATER,
    )


def _gone(counter: str, regions: list[str]) -> Problem:
    detail = f"this region has left, and no longer mints {counter!r}; use one of the other regions"
    return Problem(HTTPStatus.GONE, detail, members={"regions": regions})
