"""A region in memory. It answers as a region of a stack does (docs/api.md), or fails as its test wants."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from itertools import islice
from operator import length_hint
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from ..minting.api import BLOCK, MAX_BLOCK, MAX_INTEGER, PROBLEM
from ..minting.forks import here, make_lock
from .clock import StoppedClock

if TYPE_CHECKING:
    import httpx

Fault = Literal[
    "refused", "timeout", "response lost", "throttled", "forbidden", "error", "unavailable", "left", "used up"
]

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

CLOSED = (
    "counters can't be created or listed here; an operator can add one to the setting counters and deploy, invoke the "
    "coordinator, or turn on openCounters"
)
"""What a region says if `openCounters` is off."""

KEY_SECONDS = 24 * 3600
"""How long a region keeps an Idempotency-Key: the default of the setting `idempotencyHours`."""

RESERVED = ("counter", "ping", "sping")
"""Names that no new counter may have (docs/api.md)."""

AWS_REGION = re.compile(
    r"(af|ap|ca|cn|eu|eusc|il|me|mx|sa|us)(-(de|gov|iso[a-z]?))?-(central|east|west|(north|south)(east|west)?)-[1-9]"
)
"""The form of the names of AWS's regions. Which there are, only a deployment knows."""


class Forked(Exception):
    """A stack in memory was used in a process that was forked from that of the stack."""


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
        self._windows: dict[tuple[str, int], Iterator[int]] = {}
        """Counter and epoch → the integers that may still be minted."""
        self._receipts: dict[tuple[str, str | None], dict[int, Receipt]] = {}
        """Counter and key → the receipts, the oldest first. At most the last one is valid."""

    def fail(self, fault: Fault = "refused") -> None:
        """Fail from now on.

        Args:
            fault: "refused": no connection; "timeout": no response, until the client's `attempt_timeout` has passed by
                the stack's clock; "response lost": it mints, but the connection breaks before the response (other
                requests, but those that create counters, are answered); "throttled": 429 from Lambda, as of a paused
                region; "forbidden": 403 from Lambda, as of a request that isn't signed; "error": 500; "unavailable":
                503; "left": 410, but to a repeated key, as of a region that has left the layout. The others go on in
                the layout of before; "used up": 503, but to a repeated key, as of a region that has used up its window
                of integers, while the home region can't be asked for more.

        Raises:
            ValueError: there is no such fault.
            Forked: the stack is another process's.
        """
        self._stack.check_process()
        if fault not in get_args(Fault):
            raise ValueError(f"fault {fault!r} is none of {', '.join(map(repr, get_args(Fault)))}")
        self.fault = fault

    def recover(self) -> None:
        """No longer fail. Clients notice it once they ask again: let time pass with `Stack.tick`.

        Raises:
            Forked: the stack is another process's.
        """
        self._stack.check_process()
        self.fault = None

    def __repr__(self) -> str:
        return f"<Region {self.name} offset={self.offset} fault={self.fault!r}>"

    def answer(self, request: "httpx.Request") -> "httpx.Response":
        """Return the response to a request, or raise httpx's error if there is none."""
        import httpx

        self._stack.check_process()
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
        if self.fault == "response lost" and request.method in ("POST", "PUT"):
            raise httpx.RemoteProtocolError("Server disconnected without sending a response.", request=request)
        return response

    def _answer(self, request: "httpx.Request") -> "httpx.Response":
        method, default = request.method, self._stack.counters[0]
        match request.url.path.lstrip("/").split("/"):
            case ["-", "health"] if self.fault == "left":
                return self._gone(default)
            case ["-", "health"] if self.fault == "used up":
                return self._used_up(default)
            case ["-", "health"]:
                return self._response(200, {"status": "ok", "region": self.name})
            case ["-", "status"]:
                return self._status(request.url.params.get("counter", default))
            case ["-", "counters"]:
                return self._list(int(request.url.params.get("limit", 100)), request.url.params.get("after", ""))
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
        """Mint, or replay. A signal handler may do the same between any two steps: what must be one step, is one."""
        now, replayed = self._stack.clock(), True
        receipts = self._receipts.setdefault((counter, key), {})
        number = sum(receipt.expires <= now for receipt in receipts.values())
        receipt = receipts.get(number)
        if receipt is None:
            if counter not in self._stack.counters:
                return self._no_counter(counter)
            if self.fault == "left":
                return self._gone(counter)
            block = self._take(counter, count)
            if block is None:
                return self._used_up(counter, count)
            mine = Receipt(block, now + KEY_SECONDS)
            receipt = mine if key is None else receipts.setdefault(number, mine)
            replayed = receipt is not mine
        block = receipt.block
        if len(block) != count:
            return self._problem(422, "this Idempotency-Key was used for another count; use a new one")
        document = {"counter": counter, "region": self.name, "first": block[0], "last": block[-1]}
        document |= {"stride": block.step, "count": count}
        headers = {"Content-Type": BLOCK, "Vary": "Accept"} | ({"Idempotency-Replayed": "true"} if replayed else {})
        return self._response(200, document, headers)

    def _take(self, counter: str, count: int) -> range | None:
        """Return the next integers, or None if there are too few left."""
        left = self._left(counter, self._stack.epoch(counter))
        if self.fault == "used up" or length_hint(left) < count:
            return None
        taken = list(islice(left, count))  # one step, in which no signal handler takes any
        return range(taken[0], taken[-1] + 1, self._stack.stride) if len(taken) == count else None

    def _owner(self, counter: str, integer: int) -> "httpx.Response":
        if counter not in self._stack.counters:
            return self._no_counter(counter)
        granted = self._granted(counter)
        if self.fault == "left" and integer > granted:
            return self._gone(counter)
        if integer > granted:
            why = (
                f"no region is known to mint {integer} yet: the home region grants integers step by step, and this "
                f"region has been granted those up to {granted}"
            )
            return self._problem(503, why, {"Retry-After": "5"}, granted=granted)
        epoch = self._stack.epoch_of(integer)
        owner = self._stack.regions[(integer - 1) % self._stack.stride]
        document = {"integer": integer, "counter": counter, "offset": owner.offset, "stride": self._stack.stride}
        minted = integer <= self._last(counter, epoch) if owner is self else None
        document |= {"region": owner.name, "epoch": epoch, "minted": minted}
        asked = {"ask": owner.name} if owner is not self and owner.fault != "left" else {}
        return self._response(200, document | asked, {"Vary": "Accept"})

    def _create(self, counter: str) -> "httpx.Response":
        stack = self._stack
        if stack.max_counters == 0:
            return self._problem(403, CLOSED)
        if counter in RESERVED:
            return self._problem(400, reserved(counter))
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
        epoch = stack.epoch(counter)
        document: dict[str, Any] = {"counter": counter, "epoch": epoch, "base": stack.base(epoch)}
        document |= {"limit": stack.base(epoch + 1) - 1, "regions": places, "pending": []}
        return self._response(201 if is_new else 200, document)

    def _list(self, limit: int, after: str) -> "httpx.Response":
        if self._stack.max_counters == 0:
            return self._problem(403, CLOSED)
        names = [name for name in sorted(self._stack.counters) if name > after]
        following = {"next": names[limit - 1]} if len(names) > limit else {}
        return self._response(200, {"counters": names[:limit], **following})

    def _status(self, counter: str) -> "httpx.Response":
        stack, exists, left = self._stack, counter in self._stack.counters, self.fault == "left"
        reason = gone(counter) if left else "" if exists else no_counter(counter)
        if exists and self.fault == "used up":
            reason = used_up(counter)
        document: dict[str, Any] = {"region": self.name, "counter": counter, "ok": not reason}
        document |= {"reason": reason} if reason else {}
        epoch = stack.epoch(counter)
        item = {"epoch": epoch, "base": stack.base(epoch), "position": self._last(counter, epoch)}
        item |= {"ceiling": self._granted(counter)}
        item |= {"left": (item["ceiling"] - item["position"]) // stack.stride}
        item |= {"stride": stack.stride, "fenced": left}
        document |= item if exists else dict.fromkeys(item)
        document |= {"maxBlock": MAX_BLOCK, "pending": False, "regions": stack.minting() if exists else []}
        document["bases"] = {region.name: 1 for region in stack.regions} if exists else {}
        return self._response(200, document, {"Vary": "Accept"})

    def _window(self, epoch: int) -> range:
        """Return all integers of an epoch that are granted to this region."""
        base, following = self._stack.base(epoch), self._stack.base(epoch + 1)
        return range(base - 1 + self.offset, min(following, MAX_INTEGER + 1), self._stack.stride)

    def _left(self, counter: str, epoch: int) -> Iterator[int]:
        """Return the integers of an epoch that may still be minted."""
        return self._windows.setdefault((counter, epoch), iter(self._window(epoch)))

    def _last(self, counter: str, epoch: int) -> int:
        """Return the last integer of an epoch that was minted here, or what is one stride below the first one."""
        window = self._window(epoch)
        minted = len(window) - length_hint(self._left(counter, epoch))
        return window.start + (minted - 1) * window.step

    def _granted(self, counter: str) -> int:
        """Return the last integer that may be minted here."""
        epoch = self._stack.epoch(counter)
        return self._last(counter, epoch) if self.fault in ("left", "used up") else self._window(epoch)[-1]

    def _no_counter(self, counter: str) -> "httpx.Response":
        return self._gone(counter) if self.fault == "left" else self._problem(404, no_counter(counter))

    def _used_up(self, counter: str, count: int = 1) -> "httpx.Response":
        left = 0 if self.fault == "used up" else length_hint(self._left(counter, self._stack.epoch(counter)))
        fewer = {"available": left} if left else {}
        return self._problem(503, used_up(counter, count), {"Retry-After": "5"}, **fewer)

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
        self.epochs: dict[str, int] = {}
        """Of the counters that are in a later one than the first."""
        self.clock = clock
        self.lock = make_lock()
        """A signal handler may come where its thread has it."""
        self._process = here()

    def minting(self) -> list[str]:
        """Return the regions that haven't left."""
        return [region.name for region in self.regions if region.fault != "left"]

    def epoch(self, counter: str) -> int:
        """Return a counter's present epoch, from 1 on."""
        return self.epochs.get(counter, 1)

    def begin_epoch(self, counter: str) -> None:
        """Begin a counter's next epoch in all regions."""
        self.epochs[counter] = self.epoch(counter) + 1

    def base(self, epoch: int) -> int:
        """Return where an epoch begins: above the limit of the one before, where all windows end."""
        return 1 + (epoch - 1) * WINDOW * self.stride

    def epoch_of(self, integer: int) -> int:
        """Return the epoch in which an integer is minted."""
        return 1 + (integer - 1) // (WINDOW * self.stride)

    def check_process(self) -> None:
        """Raise Forked in a forked process."""
        if not self._process[0]:
            raise Forked(
                "this process was forked, and has a copy of its parent's stack, which would mint the same integers "
                "again; make a Stack here"
            )


WINDOW = 1_000_000
"""As the setting `window`, but larger than its default: nobody here could grant a region more."""


def reserved(counter: str) -> str:
    """Return why no new counter can have a name of `RESERVED`."""
    return f"{counter!r} can't be a new counter's name: API Gateway has another use for the path /{counter}"


def no_counter(counter: str) -> str:
    """Return what a region says of a counter that it doesn't have."""
    return f"there is no counter {counter!r} in this region"


def gone(counter: str) -> str:
    """Return what a region says of a counter once it has left."""
    return f"this region has left, and no longer mints {counter!r}; use one of the other regions"


def used_up(counter: str, count: int = 1) -> str:
    """Return what a region says of a counter of which it has too few integers, if the home region can't be asked."""
    left = f"has fewer than {count} integers left" if count > 1 else "has no integer left"
    return f"counter {counter!r} {left} in this region until the home region grants it more; try again later"
