"""A region in memory. It answers as a region of a stack does (docs/api.md), or fails as its test wants."""

import json
import threading
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from ..client.api import BLOCK, MAX_INTEGER, PROBLEM
from .clock import StoppedClock

if TYPE_CHECKING:
    import httpx

Fault = Literal["refused", "timeout", "response lost", "throttled", "forbidden", "error", "unavailable", "left"]

OF_AWS: Mapping[Fault, tuple[int, Mapping[str, str]]] = {
    "throttled": (429, {"Reason": "ReservedFunctionConcurrentInvocationLimitExceeded"}),
    "forbidden": (403, {"Message": "Forbidden"}),
}
"""The status and the document of the faults in which Lambda answers, and the function isn't run."""

OF_FUNCTION: Mapping[Fault, tuple[int, str, Mapping[str, str]]] = {
    "error": (500, "unexpected error; the log has request 7d4b1f6e", {}),
    "unavailable": (503, "the table is unavailable; try again", {"Retry-After": "1"}),
}
"""The status, the detail and the headers of the faults in which the function answers."""

KEY_SECONDS = 24 * 3600
"""How long a region keeps an Idempotency-Key: the default of the setting `idempotencyHours`."""

RESERVED = ("counter", "ping", "sping")
"""Names that no new counter may have (docs/api.md)."""


class Receipt(NamedTuple):
    """The block that was minted with a key, and until when it is kept."""

    block: range
    expires: float


