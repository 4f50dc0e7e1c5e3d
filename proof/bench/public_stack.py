"""Print the most that a public stack can cost per region and day: `python -m proof.bench.public_stack`.

Every request that a stranger may send is sent to the minting function itself, in every format, with the longest names
and the largest integers, on tables in memory that count DynamoDB's units. Of each kind of requests, the largest
response, the most units and the longest log lines are priced (`price_list.py`), at the highest rate that the function
serves. What creates counters or grants integers is done by the coordinator's own code, for three regions.

Fenced counters are left out: their requests wait for up to two seconds, and so take fewer writes a second than others.
What a function writes when it asks ahead of need, once in five seconds for each counter, isn't counted, nor what it
tries while it waits for a grant, which one request a second may do. Data is what is in HTTP's messages. What TLS adds,
and what AWS may charge for refused connections, isn't counted.
"""

import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import Mock, patch

from proof.bench.stand_in import serving  # puts `lambda` on the import path, for the imports below

# isort: split
import aws_client.service
import coordinate.dynamodb.calls
import coordinate.handler
import mint.api.problems
import mint.counters
import mint.grants
import mint.handler
import mint.minting
from aws_client.invocation import InvocationFailed
from coordinate.protocol.model import MAX_PAST
from mint.api.formats import FORMATS
from mint.api.request import MAX_BODY, MAX_LIMIT, MAX_PATH

from components.domain.capacity import PER_EXECUTION, capacity
from components.gateway.templates import minted_template, refused_template
from components.settings import PUBLIC_CONCURRENCY
from components.settings.args import minting_environment
from components.settings.aws_regions import partitions
from components.settings.rules import MAX_DOMAIN
from global_integers_core.lattice import MAX_INTEGER
from global_integers_core.names import MAX_BLOCK, MAX_LISTED
from global_integers_core.records import history_of, history_text, layouts_key
from local.apigateway.rest_api import render
from local.paths import ROOT
from proof.bench import price_list
from proof.bench.price import HEALTH_SECONDS
from proof.bench.reconcile import HOME, NAMES, reconciled
from proof.bench.schedule import MEMORY, NOW
from proof.simulation.dynamodb import Database
from tests.components.running import THREE, config, settings

PATIENCE = 60
"""Seconds that a client waits for a server of this process, however busy the machine is."""

DAY = 86_400

RATE = PER_EXECUTION * PUBLIC_CONCURRENCY
"""Requests per second that a region's Function URL serves, and a domain as many again."""

METERED, LARGEST_BODY = 512 * 2**10, 10 * 2**20
"""Bytes for which an HTTP API charges one request more (API Gateway pricing), and that a request may have at most (API
Gateway guide, "Quotas for configuring and running an HTTP API"). Neither Function URLs nor REST APIs charge by size."""

AROUND = 450
"""Bytes that AWS adds to a response: the status line, and headers such as `Date`, `Content-Length`, `x-amzn-RequestId`,
`X-Amzn-Trace-Id` and those of CORS."""

AROUND_LINE = 26
"""Bytes that CloudWatch counts with each line (CloudWatch Logs guide, "PutLogEvents")."""

LONG = "z" * 63
"""The longest name of a counter."""

USED_UP, ALSO_USED_UP, LAST = ("u" * 63, "v" * 63, "w" * 63)
"""Counters of which the region has no integer left; the last one is used up for ever."""

BROKEN = "b" * 63
"""A counter whose table answers with an error that nobody expects."""

BEHIND = "y" * 63
"""A counter of which the region is still in the first of the layouts that it knows."""

UNKNOWN = "x" * 63

COUNTERS = settings(config(HOME)).max_counters
"""How many the coordinator has."""

TENANT, USED_UP_TENANT = "tenant-0001", "tenant-0002"
"""Two of them. All regions wait for integers of the second one."""

ERROR_LINE = 2_000
"""Bytes of a line in which Lambda's runtime logs an error that a function raises, with its stack trace."""

HOSTILE = "\U000e0001" * 900
"""What is longest where it is echoed: each of these characters is escaped twice."""

BROWSER = "text/html,*/*;q=0.8"

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

