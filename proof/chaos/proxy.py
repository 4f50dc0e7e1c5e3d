"""A proxy on 127.0.0.1, through which functions and gateways reach DynamoDB. It injects faults and records mints."""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any, NamedTuple

from proof.faulty_server import Fault, Request, Response, Server, forward, json_response

COUNTERS = "-counters"
"""The end of a counters table's name."""

MINTS = "SET issued = issued +"
"""The beginning of the update by which the function and API Gateway mint. It returns the item."""


def table_of(request: Request) -> str:
    """Return the table's name; empty for a transaction, of which only the layouts table has any."""
    return request.document.get("TableName", "")


def writes(request: Request) -> bool:
    """Return whether a call may change an item."""
    return request.operation in ("UpdateItem", "PutItem", "DeleteItem", "TransactWriteItems")


def mints(request: Request) -> bool:
    """Return whether a call mints."""
    return table_of(request).endswith(COUNTERS) and request.document.get("UpdateExpression", "").startswith(MINTS)


def coordinated(request: Request) -> str | None:
    """Return the counter whose item a call writes for the coordinator, by any write that doesn't mint."""
    if not writes(request) or mints(request) or not table_of(request).endswith(COUNTERS):
        return None
    return (request.document.get("Key") or request.document["Item"])["counter"]["S"]


class Write(NamedTuple):
    """A write that minted, carried out between two moments."""

    region: str
    counter: str
    integers: range
    began: float
    ended: float


def write_of(request: Request, answer: bytes, began: float, ended: float) -> Write:
    """Return the write that a successful call that mints has made."""
    item: Mapping[str, Any] = json.loads(answer)["Attributes"]
    issued, stride = int(item["issued"]["N"]), int(item["stride"]["N"])
    step = int(request.document.get("ExpressionAttributeValues", {}).get(":step", {"N": stride})["N"])
    minted = range(issued - step + stride, issued + 1, stride)
    return Write(request.scope[0], item["counter"]["S"], minted, began, ended)


LATE = 1.5
"""Seconds of the longest delay: longer than the minting function waits, so its retry overtakes the first attempt."""

PAGE = Response(503, b"<html><body><b>Http/1.1 Service Unavailable</b></body> </html>", {"Content-Type": "text/html"})
"""DynamoDB's 503 in an outage (aws-sdk-js, issue 1379; aws-sdk-ruby, issue 1713)."""

PAGES = (PAGE, PAGE, PAGE, Response(500), Response(502))
"""How an outage answers: mostly with 503."""


def _throttled(error: str) -> Response:
    document = {"__type": f"com.amazonaws.dynamodb.v20120810#{error}", "message": "injected by chaos"}
    return json_response(document, 400)


THROTTLED = (_throttled("ProvisionedThroughputExceededException"), _throttled("ThrottlingException"))
"""How DynamoDB throttles (DynamoDB guide, "Diagnosing throttling")."""

UNREACHABLE, ERROR_PAGE, CUT = "unreachable", "answered with an error page", "cut before the answer"
"""Names of faults."""


def calls(which: Callable[[Request], object] = lambda _: True) -> Callable[[Request], bool]:
    """Match such calls to DynamoDB, by default all."""
    return lambda request: request.scope[1] == "dynamodb" and bool(which(request))


BY_CHANCE = {
    "delays": Fault("delayed", matches=calls(), share=0.02, delay=(0, LATE)),
    "throttles": Fault("throttled", matches=calls(), share=0.02, replies=THROTTLED[:1]),
    "cuts": Fault(CUT, matches=calls(writes), share=0.01, carried_out=True, end="close"),
}
"""What happens to any call."""


def unreachable(region: str, *, silent: bool) -> tuple[Fault, Fault]:
    """Cut a region off: no call reaches it, wherever it comes from, and no answer leaves it.

    Its callers hear nothing until they give up, if it is silent, or lose the connection at once.
    """
    return (
        Fault(UNREACHABLE, region, calls(), hold=silent, end="close"),
        Fault(CUT, region, calls(), carried_out=True, end="close"),
    )


def outage(region: str) -> tuple[Fault]:
    """Let a region's DynamoDB answer every call with an error page."""
    return (Fault(ERROR_PAGE, region, calls(), replies=PAGES),)


def hot(region: str, counter: str) -> Fault:
    """Throttle one counter's item, and nothing else, whenever the coordinator writes it."""
    return Fault("throttled", region, calls(lambda request: coordinated(request) == counter), replies=THROTTLED)


class Proxy(Server):
    """Passes calls on to the server, those of DynamoDB with faults, and records what the successful ones minted."""

    def __init__(self, random: Random, by_chance: Iterable[str] = BY_CHANCE) -> None:
        """Make it. `random` decides what happens by chance: `by_chance` says which of `BY_CHANCE` may."""
        super().__init__(self._pass_on, (BY_CHANCE[name] for name in by_chance), random=random, recording=False)
        self.server = ""
        """The local server's URL, once it is known."""
        self.writes: list[Write] = []
        """Every write that minted, whoever got the answer."""
        self.given_up: list[Request] = []
        """The calls that had no caller any more when the answer came."""

    @property
    def without_answers(self) -> set[str]:
        """The regions that are cut off or answer with error pages."""
        return {fault.region for fault in self.faults if fault.name in (UNREACHABLE, ERROR_PAGE)}

    async def _pass_on(self, request: Request) -> Response:
        began = time.monotonic()
        answer = await forward(self.server, request)
        if calls(mints)(request) and answer.status == 200:
            self.writes.append(write_of(request, answer.body, began, time.monotonic()))
        if calls()(request) and request.gone():
            self.given_up.append(request)
        return answer
