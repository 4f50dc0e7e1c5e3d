"""Checks that a minting function works: a new version before any caller reaches it, and what callers reach afterwards.

The coordinator asks the function for its health, one integer of `CHECK_COUNTER` and the version of its code, and
compares the answers with the item in the region's table, before and after. Where there is none yet, the function only
has to answer so: the region gets its items later, when all functions exist. One that answers wrongly is asked again:
the layout may just have changed.
"""

import time
from dataclasses import dataclass

from global_integers_core.names import CHECK_COUNTER, no_counter

from .events import Check
from .functions import Ask, MintResponse
from .protocol.model import Absent, Item
from .protocol.operations import CarryOut, ReadItem

ATTEMPTS = 3
"""How often a region is asked before its answer counts as wrong."""

PAUSE = 2.0
"""Seconds between two attempts. A function that leases integers has forgotten that it is busy by then."""

PATIENCE = 60.0
"""Seconds for which errors that end by themselves are retried. AWS needs some seconds to accept a new role."""


@dataclass(frozen=True, slots=True)
class Problem:
    """What was wrong."""

    text: str
    log: str
    """The end of the function's log."""


Found = Item | Absent | None
"""A counter's item in the region, as the coordinator sees it."""


def problem_of(
    asked: Check, carry_out: CarryOut, ask: Ask, *, moved: bool = False, only_health: bool = False
) -> Problem | None:
    """Return what is wrong with a region's function, or None if it works.

    `moved`: it is asked as callers ask, by an alias that was moved. For some seconds, AWS may still lead to the version
    before, or to none: what doesn't say that it is of the new build proves nothing about it.
    """
    wrongs, ends = 0, time.monotonic() + PATIENCE
    while True:
        wrong, build = _health(asked, carry_out, ask, moved=moved), ""
        if wrong is None and not only_health:
            wrong, build = _minting(asked, carry_out, ask), asked.build
        if wrong is None:
            return None
        request, answer = wrong
        passing = answer.passing or (moved and answer.document.get("build", build) != asked.build)
        wrongs += not passing
        if wrongs >= ATTEMPTS or (passing and time.monotonic() >= ends):
            return Problem(f"{request}, but got {answer.text}", answer.log)
        time.sleep(PAUSE)


Wrong = tuple[str, MintResponse]
"""The request and the answer that was expected, with the wrong answer."""


def _health(asked: Check, carry_out: CarryOut, ask: Ask, *, moved: bool) -> Wrong | None:
    found: Found = carry_out(ReadItem(asked.region, asked.counter))
    answer = ask("GET", "/-/health")
    if answer.status != 200 and not _refuses(answer, asked.counter, found):
        return f"GET /-/health: expected {_expected(asked.counter, found, '200')}", answer
    if moved and answer.document.get("build") != asked.build:
        return f"GET /-/health: expected build {asked.build}", answer
    return None


def _minting(asked: Check, carry_out: CarryOut, ask: Ask) -> Wrong | None:
    read = ReadItem(asked.region, CHECK_COUNTER)
    before: Found = carry_out(read)
    answer = ask("POST", f"/{CHECK_COUNTER}")
    minted = answer.status == 200 and _has_minted(answer.document.get("integer"), before, carry_out(read))
    if not minted and not _refuses(answer, CHECK_COUNTER, before):
        one = f"200 and an integer of {asked.region}"
        return f"POST /{CHECK_COUNTER}: expected {_expected(CHECK_COUNTER, before, one)}", answer
    answer = ask("GET", "/-/status")
    runs = answer.document.get("version"), answer.document.get("build")
    if answer.status != 200 or runs != (asked.code, asked.build):  # `up --target` may leave the function out
        return f"GET /-/status: expected version {asked.code} and build {asked.build}", answer
    return None


def _has_minted(integer: object, before: Found, after: Found) -> bool:
    """Return whether this integer was just minted: the item has it now, and hadn't before.

    An item that can't be read proves nothing, and then any integer will do.
    """
    if not isinstance(integer, int) or isinstance(integer, bool) or before is None:
        return False
    if isinstance(before, Absent) or not isinstance(after, Item):
        return True
    new = before.epoch == after.epoch and before.issued < integer <= after.issued
    return new and (after.issued - integer) % after.stride == 0


def _refuses(answer: MintResponse, counter: str, found: Found) -> bool:
    """Return whether the function answers that it has nothing to mint, and is right as far as the item shows it."""
    if isinstance(found, Item):
        return answer.status == 503 and found.issued >= found.ceiling
    return answer.status in (404, 503) and answer.document.get("detail") == no_counter(counter)


def _expected(counter: str, found: Found, otherwise: str) -> str:
    if found is None:
        return f"to hear that {no_counter(counter)}"
    if isinstance(found, Item) and found.issued >= found.ceiling:
        return "503, since no integer is left"
    return otherwise