NOBODY = ""
"""The kind of what no stranger can bring about. Its response is measured all the same."""


class Sent(NamedTuple):
    """A request to the minting function."""

    kind: str
    method: str
    operation: str
    """Its path in docs/openapi.yaml."""
    path: str
    headers: Mapping[str, str] = {}
    environment: Mapping[str, str] = {}
    body: str = ""


class Measured(NamedTuple):
    """What came of a request."""

    sent: Sent
    status: int
    media_type: str
    size: int
    """Bytes of the response."""
    reads: float
    writes: int
    logged: int
    """Bytes."""


class Largest(NamedTuple):
    """The most of each that a request of one kind takes."""

    size: int
    reads: float
    writes: int
    logged: int


def regions() -> list[str]:
    """Return all regions, the one with the longest name first."""
    found = [region for region, partition in partitions().items() if partition == "aws"]
    return sorted(found, key=lambda region: (-len(region), region))


def tables(counters: int = MAX_LIMIT + 1) -> Database:
    """Return the coordinator's tables in `THREE`, and those of the first of `regions`, which has everything largest.

    There, all counters have the longest history and the largest integers.
    """
    names = regions()
    database = reconciled([*THREE, "another"], COUNTERS, MAX_PAST, int(time.time()))
    for region in THREE:
        items = database.tables[region, NAMES["COUNTERS_TABLE"]].items
        items[USED_UP_TENANT] = {**items[USED_UP_TENANT], "issued": items[USED_UP_TENANT]["ceiling"]}
    others = reconciled([*names, "another"], 1, MAX_PAST, NOW)
    held, receipts = (others.tables[names[0], NAMES[name]] for name in ("COUNTERS_TABLE", "RECEIPTS_TABLE"))
    database.tables |= {(names[0], NAMES["COUNTERS_TABLE"]): held, (names[0], NAMES["RECEIPTS_TABLE"]): receipts}
    (item,), (recorded, *_) = held.items.values(), receipts.items.values()
    stride = int(item["stride"]["N"])
    last = MAX_INTEGER - MAX_INTEGER % stride
    above = last - 100 * MAX_BLOCK * stride
    history = history_of(recorded["history"]["S"])
    layouts = tuple(layout._replace(base=above - 1000 * (MAX_PAST - at)) for at, layout in enumerate(history))
    recorded |= {name: {"N": str(above)} for name in recorded if name.startswith("issued_")}
    recorded |= {"history": {"S": history_text(layouts)}}
    usual, used_up, ended = (
        {**item, **{name: {"N": str(number)} for name, number in numbers.items()}}
        for numbers in (
            {"issued": above + stride, "ceiling": last, "pastIssued": above},
            {"issued": above, "ceiling": above, "pastIssued": above},
            {"issued": last, "ceiling": last, "pastIssued": above},
        )
    )
    behind = {name: value for name, value in usual.items() if not name.startswith("past")} | {"epoch": {"N": "1"}}
    broken = usual | {"issued": {"N": "9" * 38}, "ceiling": {"N": "1" + "0" * 39}}  # no number has so many digits
    found = {f"{number:04}{LONG[4:]}": usual for number in range(counters)}
    found |= {BEHIND: behind, LONG: usual, USED_UP: used_up, ALSO_USED_UP: used_up, LAST: ended, BROKEN: broken}
    held.items = {name: {**attributes, "counter": {"S": name}} for name, attributes in found.items()}
    keys = map(layouts_key, (BEHIND, LONG, USED_UP, ALSO_USED_UP, LAST, BROKEN))
    receipts.items = {key: {**recorded, "receipt": {"S": key}} for key in keys}
    return database


