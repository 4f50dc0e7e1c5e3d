"""The integers that a request asks for, from the table, a lease or a receipt; or why it gets none."""

from http import HTTPStatus

from . import warm
from .answer import Problem
from .patience import patiently
from .request import Mint
from .table import Block, CeilingReached, UnknownCounter

SOON = {"Retry-After": "1"}


def mint(request: Mint) -> tuple[Block, bool]:
    """The integers, and whether an earlier request with the same key minted them.

    Raises:
        Problem: 404, 422, 503. Unavailable.
    """
    if request.key is None:
        return _fresh(request), False
    from .receipts import OtherRequest

    try:
        return warm.receipts().once(request.key, request.counter, request.count, lambda: _fresh(request))
    except OtherRequest:
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY, "this Idempotency-Key was used for another counter or count; use a new one"
        ) from None


def _fresh(request: Mint) -> Block:
    """A block that was asked for comes from the table, a single integer by way of the leases; never from both."""
    counter, count = request.counter, request.count
    try:
        if count is None:
            return patiently(lambda: warm.leases().mint(counter))
        table = warm.table()
        return patiently(lambda: table.mint(counter) if count == 1 else table.mint_block(counter, count))
    except UnknownCounter:
        raise Problem(HTTPStatus.NOT_FOUND, f"there is no counter {counter!r} in this region") from None
    except CeilingReached as reached:
        if reached.fenced:
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, "a change of layout is finishing; try again", SOON) from None
        left = f"has fewer than {count} integers left" if count and count > 1 else "is used up"
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, f"counter {counter!r} {left} in this region") from None
