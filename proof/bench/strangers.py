"""The worst requests that strangers may send to a public stack, and what each of them takes.

They are sent to the minting function itself, in every format, with the longest names and the largest integers, on
tables in memory that count DynamoDB's units. What creates counters or grants integers is done by the coordinator's own
code, for three regions.

Fenced counters are left out: their requests wait for up to two seconds, and so take fewer writes a second than others.
"""

import json
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stderr
from io import StringIO
from itertools import count, product
from math import inf
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import Mock, patch

from proof.simulation.dynamodb import Database  # puts `lambda` on the import path, for the imports below

# isort: split
import coordinate.handler
import mint.api.problems
import mint.counters
import mint.grants
import mint.handler
import mint.minting
from aws_client.invocation import InvocationFailed
from aws_client.service import DynamoDB
from coordinate.protocol.model import MAX_PAST
from mint.api.formats import FORMATS
from mint.api.request import MAX_BODY, MAX_LIMIT

from components.settings.args import minting_environment
from components.settings.aws_regions import partitions
from components.settings.rules import MAX_DOMAIN
from global_integers_core.lattice import MAX_INTEGER
from global_integers_core.names import MAX_BLOCK, MAX_LISTED
from global_integers_core.records import layouts_key
from local.paths import ROOT
from proof.bench import price_list
from proof.bench.reconcile import HOME, NAMES, reconciled
from proof.bench.schedule import NOW
from tests.components.running import THREE, config, settings

AROUND = 450
"""Bytes that AWS adds to a response: the status line, and headers such as `Date`, `Content-Length`, `x-amzn-RequestId`,
`X-Amzn-Trace-Id` and those of CORS."""

AROUND_LINE = 26
"""Bytes that CloudWatch counts with each line (CloudWatch Logs guide, "PutLogEvents")."""

ERROR_LINE = 2_000
"""Bytes of a line in which Lambda's runtime logs an error that a function raises, with its stack trace."""

COUNTERS = settings(config(HOME)).max_counters
"""How many the coordinator has."""

LONG, UNKNOWN, BEHIND, USED_UP, ALSO_USED_UP = (letter * 63 for letter in "zxyuv")
"""Names of the greatest length: of a counter, of none, of one of which the region is still in the first of the layouts
that it knows, and of two of which it has no integer left."""

TENANT, USED_UP_TENANT = "tenant-0001", "tenant-0002"
"""Two of the coordinator's. All regions wait for integers of the second one."""

HOSTILE = "\U000e0001" * 900
"""What is longest where it is echoed: each of these characters is escaped twice."""

REGIONS = sorted(
    (region for region, partition in partitions().items() if partition == "aws"),
    key=lambda region: (-len(region), region),
)
"""All of them, the one with the longest name first."""

NOTHING: Mapping[str, str] = {}
BROWSER, PROGRAM = {"accept": "text/html,*/*;q=0.8"}, {"accept": "*/*"}
LEAVING, DOMAIN = {"LEAVING": ",".join(REGIONS)}, {"DOMAIN": "d" * MAX_DOMAIN}

COORDINATOR = "arn:aws:lambda:us-east-1:123456789012:function:global-integers-production-coordinate:minting"
REQUEST_ID = "b6ce8459-3d70-47cf-861a-3f6a1378b7e4"
EVENT = json.loads((ROOT / "proof" / "bench" / "subjects" / "event.json").read_text())
ENVIRONMENT = {
    **NAMES,
    **minting_environment(),
    "AWS_REGION": REGIONS[0],
    "BUILD": "9d07b2c4e1f8",
    "COORDINATOR": COORDINATOR,
    "DEFAULT_COUNTER": LONG,
    "MAX_COUNTERS": str(COUNTERS),
    "OPEN_COUNTERS": "1",
    "STACK": "global-integers-production",
}

SINGLE, BLOCKS, PAGE, ABOUT, HEALTH, ERRORS, BODIES, LIST, CREATE = KINDS = (
    "single integers",
    "blocks, with an `Idempotency-Key`, new or repeated",
    "the page",
    "owners, status",
    "health checks",
    "errors",
    "errors: bodies of 10 MB",
    "with `openCounters`: the list",
    "with `openCounters`: creations",
)
REFUSED, ASKS, GRANT = (
    "refused creations, once a minute",
    "requests that ask for more, once a second",
    "grants, as often",
)
"""What goes with others."""


class Sent(NamedTuple):
    """A request to the minting function."""

    kind: str
    method: str
    path: str
    headers: Mapping[str, str] = NOTHING
    environment: Mapping[str, str] = NOTHING
    body: str = ""


