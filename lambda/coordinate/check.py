"""Checks that a region's minting function works, right after it was updated.

The coordinator asks the function for its health, one integer of `CHECK_COUNTER` and the version of its code, and
compares the answers with the region's table. A region without any layout only has to answer that it has no such
counter: it gets its layouts later, when all functions exist. A region that answers wrongly is asked again: the layout
may just have changed.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from aws_client.connection import NoResponse
from aws_client.invocation import InvocationFailed, invoke
from aws_client.service import ServiceError

from global_integers_core.lattice import Layout, owner_of
from global_integers_core.names import CHECK_COUNTER, no_counter

from .events import Check
from .protocol.history import past_of
from .protocol.model import Absent, Item, Register
from .protocol.operations import CarryOut, DescribeLayouts, Operation, ReadItem, ReadRegister
from .protocol.refusals import unhealthy

TIMEOUT = 35
"""Seconds for each attempt. A minting function runs for at most 30."""

MOST = 300
"""Characters of a response that are shown."""


@dataclass(frozen=True, slots=True)
class MintResponse:
    """What came back, without a `status` if it is no HTTP response, without a `document` if it is no JSON object."""

    text: str
    """For people."""
    status: int = 0
    document: Mapping[str, Any] = field(default_factory=dict[str, Any])
    passing: bool = False
    """Whether it is an error that ends by itself, so that asking again may help."""


def ask(function: str, method: str, path: str) -> MintResponse:
    """Return the answer of the minting function with this ARN."""
    try:
        return answer_of(invoke(function, _event(method, path), TIMEOUT))
    except InvocationFailed as failed:
        return MintResponse(": ".join(filter(None, ["an error of the function", failed.kind, str(failed)]))[:MOST])
    except (NoResponse, ServiceError) as error:  # AWS may not know the coordinator's new policy yet
        return MintResponse(str(error)[:MOST], passing=error.transient or error.unaccepted)


def answer_of(response: Mapping[str, Any]) -> MintResponse:
    """Read a response (payload format 2.0). It may be anything, since a bad build wrote it."""
    status, body = response.get("statusCode"), response.get("body")
    if not isinstance(status, int):
        return MintResponse(f"no HTTP response: {json.dumps(response)}"[:MOST])
    headers: Any = response.get("headers")
    names = [str(name).lower() for name in cast("Mapping[Any, Any]", headers)] if isinstance(headers, dict) else []
    passing = status == 429 or (status == 503 and "retry-after" in names)
    return MintResponse(f"{status} {body}"[:MOST], status, _object(body), passing)


def _object(body: object) -> Mapping[str, Any]:
    try:
        found: Any = json.loads(body) if isinstance(body, str) else None
    except ValueError:
        return {}
    return cast("Mapping[str, Any]", found) if isinstance(found, dict) else {}


def _event(method: str, path: str) -> dict[str, Any]:
    """Return an event without a domain name: by this the function knows that no caller sent it."""
    return {"version": "2.0", "rawPath": path, "requestContext": {"http": {"method": method}}}


ATTEMPTS = 3
"""How often a region is asked before its answer counts as wrong."""

PAUSE = 2.0
"""Seconds between two attempts. A function that leases integers has forgotten that it is busy by then."""

PATIENCE = 60.0
"""Seconds for which errors that end by themselves are retried. AWS needs some seconds to accept a new role."""

Ask = Callable[[str, str], MintResponse]
"""Asks the region's minting function: method, path."""


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


def check(
    asked: Check,
    carry_out: CarryOut,
    ask: Ask,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, str]:
    """Check a region, and return its name as `checked`. One that doesn't work is `Refused`."""
    attempt, began = 1, clock()
    while True:
        wrong = _ask_all(asked, carry_out, ask)
        if wrong is None:
            return {"checked": asked.region}
        request, answer = wrong
        if attempt >= ATTEMPTS and not (answer.passing and clock() - began < PATIENCE):
            raise unhealthy(asked.region, f"{request}, but got {answer.text}")
        sleep(PAUSE)
        attempt += 1


def _ask_all(asked: Check, carry_out: CarryOut, ask: Ask) -> tuple[str, MintResponse] | None:
    """Return the request and the expected answer, with the wrong answer; None if all answers are right."""
    region = asked.region
    standing = _standing(asked.counter, region, carry_out)
    answer = ask("GET", "/-/health")
    if answer.status != 200 and not standing.refuses(answer):
        return f"GET /-/health: expected {_expected(standing)}", answer
    standing = _standing(CHECK_COUNTER, region, carry_out)
    answer = ask("POST", f"/{CHECK_COUNTER}")
    minted = answer.status == 200 and standing.owns(answer.document.get("integer"))
    if not minted and not standing.refuses(answer):
        return f"POST /{CHECK_COUNTER}: expected {_expected(standing)}", answer
    answer = ask("GET", "/-/status")
    if answer.status != 200 or answer.document.get("version") != asked.version:  # `up --target` may leave it out
        return f"GET /-/status: expected version {asked.version}", answer
    return None


def _standing(counter: str, region: str, carry_out: CarryOut) -> Standing:
    register: Register | Absent | None = carry_out(ReadRegister(counter))
    if not isinstance(register, Register) or register.layouts_id != carry_out(DescribeLayouts()):
        register = None
    item = carry_out(ReadItem(region, counter))
    return Standing(counter, region, register, item, _past(register, carry_out) if register else ())


def _past(register: Register, carry_out: CarryOut) -> tuple[Layout, ...]:
    steps = past_of(register)
    try:
        batch = next(steps)
        while True:
            batch = steps.send([carry_out(operation) for operation in cast("Sequence[Operation]", batch)])
    except StopIteration as stop:
        return stop.value


def _expected(standing: Standing) -> str:
    if standing.lacks():
        return f"to hear that {no_counter(standing.counter)}"
    if isinstance(standing.item, Item) and standing.item.issued >= standing.item.ceiling:
        return "503, since no integer is left"
    return f"200 and an integer of {standing.region}" if standing.counter == CHECK_COUNTER else "200"