def requests() -> Iterator[Sent]:
    """Yield the worst requests that strangers can send, of every route and format, and some that nobody can."""
    leaving = {"LEAVING": ",".join(regions())}
    closed, domain = {"OPEN_COUNTERS": ""}, {"DOMAIN": "d" * MAX_DOMAIN}
    key = "k" * 255
    for path, operation in (("/", "/"), (f"/{LONG}", "/{counter}")):
        yield Sent(PAGE, "GET", operation, path, {"accept": BROWSER}, domain)
        yield Sent(PAGE, "GET", operation, path, {"accept": BROWSER}, leaving)
        for method in ("GET", "POST"):
            for number, accept in enumerate(FORMATS):
                yield Sent(SINGLE, method, operation, path, {"accept": accept})
                for count in (1, MAX_LISTED, MAX_LISTED + 1, MAX_BLOCK):
                    own = f"{key[:200]}{method}{operation.count('c')}{number}-{count:06}".ljust(255, "k")
                    for headers in ({}, {"idempotency-key": own}, {"idempotency-key": own}):
                        yield Sent(BLOCKS, method, operation, f"{path}?count={count}", {"accept": accept, **headers})
    yield from (Sent(PAGE, "GET", "/{counter}", f"/{name}", {"accept": BROWSER}) for name in (BEHIND, UNKNOWN))
    about = {
        "/{counter}/{integer}": f"/{LONG}/{MAX_INTEGER - 100}",
        "/-/status": f"/-/status?counter={LONG}",
        "/-/health": "/-/health",
    }
    for operation, path in about.items():
        for method in ("GET", "HEAD"):
            for accept in ("*/*", BROWSER):
                kind = HEALTH if operation == "/-/health" else ABOUT
                yield Sent(kind, method, operation, path, {"accept": accept})
    yield Sent(ABOUT, "GET", "/-/status", f"/-/status?counter={USED_UP}", {"accept": BROWSER})
    yield Sent(ASKS, "POST", "/{counter}", f"/{ALSO_USED_UP}", {"idempotency-key": key})
    yield Sent(BLOCKS, "POST", "/", "/?count=1", {"idempotency-key": "of_one"})
    yield from (Sent(LIST, method, "/-/counters", f"/-/counters?limit={MAX_LIMIT}") for method in ("GET", "HEAD"))
    yield Sent(CREATE, "PUT", "/{counter}", f"/{TENANT}")
    more = {"MAX_COUNTERS": str(2 * COUNTERS)}
    yield Sent(NOBODY, "PUT", "/{counter}", f"/new-{TENANT}", environment=more)  # it can't be repeated forever
    yield from (Sent(kind, "PUT", "/{counter}", f"/{UNKNOWN}") for kind in (REFUSED, CREATE))
    wrong: tuple[tuple[str, str, str, Mapping[str, str], Mapping[str, str]], ...] = (
        ("GET", "/", f"/?count={HOSTILE}", {}, {}),
        ("GET", "/", "/", {"idempotency-key": "a,b"}, {}),
        ("GET", "/", "/", {"sec-purpose": "prefetch"}, {}),
        ("GET", "/", f"/?count={MAX_BLOCK}", {"idempotency-key": "of_one"}, {}),
        ("GET", "/", "/" + HOSTILE * 10, {}, {}),
        ("DELETE", "/", "/", {}, {}),
        ("Z" * 1000, "/{counter}", f"/{LONG}", {}, {}),
        ("GET", "/{counter}", f"/{HOSTILE[:60]}/", {}, {}),
        ("GET", "/{counter}", f"/{HOSTILE[:60]}", {}, {}),
        ("GET", "/{counter}", f"/{UNKNOWN}", {}, {}),
        ("GET", "/{counter}", f"/{USED_UP}", {}, {}),
        ("GET", "/{counter}", f"/{USED_UP}?count={MAX_BLOCK}", {"idempotency-key": key}, {}),
        ("GET", "/{counter}", f"/{ALSO_USED_UP}", {"idempotency-key": key}, {}),
        ("GET", "/{counter}", f"/{LAST}", {}, {}),
        ("GET", "/{counter}", f"/{UNKNOWN}", {}, leaving),
        ("GET", "/{counter}/{integer}", f"/{LONG}/{HOSTILE}", {}, {}),
        ("GET", "/{counter}/{integer}", f"/{LONG}/1", {}, {}),
        ("GET", "/{counter}/{integer}", f"/{USED_UP}/{MAX_INTEGER}", {}, {}),
        ("GET", "/{counter}/{integer}", f"/{UNKNOWN}/{MAX_INTEGER}", {}, leaving),
        ("GET", "/-/status", f"/-/status?counter={HOSTILE}", {}, {}),
        ("GET", "/-/health", "/-/health", {}, {"DEFAULT_COUNTER": USED_UP}),
        ("GET", "/-/health", "/-/health", {}, {"DEFAULT_COUNTER": UNKNOWN, **leaving}),
        ("GET", "/-/counters", f"/-/counters?after={HOSTILE}", {}, {}),
        ("GET", "/-/counters", f"/-/counters?limit={HOSTILE}", {}, {}),
        ("GET", "/-/counters", "/-/counters", {}, closed),
        ("PUT", "/{counter}", f"/{LONG}", {}, closed),
        ("PUT", "/{counter}", "/counter", {}, {}),
    )
    for method, operation, path, headers, environment in wrong:
        for accept in ("*/*", BROWSER):
            if accept == "*/*" or operation not in ("/", "/{counter}"):  # where a browser gets the page
                yield Sent(ERRORS, method, operation, path, {"accept": accept, **headers}, environment)
        if method == "GET" and operation in ("/", "/{counter}"):
            yield Sent(ERRORS, "POST", operation, path, headers, environment)
    for method, operation, path in (("POST", "/", "/"), ("GET", "/{counter}", "/" + "a/" * 200)):
        yield Sent(BODIES, method, operation, path, {"accept": BROWSER}, body="x" * (MAX_BODY + 1))
    yield Sent(ERRORS, "GET", "/{counter}", "/" + "a" * MAX_PATH, {"accept": BROWSER})
    yield Sent(NOBODY, "POST", "/{counter}", f"/{BROKEN}")