class Measured(NamedTuple):
    """What came of a request."""

    sent: Sent
    status: int
    media_type: str
    size: float
    """Bytes of the response."""
    reads: float
    writes: float
    logged: float
    """Bytes."""

    @property
    def units(self) -> float:
        """The price of what was read and written."""
        return self.reads * price_list.READ_UNIT + self.writes * price_list.WRITE_UNIT


def tables(counters: int = MAX_LIMIT + 1) -> Database:
    """Return the coordinator's tables in `THREE`, and those of the first of `REGIONS`, which has everything largest.

    There, all counters have the longest history and integers of sixteen digits.
    """
    database = reconciled([*THREE, "another"], COUNTERS, MAX_PAST, int(time.time()))
    for region in THREE:
        items = database.tables[region, NAMES["COUNTERS_TABLE"]].items
        items[USED_UP_TENANT] = {**items[USED_UP_TENANT], "issued": items[USED_UP_TENANT]["ceiling"]}
    largest = reconciled([*REGIONS, "another"], 1, MAX_PAST, NOW, first=MAX_INTEGER // 2)
    held, receipts = (largest.tables[REGIONS[0], NAMES[name]] for name in ("COUNTERS_TABLE", "RECEIPTS_TABLE"))
    database.tables |= {(REGIONS[0], NAMES["COUNTERS_TABLE"]): held, (REGIONS[0], NAMES["RECEIPTS_TABLE"]): receipts}
    (item,), (recorded, *_) = held.items.values(), receipts.items.values()
    ceiling = int(item["issued"]["N"]) + 1000 * MAX_BLOCK * int(item["stride"]["N"])
    used_up = {**item, "low": item["issued"], "ceiling": item["issued"]}
    usual = {**used_up, "ceiling": {"N": str(ceiling)}}
    behind = {name: value for name, value in usual.items() if not name.startswith("past")} | {"epoch": {"N": "1"}}
    found = {f"{at:04}{LONG[4:]}": usual for at in range(counters)}
    found |= {BEHIND: behind, LONG: usual, USED_UP: used_up, ALSO_USED_UP: used_up}
    held.items = {name: {**attributes, "counter": {"S": name}} for name, attributes in found.items()}
    receipts.items = {layouts_key(name): {**recorded, "receipt": {"S": layouts_key(name)}} for name in found}
    return database


def requests() -> Iterator[Sent]:
    """Yield the worst requests that strangers can send, of every route and format."""
    numbers, key = count(), {"idempotency-key": "k" * 255}
    for path in ("/", f"/{LONG}"):
        yield from (Sent(PAGE, "GET", path, BROWSER, environment) for environment in (DOMAIN, LEAVING))
        for method, accept in product(("GET", "POST"), FORMATS):
            yield Sent(SINGLE, method, path, {"accept": accept})
            for size in (MAX_LISTED, MAX_BLOCK):
                own = {"idempotency-key": f"{next(numbers):k>255}"}
                for headers in (NOTHING, own, own):
                    yield Sent(BLOCKS, method, f"{path}?count={size}", {"accept": accept, **headers})
    yield Sent(PAGE, "GET", f"/{BEHIND}", BROWSER)
    about = (
        (ABOUT, f"/{LONG}/{MAX_INTEGER // 2 + MAX_BLOCK}"),
        (ABOUT, f"/-/status?counter={USED_UP}"),
        (HEALTH, "/-/health"),
        (LIST, f"/-/counters?limit={MAX_LIMIT}"),
    )
    for (kind, path), method, headers in product(about, ("GET", "HEAD"), (PROGRAM, BROWSER)):
        yield Sent(kind, method, path, headers)
    yield Sent(ASKS, "POST", f"/{ALSO_USED_UP}", key)
    yield Sent(CREATE, "PUT", f"/{TENANT}")
    yield from (Sent(kind, "PUT", f"/{UNKNOWN}") for kind in (REFUSED, CREATE))
    wrong = (
        (f"/?count={HOSTILE}", NOTHING),
        (f"/{USED_UP}?count={MAX_BLOCK}", NOTHING),
        (f"/{LONG}/{HOSTILE}", NOTHING),
        (f"/{USED_UP}/{MAX_INTEGER}", NOTHING),
        (f"/{UNKNOWN}/{MAX_INTEGER}", LEAVING),
        (f"/-/status?counter={HOSTILE}", NOTHING),
        ("/-/health", {"DEFAULT_COUNTER": UNKNOWN, **LEAVING}),
        (f"/-/counters?after={HOSTILE}", NOTHING),
    )
    asked = (("GET", PROGRAM), ("POST", PROGRAM | key), ("GET", BROWSER))
    for (path, environment), (method, headers) in product(wrong, asked):
        if "?count" not in path or headers != BROWSER:  # a browser gets the page then
            yield Sent(ERRORS, method, path, headers, environment)
    for method, path in (("POST", "/"), ("GET", "/" + "a/" * 200)):
        yield Sent(BODIES, method, path, BROWSER, body="x" * (MAX_BODY + 1))


def measured() -> list[Measured]:
    """Send all requests, each to a function that is warm, then let the coordinator grant. Return what came of it."""
    database = tables()

    def call(dynamodb: DynamoDB, operation: str, request: Mapping[str, Any] | bytes) -> dict[str, Any]:
        return database.call(dynamodb.region, operation, request)

    with (
        patch.dict(os.environ, ENVIRONMENT),
        patch.object(DynamoDB, "call", call),
        patch.object(mint.api.problems, "_version", lambda: f"1.0.0+{ENVIRONMENT['BUILD']}"),
        patch.object(mint.counters, "invoke", invoked),
        patch.object(mint.minting, "EARLY", float("inf")),
        patch.object(mint.minting, "MAX_WAIT", 0.0),
        patch.object(mint.grants, "send", Mock()),  # what it asks for is done below, once
        patch.object(mint.grants, "time", SimpleNamespace(time=lambda: NOW)),  # all within a second
    ):
        mint.minting.forget()
        found = [_measured(sent, database) for sent in requests()]
        mint.minting.forget()
        payload = {"grant": USED_UP_TENANT, "count": MAX_BLOCK}
        _, *taken = _taken(database, lambda: invoked(COORDINATOR, payload, 0))
    return [*found, Measured(Sent(GRANT, "", "/"), 200, "", 0, *taken)]


def _measured(sent: Sent, database: Database) -> Measured:
    path, _, query = sent.path.partition("?")
    http = {**EVENT["requestContext"]["http"], "method": sent.method, "path": path}
    event = {
        **EVENT,
        "rawPath": path,
        "rawQueryString": query,
        "headers": {**EVENT["headers"], **sent.headers},
        "requestContext": {**EVENT["requestContext"], "http": http},
        "body": sent.body,
    }
    context = SimpleNamespace(aws_request_id=REQUEST_ID)
    with patch.dict(os.environ, sent.environment):
        response, *taken = _taken(database, lambda: mint.handler.handler(event, context))
    headers = sum(len(f"{name}: {value}\r\n") for name, value in response["headers"].items())
    size = AROUND + headers + len(response["body"].encode())
    media_type = response["headers"]["Content-Type"].partition(";")[0] if response["body"] else ""
    return Measured(sent, response["statusCode"], media_type, size, *taken)


def _taken(database: Database, call: Callable[[], Any]) -> tuple[Any, float, float, float]:
    """Return what a call returns, read units, write units, and the bytes of what it logs."""
    reads, writes, lines, log = database.reads, database.writes, StringIO(), logging.getLogger("mint")
    # As Lambda's runtime writes it (Lambda guide, "Using JSON log format").
    line = {"timestamp": "2026-11-25T18:30:59Z", "level": "%(levelname)s", "message": "%(message)s"}
    line |= {"logger": "%(name)s", "requestId": REQUEST_ID}
    handler = logging.StreamHandler(lines)
    handler.setFormatter(logging.Formatter(json.dumps(line)))
    with redirect_stderr(lines), patch.object(log, "handlers", [handler]), patch.object(log, "propagate", False):
        result = call()
    logged = sum(AROUND_LINE + len(line.encode()) for line in lines.getvalue().splitlines())
    return result, database.reads - reads, database.writes - writes, logged


def invoked(function: str, payload: Mapping[str, Any], _: float) -> dict[str, Any]:
    """Carry out what a minting function asks the coordinator for, at home."""
    context = SimpleNamespace(invoked_function_arn=function, get_remaining_time_in_millis=lambda: inf)
    with patch.dict(os.environ, {"AWS_REGION": HOME}):
        try:
            return json.loads(json.dumps(coordinate.handler.handler(payload, context)))
        except coordinate.handler.CoordinatorError as refused:
            sys.stderr.write(" " * ERROR_LINE + "\n")
            raise InvocationFailed(type(refused).__name__, str(refused)) from None
