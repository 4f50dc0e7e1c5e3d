"""The minting function and what it is compared with, under AWS's own runtime, each in a process of its own."""

import json
import time
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any, cast

from bench.figures import Columns, Figures, compared
from bench.runtime_api import FunctionError, LoadedFunction, Runtime, unpack
from bench.stand_in import Rejected, process, serve
from components.function.python_function import archive
from integers.lattice import MAX_INTEGER
from local.engine.inputs import as_json
from local.paths import ROOT

PYTHON = ROOT / ".venv-bench" / "bin" / "python"
"""It has AWS's runtime, and what the subjects need. The one of this process has more, which some packages would use."""

OTHERS = ROOT / "bench" / "subjects"
"""What ours is compared with, as its user would deploy it."""

SUBJECTS = {
    "empty": "empty function",
    "tutorial": "tutorial function (boto3)",
    "autoincrement": "dynamodb-autoincrement",
    "one": "ours",
    "block": "ours, count=100",
    "lease": "ours, lease=100",
}
ENVIRONMENT = {"lease": {"LEASE": "100"}}
QUERY = {"block": "count=100"}

ALONE: Columns = {
    "start_ms": ("start ms", "{:.0f}"),
    "first_ms": ("first ms", "{:.1f}"),
    "cpu_ms": ("CPU ms/request", "{:.3f}"),
    "peak_mb": ("peak MB", "{:.1f}"),
}
"""What one process needs. `start`: until the runtime asks for the first event; `first`: the first request."""

COLUMNS: Columns = {**ALONE, "units": ("writes/integer", "{:.3f}"), "refused": ("refused by 8", "{:.0%}")}
"""`units`: write units; `refused`: the share of refused writes, while several processes mint."""

RATIOS = {"start_ms": "start", "cpu_ms": "CPU", "peak_mb": "memory"}
"""Also shown relative to the tutorial's."""

WRITERS = 8
CONTENDED = 60
"""Requests to each of the writers."""

WARM_UP = 20
AT_HOME = 0.005
"""Seconds after which the stub answers contending writers, as DynamoDB does: the longer, the more they meet."""

Run = dict[str, Any]


def above_empty(figures: Figures) -> dict[str, float]:
    """Return start, processor time and memory above the empty function: ours divided by the tutorial's."""
    ours, theirs, empty = figures["one"], figures["tutorial"], figures["empty"]
    return {column: (ours[column] - empty[column]) / (theirs[column] - empty[column]) for column in RATIOS}


def table(figures: Figures, columns: Columns = COLUMNS) -> str:
    """Return a table with a row per subject, then ours relative to the tutorial's."""
    parts = ", ".join(f"{RATIOS[column]} {ratio:.2f}" for column, ratio in above_empty(figures).items())
    return f"{compared(figures, SUBJECTS, columns)}\n\nabove the empty function, ours ÷ tutorial: {parts}"


def check_installed() -> None:
    """Check that what ours is compared with is there."""
    if not PYTHON.exists():
        raise SystemExit("what is compared is not installed; `make .venv-bench/ready` installs it")