EVENT = json.loads((ROOT / "proof" / "bench" / "subjects" / "event.json").read_text())


def measured() -> list[Measured]:
    """Send all requests, each to a function that is warm, then let the coordinator grant. Return what came of it."""
    database = tables()
    with _functions(database):
        found = [_measured(sent, database) for sent in requests()]
        taken = database.reads, database.writes
        with _log() as written:
            invoked(COORDINATOR, {"grant": USED_UP_TENANT, "count": MAX_BLOCK}, 0)
        grant = Measured(
            Sent(GRANT, "", "", ""), 200, "", 0, database.reads - taken[0], database.writes - taken[1], sum(written)
        )
    return [*found, grant]


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
    taken = database.reads, database.writes
    with patch.dict(os.environ, sent.environment), _log() as written:
        if not os.environ["OPEN_COUNTERS"]:
            del os.environ["OPEN_COUNTERS"]
        response = mint.handler.handler(event, SimpleNamespace(aws_request_id="b6ce8459-3d70-47cf-861a-3f6a1378b7e4"))
    headers = sum(len(f"{name}: {value}\r\n") for name, value in response["headers"].items())
    size = AROUND + headers + len(response["body"].encode())
    media_type = response["headers"]["Content-Type"].partition(";")[0] if response["body"] else ""
    units = database.reads - taken[0], database.writes - taken[1]
    return Measured(sent, response["statusCode"], media_type, size, *units, sum(written))


@contextmanager
def _functions(database: Database) -> Generator[None]:
    """Let both functions use these tables during the block, as AWS does that runs them."""
    build = "9d07b2c4e1f8"
    with tempfile.NamedTemporaryFile("w") as version, serving(database) as server:
        version.write(f"1.0.0+{build}")
        version.flush()
        environment = NAMES | {
            "AWS_REGION": regions()[0],
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_ENDPOINT_URL": server.url,
            "BUILD": build,
            "COORDINATOR": COORDINATOR,
            "DEFAULT_COUNTER": LONG,
            **minting_environment(),
            "MAX_COUNTERS": str(COUNTERS),
            "OPEN_COUNTERS": "1",
            "STACK": "global-integers-production",
        }
        with (
            patch.dict(os.environ, environment),
            patch.object(mint.api.problems, "VERSION", version.name),
            patch.object(mint.counters, "invoke", invoked),
            patch.object(mint.minting, "EARLY", float("inf")),
            patch.object(mint.minting, "MAX_WAIT", 0.0),
            patch.object(mint.grants, "send", Mock()),  # `measured` does what it asks for, once
            patch.object(mint.grants, "time", SimpleNamespace(time=lambda: NOW)),  # all within a second
            patch.object(aws_client.service, "TIMEOUT", PATIENCE),
            patch.object(aws_client.service, "CONNECT_TIMEOUT", PATIENCE),
            patch.object(coordinate.dynamodb.calls, "TIMEOUT", PATIENCE),
            patch.object(coordinate.dynamodb.calls, "CONNECT_TIMEOUT", PATIENCE),
        ):
            mint.minting.forget()
            try:
                yield
            finally:
                mint.minting.forget()


