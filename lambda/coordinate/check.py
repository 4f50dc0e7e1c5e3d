"""Checks that a minting function works: a new version before any caller reaches it, and what callers reach afterwards.

The coordinator asks the function for its health, one integer of `CHECK_COUNTER` and the version of its code, and
compares the answers with the region's table. A region without any layout only has to answer that it has no such
counter: it gets its layouts later, when all functions exist. A region that answers wrongly is asked again: the layout
may just have changed.
"""

import time
from dataclasses import dataclass

from global_integers_core.lattice import Layout, owner_of
from global_integers_core.names import CHECK_COUNTER, no_counter

from .events import Check
from .functions import Ask, MintResponse
from .protocol.history import past_of
from .protocol.model import Absent, Item, Register
from .protocol.operations import CarryOut, DescribeLayouts, ReadItem, ReadRegister, finished

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


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of a counter in a region, according to the tables."""

    counter: str
    region: str
    register: Register | None
    """None also if it was written in another layouts table, since it then proves nothing."""
    item: Item | Absent | None
    past: tuple[Layout, ...] = ()
    """The layouts before the register's, as far as they are known."""

    def lacks(self) -> bool:
        """Return whether the region may lack the counter: its table says so, or can't be read, and no register does."""
        if not isinstance(self.item, Absent):
            return self.item is None
        ids = dict(zip(self.register.regions, self.register.ids, strict=True)) if self.register else {}
        return ids.get(self.region) is None

    def refuses(self, answer: MintResponse) -> bool:
        """Return whether the region answers that it has nothing to mint, and is right."""
        if isinstance(self.item, Item):
            return answer.status == 503 and self.item.issued >= self.item.ceiling
        said = answer.document.get("detail") == no_counter(self.counter)
        return said and answer.status in (404, 503) and self.lacks()

    def owns(self, integer: object) -> bool:
        """Return whether the region may just have minted this: an integer of its own, larger than all before."""
        if not isinstance(integer, int) or isinstance(integer, bool) or self.lacks():
            return False
        item = self.item
        if isinstance(item, Item):
            new = item.issued < integer <= item.ceiling and (integer - item.issued) % item.stride == 0
            if not new or self.register is None:
                return new
        owner = owner_of(integer, (*self.past, self.register.layout)) if self.register else None
        if owner is None:  # the layout of this item is forgotten
            return isinstance(item, Item)
        return owner.region == self.region


def problem_of(
    asked: Check,
    carry_out: CarryOut,
    ask: Ask,
    *,
    only_health: bool = False,
) -> Problem | None:
    """Return what is wrong with a region's function, or None if it works."""
    attempt, began = 1, time.monotonic()
    while True:
        wrong = _health(asked, carry_out, ask) or (None if only_health else _minting(asked, carry_out, ask))
        if wrong is None:
            return None
        request, answer = wrong
        if attempt >= ATTEMPTS and not (answer.passing and time.monotonic() - began < PATIENCE):
            return Problem(f"{request}, but got {answer.text}", answer.log)
        time.sleep(PAUSE)
        attempt += 1


Wrong = tuple[str, MintResponse]
"""The request and the answer that was expected, with the wrong answer."""


def _health(asked: Check, carry_out: CarryOut, ask: Ask) -> Wrong | None:
    standing = _standing(asked.counter, asked.region, carry_out)
    answer = ask("GET", "/-/health")
    if answer.status != 200 and not standing.refuses(answer):
        return f"GET /-/health: expected {_expected(standing)}", answer
    return None


def _minting(asked: Check, carry_out: CarryOut, ask: Ask) -> Wrong | None:
    standing = _standing(CHECK_COUNTER, asked.region, carry_out)
    answer = ask("POST", f"/{CHECK_COUNTER}")
    minted = answer.status == 200 and standing.owns(answer.document.get("integer"))
    if not minted and not standing.refuses(answer):
        return f"POST /{CHECK_COUNTER}: expected {_expected(standing)}", answer
    answer = ask("GET", "/-/status")
    runs = answer.document.get("version"), answer.document.get("build")
    if answer.status != 200 or runs != (asked.code, asked.build):  # `up --target` may leave the function out
        return f"GET /-/status: expected version {asked.code} and build {asked.build}", answer
    return None


def _standing(counter: str, region: str, carry_out: CarryOut) -> Standing:
    register: Register | Absent | None = carry_out(ReadRegister(counter))
    if not isinstance(register, Register) or register.layouts_id != carry_out(DescribeLayouts()):
        register = None
    item = carry_out(ReadItem(region, counter))
    return Standing(counter, region, register, item, finished(past_of(register), carry_out) if register else ())


def _expected(standing: Standing) -> str:
    if standing.lacks():
        return f"to hear that {no_counter(standing.counter)}"
    if isinstance(standing.item, Item) and standing.item.issued >= standing.item.ceiling:
        return "503, since no integer is left"
    return f"200 and an integer of {standing.region}" if standing.counter == CHECK_COUNTER else "200"