class Stub:
    """As much of DynamoDB as the subjects use, for one counter each, in memory. It counts writes.

    Write units as DynamoDB counts them (guide, "Capacity unit consumption for write operations"): one for a write of an
    item up to 1 KB, two in a transaction, whether its condition holds or not.
    """

    def __init__(self) -> None:
        self.values: dict[str, int] = defaultdict(int)
        self.counts: Counter[str] = Counter()

    def answer(self, _: str, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out one call.

        Raises:
            Rejected: a condition doesn't hold, or no subject sends such a call.
        """
        match operation:
            case "GetItem":
                value = self.values["autoincrement"]
                return {"Item": {"value": {"N": str(value)}}} if value else {}
            case "UpdateItem":
                self._count(1)
                return self._update(request["Key"]["counter"]["S"], request.get("ExpressionAttributeValues", {}))
            case "TransactWriteItems":
                puts = [part["Put"] for part in request["TransactItems"]]
                self._count(2 * len(puts))
                seen = int(puts[0].get("ExpressionAttributeValues", {}).get(":counter", {"N": "0"})["N"])
                if seen != self.values["autoincrement"]:
                    reasons = [{"Code": "ConditionalCheckFailed"} for _ in puts]
                    raise self._refused("TransactionCanceledException", CancellationReasons=reasons)
                self.values["autoincrement"] += 1
                return {}
            case _:
                raise Rejected("UnknownOperationException", operation)

    def _update(self, key: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Mint, or refuse as the conditions of the subjects do."""
        numbers = {"stride": 1, "ceiling": MAX_INTEGER, "epoch": 1, "issued": self.values[key]}
        if ":stride" in given and given[":stride"]["N"] != "1":
            raise self._refused("ConditionalCheckFailedException", Item=_item(key, numbers))
        self.values[key] += int(given[":step"]["N"]) if ":step" in given else 1
        if ":one" in given:
            return {"Attributes": {"value": {"N": str(self.values[key])}}}
        return {"Attributes": _item(key, {**numbers, "issued": self.values[key]})}

    def _count(self, units: int) -> None:
        self.counts["units"] += units
        self.counts["writes"] += 1

    def _refused(self, code: str, **more: Any) -> Rejected:
        self.counts["refused"] += 1
        return Rejected(code, "no", **more)


def _item(key: str, numbers: Mapping[str, int]) -> dict[str, Any]:
    return {"counter": {"S": key}, **{name: {"N": str(number)} for name, number in numbers.items()}}


def _serve(connection: Connection, certificate: Path | None, delay: float) -> None:
    serve(connection, Stub(), lambda _: delay, certificate)


def _counted(stub: Stub) -> Counter[str]:
    return stub.counts


class Bench:
    """The subjects' archives, unpacked in a folder, and a stub to which they connect."""

    def __init__(self, folder: Path, stub: Connection, scheme: str, trusted: Mapping[str, str]) -> None:
        self._folder = folder
        self._stub = stub
        self._more = {**trusted, "AWS_ENDPOINT_URL": f"{scheme}://127.0.0.1:{stub.recv()}"}
        self._event: dict[str, Any] = json.loads((OTHERS / "event.json").read_text())

    def run(self, subject: str, requests: int) -> Run:
        """Run one subject, for so many requests. Return its figures, and the integers that it minted."""
        theirs = OTHERS / f"{subject}.py"
        handler, folder = (f"{subject}.handler", OTHERS) if theirs.exists() else ("mint.handler.handler", self._folder)
        variables = {
            "COUNTERS_TABLE": "bench-counters",
            "RECORDS_TABLE": "bench-records",
            "RECEIPTS_TABLE": "bench-receipts",
            "DEFAULT_COUNTER": subject,
            "IDEMPOTENCY_HOURS": "24",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            **ENVIRONMENT.get(subject, {}),
            **self._more,
        }
        event = {**self._event, "rawQueryString": QUERY.get(subject, "")}
        function = LoadedFunction(subject, handler, "us-east-1", variables)
        with Runtime(function, folder, python=str(PYTHON)) as runtime:
            try:
                return _measured(runtime, event, requests)
            except FunctionError as failed:
                raise SystemExit(f"{subject} failed: {failed}\n{runtime.log}") from failed

    def alone(self, subjects: Iterable[str], rounds: int, requests: int) -> dict[str, dict[str, float]]:
        """Return start, processor time and memory of each subject: medians over interleaved rounds."""
        runs: dict[str, list[Run]] = {subject: [] for subject in subjects}
        for _ in range(rounds):
            for subject, made in runs.items():
                made.append(self.run(subject, requests))
        return {subject: {c: median(run[c] for run in made) for c in ALONE} for subject, made in runs.items()}

    def writes(self, subjects: Iterable[str], requests: int) -> dict[str, dict[str, float]]:
        """Return the write units of each subject, and the share of refused writes of several writers at once."""
        figures: dict[str, dict[str, float]] = {}
        for subject in subjects:
            before = self._counts()
            one = self.run(subject, requests)
            between = self._counts()
            with ThreadPoolExecutor(WRITERS) as pool:
                together = list(pool.map(self.run, [subject] * WRITERS, [CONTENDED] * WRITERS))
            counts = self._counts() - between
            integers = [integer for run in (one, *together) for integer in run["integers"]]
            assert len(integers) == len(set(integers)), f"{subject} minted an integer twice"
            units = (between - before)["units"] / len(one["integers"])
            figures[subject] = {"units": units, "refused": counts["refused"] / counts["writes"]}
        return figures

    def _counts(self) -> Counter[str]:
        self._stub.send(_counted)
        return self._stub.recv()


@contextmanager
def bench(
    folder: Path, certificate: Path | None = None, trusted: Mapping[str, str] | None = None, delay: float = 0
) -> Generator[Bench]:
    """Run the stub, which answers after `delay` seconds.

    Args:
        folder: where the minting function's archive is unpacked, unless it is there.
        certificate: a file of a key and its certificates; the stub has TLS then.
        trusted: variables that name the certificates' root to the subjects.
        delay: seconds.
    """
    check_installed()
    if not folder.exists():
        unpack(as_json(archive("mint", "aws")), folder)
    with process(_serve, certificate, delay) as stub:
        yield Bench(folder, stub, "https" if certificate else "http", trusted or {})


def _measured(runtime: Runtime, event: Mapping[str, Any], requests: int) -> Run:
    start, clock = runtime.start(), time.perf_counter
    begun = clock()
    integers = _minted(runtime.invoke(event))
    first = clock() - begun
    for _ in range(min(WARM_UP, requests)):
        integers += _minted(runtime.invoke(event))
    cpu = runtime.usage().cpu_seconds
    for _ in range(requests):
        integers += _minted(runtime.invoke(event))
    usage = runtime.usage()
    return {
        "start_ms": start * 1000,
        "first_ms": first * 1000,
        "cpu_ms": (usage.cpu_seconds - cpu) / requests * 1000,
        "peak_mb": usage.peak_mb,
        "integers": integers,
    }


def _minted(response: Mapping[str, Any]) -> list[int]:
    """Return the integers of a response; none of the subject that mints nothing."""
    assert response["statusCode"] == 200, response
    match json.loads(response["body"]):
        case {"integers": integers}:
            return cast("list[int]", integers)
        case {"integer": integer}:
            return [cast("int", integer)]
        case int(integer):
            return [integer]
        case _:
            return []
