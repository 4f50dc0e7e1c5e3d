"""The minting function and what it is compared with, under AWS's own runtime, each in a process of its own."""

import json
import ssl
import tempfile
import time
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from components.function import archive
from components.settings.args import minting_environment
from global_integers_core.lattice import MAX_INTEGER
from local.engine.inputs import as_json
from local.paths import ROOT
from proof.bench.figures import Columns, Figures, compared, measured
from proof.bench.runtime_api import Runtime, unpack
from proof.bench.stand_in import serving
from proof.simulation.dynamodb import Database

PYTHON = ROOT / ".venv-bench" / "bin" / "python"
"""It has AWS's runtime and boto3. The one of this process has more, which boto3 would use."""

OTHERS = ROOT / "proof" / "bench" / "subjects"
"""What ours is compared with, as its user would deploy it."""

SUBJECTS = {
    "empty": "empty function",
    "tutorial": "tutorial function (boto3)",
    "bare": "by hand, on a bare socket",
    "one": "ours",
    "block": "ours, count=100",
    "lease": "ours, lease=100",
}
ENVIRONMENT = {"lease": {"LEASE": "100"}}
QUERY = {"block": "count=100"}
INTEGERS = {"empty": 0, "block": 100}
"""How many a response has, if not one."""

COLUMNS: Columns = {
    "start_ms": ("start ms", "{:.0f}"),
    "first_ms": ("first ms", "{:.1f}"),
    "cpu_ms": ("CPU ms/request", "{:.3f}"),
    "peak_mb": ("peak MB", "{:.1f}"),
    "units": ("writes/integer", "{:.3f}"),
}
"""What one process needs. `start`: until the runtime asks for the first event; `first`: the first request."""

RATIOS = {"start_ms": "start", "cpu_ms": "CPU", "peak_mb": "memory"}
"""Also shown relative to the others'."""

WARM_UP = 20


def above_empty(figures: Figures, other: str) -> dict[str, float]:
    """Return start, processor time and memory above the empty function: ours divided by another one's."""
    ours, theirs, empty = figures["one"], figures[other], figures["empty"]
    return {column: (ours[column] - empty[column]) / (theirs[column] - empty[column]) for column in RATIOS}


def table(figures: Figures) -> str:
    """Return a table with a row per subject, then ours relative to others."""
    lines = [compared(figures, SUBJECTS, COLUMNS), ""]
    for other, title in {"tutorial": "tutorial", "bare": "by hand"}.items():
        parts = ", ".join(f"{RATIOS[column]} {ratio:.2f}" for column, ratio in above_empty(figures, other).items())
        lines.append(f"above the empty function, ours ÷ {title}: {parts}")
    return "\n".join(lines)


def measure(
    subjects: Iterable[str], rounds: int, requests: int, certificate: Path | None = None, **trusted: str
) -> Figures:
    """Return what each of `SUBJECTS` needs: medians over interleaved rounds, each of so many requests.

    With a certificate (a file of a key and its chain), they use https; `trusted` are variables that name its root.
    """
    if not PYTHON.exists():
        raise SystemExit("what is compared is not installed; `make .venv-bench/ready` installs it")
    database, tls = Database(metered=True), None
    item = {"issued": "0", "stride": "1", "ceiling": str(MAX_INTEGER), "epoch": "1"}
    counters = database.create(Runtime.region, "bench-counters").items
    for subject in SUBJECTS:
        counters[subject] = {"counter": {"S": subject}, **{name: {"N": number} for name, number in item.items()}}
    if certificate is not None:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(certificate)
    with tempfile.TemporaryDirectory() as folder, serving(database, tls=tls) as server:
        unpack(as_json(archive("mint", "aws_client")), Path(folder))
        more = {**trusted, "AWS_ENDPOINT_URL": server.url}

        def run(subject: str) -> dict[str, float]:
            with _runtime(subject, Path(folder), more) as runtime:
                return _measured(runtime, subject, requests, database)

        return measured({subject: partial(run, subject) for subject in subjects}, rounds)


def _runtime(subject: str, folder: Path, more: Mapping[str, str]) -> Runtime:
    """Return AWS's runtime for a subject; `folder` has the minting function's archive."""
    variables = {
        "COUNTERS_TABLE": "bench-counters",
        "RECEIPTS_TABLE": "bench-receipts",
        "DEFAULT_COUNTER": subject,
        **minting_environment(),
        **ENVIRONMENT.get(subject, {}),
        **more,
    }
    if (OTHERS / f"{subject}.py").exists():
        return Runtime(OTHERS, subject, f"{subject}.handler", variables=variables, python=str(PYTHON))
    return Runtime(folder, subject, "mint.handler.handler", variables=variables, python=str(PYTHON))


def _measured(runtime: Runtime, subject: str, requests: int, database: Database) -> dict[str, float]:
    event = {**json.loads((OTHERS / "event.json").read_text()), "rawQueryString": QUERY.get(subject, "")}

    def ask(times: int) -> None:
        for _ in range(times):
            assert runtime.invoke(event)["statusCode"] == 200

    start, writes, begun = runtime.start(), database.writes, time.perf_counter()
    ask(1)
    first = time.perf_counter() - begun
    ask(WARM_UP)
    before, _ = runtime.usage()
    ask(requests)
    cpu, peak = runtime.usage()
    found = {"start_ms": start * 1e3, "first_ms": first * 1e3, "cpu_ms": (cpu - before) / requests * 1e3}
    integers = (1 + WARM_UP + requests) * INTEGERS.get(subject, 1)
    return found | {"peak_mb": peak} | ({"units": (database.writes - writes) / integers} if integers else {})