COORDINATOR = "arn:aws:lambda:us-east-1:123456789012:function:global-integers-production-coordinate:minting"


def invoked(function: str, payload: Mapping[str, Any], _: float) -> dict[str, Any]:
    """Carry out what a minting function asks the coordinator for, at home."""
    context = SimpleNamespace(invoked_function_arn=function, get_remaining_time_in_millis=lambda: 900_000)
    with patch.dict(os.environ, {"AWS_REGION": HOME}):
        try:
            return json.loads(json.dumps(coordinate.handler.handler(payload, context)))
        except coordinate.handler.CoordinatorError as refused:
            sys.stderr.write(" " * ERROR_LINE + "\n")
            raise InvocationFailed(type(refused).__name__, str(refused)) from None


class _Lines(logging.Handler):
    """Writes records to stderr as Lambda's runtime does (Lambda guide, "Using JSON log format")."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        line = {"timestamp": "2026-11-25T18:30:59Z", "level": record.levelname, "message": record.getMessage()}
        line |= {"logger": record.name, "requestId": "b6ce8459-3d70-47cf-861a-3f6a1378b7e4"}
        sys.stderr.write(json.dumps(line) + "\n")


@contextmanager
def _log() -> Generator[list[int]]:
    """Yield a list that has the bytes of each line that is logged during the block, once it has ended."""
    lines, handler, sizes = StringIO(), _Lines(), list[int]()
    log = logging.getLogger("mint")
    log.addHandler(handler)
    propagates, log.propagate = log.propagate, False
    try:
        with redirect_stderr(lines):
            yield sizes
    finally:
        log.removeHandler(handler)
        log.propagate = propagates
    sizes += [AROUND_LINE + len(line.encode()) for line in lines.getvalue().splitlines()]


def largest(found: list[Measured]) -> dict[str, Largest]:
    """Return the most of each that a request takes, by kind."""
    kinds = dict[str, Largest]()
    for each in found:
        before = kinds.get(each.sent.kind, Largest(0, 0, 0, 0))
        kinds[each.sent.kind] = Largest(
            max(each.size, before.size),
            max(each.reads, before.reads),
            max(each.writes, before.writes),
            max(each.logged, before.logged),
        )
    return kinds


class Row(NamedTuple):
    """What a region costs a day, in dollars, if all requests are of one kind."""

    size: int
    """Bytes of the largest response."""
    compute: float
    """Of Lambda."""
    dynamodb: float
    data: float
    logs: float
    together: float
    with_domain: float


def rows(kinds: Mapping[str, Largest]) -> dict[str, Row]:
    """Return what the requests of each kind cost at most, whoever waits for whom: the executions are busy all day."""
    memory = settings(config(HOME)).memory_size / 1024
    requests = RATE * DAY
    made = dict[str, Row]()
    for kind in KINDS:
        most = kinds[kind]
        busy = PUBLIC_CONCURRENCY * DAY * memory * price_list.GB_SECOND.dollars
        each = requests * price_list.REQUEST.dollars
        dynamodb, logs = requests * _units(most), requests * most.logged * price_list.LOG.dollars
        data = requests * most.size * price_list.DATA_OUT.dollars
        metered = -(-LARGEST_BODY // METERED) if kind == BODIES else 1
        again = each + dynamodb + data + logs + metered * requests * price_list.HTTP_API_REQUEST.dollars
        if kind == CREATE:  # each waits for the coordinator; what is refused is asked again after a minute
            coordinators = PUBLIC_CONCURRENCY * DAY * MEMORY * price_list.GB_SECOND.dollars
            again, busy = again + each, busy + coordinators + each
            refused = PUBLIC_CONCURRENCY * DAY / mint.counters.FULL_SECONDS
            dynamodb, logs = _and(dynamodb, logs, kinds[REFUSED], refused)
        if kind in (BLOCKS, ERRORS):  # a window that is used up is renewed, by one run of the coordinator at a time
            granted = DAY / mint.grants.EVERY
            busy += DAY * MEMORY * price_list.GB_SECOND.dollars + granted * price_list.REQUEST.dollars
            for also in (ASKS, GRANT):
                dynamodb, logs = _and(dynamodb, logs, kinds[also], granted)
        together = busy + each + dynamodb + data + logs
        made[kind] = Row(most.size, busy + each, dynamodb, data, logs, together, together + again)
    return made


def _units(most: Largest) -> float:
    return most.reads * price_list.READ_UNIT.dollars + most.writes * price_list.WRITE_UNIT.dollars


def _and(dynamodb: float, logs: float, more: Largest, times: float) -> tuple[float, float]:
    return dynamodb + times * _units(more), logs + times * more.logged * price_list.LOG.dollars


class Api(NamedTuple):
    """What a way in without a Function URL costs a region a day, in dollars."""

    rate: int
    """Requests per second."""
    api_gateway: float
    compute: float
    dynamodb: float
    data: float
    together: float


def apis(found: list[Measured]) -> dict[str, Api]:
    """Return what API Gateway without a function costs at most, and the health checks of a domain that is signed."""
    usual = settings(config(HOME))
    rate, health = usual.api_gateway_rate, capacity(usual, HOME).health.rate
    item = {"issued": {"N": str(MAX_INTEGER)}, "counter": {"S": LONG}}
    bodies = (
        render(minted_template(regions()[0]), {}, json.dumps({"Attributes": item})).text,
        render(refused_template(regions()), {}, json.dumps({"__type": "ConditionalCheckFailedException"})).text,
    )
    headers = "Content-Type: application/problem+json\r\nCache-Control: no-store\r\nRetry-After: 5\r\n"
    size = AROUND + len(headers) + max(map(len, bodies))
    execution = price_list.execution(HEALTH_SECONDS, usual.memory_size) + price_list.REQUEST.dollars
    checked = max(each.size for each in found if each.sent.operation == "/-/health")
    each = {
        f"`apiGateway`, `apiGatewayRate: {rate}`": (rate, 0.0, price_list.WRITE_UNIT, size),
        "`GET /-/health` at a domain with `AWS_IAM`": (health, execution, price_list.READ_UNIT, checked),
    }
    made = dict[str, Api]()
    for name, (per_second, compute, unit, of_data) in each.items():
        requests = per_second * DAY
        api, dynamodb = requests * price_list.REST_API_REQUEST.dollars, requests * unit.dollars
        compute, data = requests * compute, requests * of_data * price_list.DATA_OUT.dollars
        made[name] = Api(per_second, api, compute, dynamodb, data, api + compute + dynamodb + data)
    return made


def table(made: Mapping[str, Row]) -> str:
    """Return the rows as docs/permissions.md has them."""
    head = "| all requests are | bytes | Lambda | DynamoDB | data | logs | together | with a domain |"
    lines = [head, "|---" * 8 + "|"]
    for kind, row in made.items():
        lines.append(f"| {kind} | {row.size:,} | " + " | ".join(f"{part:.2f}" for part in row[1:]) + " |")
    return "\n".join(lines)


def table_of_apis(made: Mapping[str, Api]) -> str:
    """Return the apis as docs/permissions.md has them."""
    lines = ["| all requests are | per second | API Gateway | Lambda | DynamoDB | data | together |", "|---" * 7 + "|"]
    for name, api in made.items():
        lines.append(f"| {name} | {api.rate:,} | " + " | ".join(f"{part:.2f}" for part in api[1:]) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    sent = measured()
    print(table(rows(largest(sent))), table_of_apis(apis(sent)), sep="\n\n")