class Region:
    """A region of a stack in memory.

    Attributes:
        name: such as eu-west-1.
        url: that of its requests. It leads nowhere: only the stack's own clients know the region.
        offset: its number in the layout, from 1 on: the first integer that it mints of every counter.
        fault: how it fails now, or None.
    """

    def __init__(self, name: str, offset: int, stack: "Counters") -> None:
        self.name = name
        self.url = f"https://{name}.integers.test/"  # RFC 6761: no such name ever exists
        self.offset = offset
        self.fault: Fault | None = None
        self._stack = stack
        stack.regions.append(self)
        self._issued: dict[str, int] = {}
        self._receipts: dict[tuple[str, str], Receipt] = {}

    def fail(self, fault: Fault = "refused") -> None:
        """Fail from now on.

        Args:
            fault: "refused": no connection; "timeout": no response, until the client's `attempt_timeout` has passed by
                the stack's clock; "response lost": it mints, but the connection breaks before the response (other
                requests are answered); "throttled": 429 from Lambda, as of a paused region; "forbidden": 403 from
                Lambda, as of a request that isn't signed; "error": 500; "unavailable": 503; "left": 410, but to a
                repeated key, as of a region that has left the layout. The others go on in the layout of before.

        Raises:
            ValueError: there is no such fault.
        """
        if fault not in get_args(Fault):
            raise ValueError(f"fault {fault!r} is none of {', '.join(map(repr, get_args(Fault)))}")
        self.fault = fault

    def recover(self) -> None:
        """No longer fail. Clients notice it once they ask again: let time pass with `Stack.tick`."""
        self.fault = None

    def __repr__(self) -> str:
        return f"<Region {self.name} offset={self.offset} fault={self.fault!r}>"

    def answer(self, request: "httpx.Request") -> "httpx.Response":
        """Return the response to a request, or raise httpx's error if there is none."""
        import httpx

        self._stack.clock.wait(self.offset / 100)  # so the regions are near in their order
        if self.fault == "refused":
            try:
                raise ConnectionRefusedError
            except ConnectionRefusedError as refused:
                raise httpx.ConnectError("refused", request=request) from refused
        if self.fault == "timeout":
            self._stack.clock.wait(request.extensions["timeout"].seconds)
            raise httpx.ReadTimeout("", request=request)
        if self.fault is not None and self.fault in OF_AWS:
            return self._response(*OF_AWS[self.fault])
        if self.fault is not None and self.fault in OF_FUNCTION:
            return self._problem(*OF_FUNCTION[self.fault])
        with self._stack.lock:
            response = self._answer(request)
        if self.fault == "response lost" and request.method == "POST":
            raise httpx.RemoteProtocolError("Server disconnected without sending a response.", request=request)
        return response

    def _answer(self, request: "httpx.Request") -> "httpx.Response":
        method, default = request.method, self._stack.counters[0]
        match request.url.path.lstrip("/").split("/"):
            case ["-", "health"] if self.fault == "left":
                return self._gone(default)
            case ["-", "health"]:
                return self._response(200, {"status": "ok", "region": self.name})
            case ["-", "status"]:
                return self._status(request.url.params.get("counter", default))
            case [counter, integer] if integer.isdigit():
                return self._owner(counter, int(integer))
            case [counter] if method == "PUT":
                return self._create(counter)
            case [counter] if method == "POST":
                count = int(request.url.params.get("count", "1"))
                return self._mint(counter or default, count, request.headers.get("idempotency-key"))
            case _:
                return self._problem(404, "there is no such path; it is /{counter} or /{counter}/{integer}")

    def _mint(self, counter: str, count: int, key: str | None) -> "httpx.Response":
        receipt = None if key is None else self._receipts.get((counter, key))
        replayed = receipt is not None and receipt.expires > self._stack.clock()
        if receipt is not None and replayed:
            block = receipt.block
            if len(block) != count:
                return self._problem(422, "this Idempotency-Key was used for another count; use a new one")
        elif counter not in self._stack.counters:
            return self._no_counter(counter)
        elif self.fault == "left":
            return self._gone(counter)
        else:
            stride = self._stack.stride
            first = self._last(counter) + stride
            block = range(first, first + count * stride, stride)
            self._issued[counter] = block[-1]
            if key is not None:
                self._receipts[counter, key] = Receipt(block, self._stack.clock() + KEY_SECONDS)
        document = {"counter": counter, "region": self.name, "first": block[0], "last": block[-1]}
        document |= {"stride": block.step, "count": count}
        headers = {"Content-Type": BLOCK, "Vary": "Accept"} | ({"Idempotency-Replayed": "true"} if replayed else {})
        return self._response(200, document, headers)

    def _owner(self, counter: str, integer: int) -> "httpx.Response":
        if counter not in self._stack.counters:
            return self._no_counter(counter)
        granted = self._stack.granted(self.offset)
        if self.fault == "left" and integer > self._last(counter):
            return self._gone(counter)
        if integer > granted:
            why = (
                f"no region is known to mint {integer} yet: the home region grants integers step by step, and this "
                f"region has been granted those up to {granted}"
            )
            return self._problem(503, why, {"Retry-After": "5"}, granted=granted)
        owner = self._stack.regions[(integer - 1) % self._stack.stride]
        document = {"integer": integer, "counter": counter, "offset": owner.offset, "stride": self._stack.stride}
        minted = integer <= self._last(counter) if owner is self else None
        document |= {"region": owner.name, "epoch": 1, "minted": minted}
        asked = {"ask": owner.name} if owner is not self and owner.fault != "left" else {}
        return self._response(200, document | asked, {"Vary": "Accept"})

    def _create(self, counter: str) -> "httpx.Response":
        stack = self._stack
        if stack.max_counters == 0:
            why = (
                "counters can't be created or listed here; an operator can add one to the setting counters and deploy, "
                "invoke the coordinator, or turn on openCounters"
            )
            return self._problem(403, why)
        if counter in RESERVED:
            why = f"{counter!r} can't be a new counter's name: API Gateway has another use for the path /{counter}"
            return self._problem(400, why)
        is_new = counter not in stack.counters
        if is_new and len(stack.counters) >= stack.max_counters:
            why = (
                f"{counter}: callers may create counters only while there are fewer than {stack.max_counters:,} (the "
                "setting maxCounters). An operator can delete some, create this one, or raise maxCounters."
            )
            return self._problem(403, why)
        if is_new:
            stack.counters.append(counter)
        places = {region.name: {"offset": region.offset, "stride": stack.stride} for region in stack.regions}
        document: dict[str, Any] = {"counter": counter, "epoch": 1, "base": 1, "limit": stack.limit}
        return self._response(201 if is_new else 200, document | {"regions": places, "pending": []})

    def _status(self, counter: str) -> "httpx.Response":
        stack, exists, left = self._stack, counter in self._stack.counters, self.fault == "left"
        reason = gone(counter) if left else "" if exists else no_counter(counter)
        document: dict[str, Any] = {"region": self.name, "counter": counter, "ok": not reason}
        document |= {"reason": reason} if reason else {}
        position = self._last(counter)
        item = {"epoch": 1, "position": position, "ceiling": position if left else stack.granted(self.offset)}
        item |= {"stride": stack.stride, "fenced": left}
        document |= item if exists else dict.fromkeys(item)
        document |= {"pending": False, "regions": stack.minting() if exists else []}
        return self._response(200, document, {"Vary": "Accept"})

    def _last(self, counter: str) -> int:
        """Return the last integer that was minted here, or what is one stride below the first one."""
        return self._issued.get(counter, self.offset - self._stack.stride)

    def _no_counter(self, counter: str) -> "httpx.Response":
        return self._gone(counter) if self.fault == "left" else self._problem(404, no_counter(counter))

    def _gone(self, counter: str) -> "httpx.Response":
        return self._problem(410, gone(counter), regions=self._stack.minting())

    def _problem(
        self, status: int, detail: str, headers: Mapping[str, str] | None = None, **members: object
    ) -> "httpx.Response":
        document = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
        document |= {"region": self.name, **members}
        return self._response(status, document, {"Content-Type": PROBLEM, **(headers or {})})

    def _response(
        self, status: int, document: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> "httpx.Response":
        import httpx

        made = {"Content-Type": "application/json", "Cache-Control": "no-store", **(headers or {})}
        return httpx.Response(status, headers=made, content=json.dumps(document).encode())


class Counters:
    """What the regions of a stack share: the layout, the counters' names, the clock, and a lock for all of it."""

    def __init__(self, stride: int, counters: Sequence[str], max_counters: int, clock: StoppedClock) -> None:
        self.regions: list[Region] = []
        """In the order of the layout."""
        self.stride = stride
        self.counters = list(counters)
        self.max_counters = max_counters
        """0: callers may create none."""
        self.clock = clock
        self.lock = threading.Lock()

    def minting(self) -> list[str]:
        """Return the regions that haven't left."""
        return [region.name for region in self.regions if region.fault != "left"]

    def granted(self, offset: int) -> int:
        """Return the last integer that a region may mint: with the default setting `window`, none gets there."""
        return min(offset + (WINDOW - 1) * self.stride, MAX_INTEGER)

    @property
    def limit(self) -> int:
        """What all that may be minted is at most."""
        return WINDOW * self.stride


WINDOW = 100_000_000
"""The default of the setting `window`: so many integers are granted to each region."""


def no_counter(counter: str) -> str:
    """Return what a region says of a counter that it doesn't have."""
    return f"there is no counter {counter!r} in this region"


def gone(counter: str) -> str:
    """Return what a region says of a counter once it has left."""
    return f"this region has left, and no longer mints {counter!r}; use one of the other regions"
