"""`make bench`: the minting function beside what users would otherwise deploy, in one run.

Processor time, start and memory against a stub that answers at once; write units, throughput and
contention against DynamoDB's API (ministack, or another server such as DynamoDB Local by `--endpoint`).
Then the client, beside other sources of ids, over a stack on this machine.
Medians over interleaved rounds, each subject in a process of its own.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from json import loads
from pathlib import Path
from statistics import median
from typing import Any

from bench import callers
from bench.counting import Relay
from bench.figures import FILE, SUBJECTS, table, write
from bench.program import costs
from bench.program import table as program_table
from components.archive import archived
from integers.lattice import MAX_INTEGER
from local.paths import ROOT
from local.ports import any_free_port
from local.resources import Aws
from local.server import SERVICE, start

OTHERS = ROOT / ".venv-bench" / "bin" / "python"
"""The Python of `dynamodb-autoincrement`, which needs other versions of the same packages."""

ENVIRONMENT = {"block": {"COUNT": "100"}, "lease": {"LEASE": "100"}}
REGION = "us-east-1"
COUNTERS, RECORDS, RECEIPTS = "bench-counters", "bench-records", "bench-receipts"
WRITERS = 8
Run = dict[str, Any]


class Bench:
    """The subjects, in a folder with exactly what a function's archive holds, so without compiled byte code."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, source in archived("mint", "aws").items():
            self._copy(source, name)
        for source in (*ROOT.glob("bench/subject*.py"), *ROOT.glob("bench/subjects/*.*")):
            self._copy(source, source.relative_to(ROOT).as_posix())

    def _copy(self, source: Path, name: str) -> None:
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)

    def run(self, subject: str, endpoint: str, requests: int, seconds: float = 60) -> Run:
        """Run one subject, for so many requests or seconds, whichever ends first. Return its figures."""
        module = subject if subject in ("tutorial", "autoincrement") else "ours"
        python = str(OTHERS) if subject == "autoincrement" else sys.executable
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "PYTHONPATH": str(self.folder),
            "PYTHONDONTWRITEBYTECODE": "1",
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            "COUNTERS_TABLE": COUNTERS,
            "RECORDS_TABLE": RECORDS,
            "RECEIPTS_TABLE": RECEIPTS,
            "DEFAULT_COUNTER": subject,
            "IDEMPOTENCY_HOURS": "24",
            **ENVIRONMENT.get(subject, {}),
        }
        done = subprocess.run(
            [python, "-m", "bench.subject", module, str(requests), str(seconds)],
            env=environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"{subject} failed:\n{done.stderr}")
        return loads(done.stdout)


def alone(bench: Bench, rounds: int, requests: int) -> dict[str, dict[str, float]]:
    """Return start, processor time and memory of each subject, against the stub."""
    runs: dict[str, list[Run]] = {subject: [] for subject in SUBJECTS}
    with stub() as endpoint:
        for _ in range(rounds):
            for subject, made in runs.items():
                made.append(bench.run(subject, endpoint, requests))
    columns = ("init_ms", "first_ms", "cpu_ms", "peak_mb")
    return {subject: {c: median(run[c] for run in made) for c in columns} for subject, made in runs.items()}


def together(bench: Bench, endpoint: str, rounds: int, seconds: float) -> dict[str, dict[str, float]]:
    """Return throughput of one function, write units, and the share of refused writes of 8 writers at once."""
    figures: dict[str, dict[str, float]] = {subject: {} for subject in SUBJECTS}
    runs: dict[str, list[Run]] = {subject: [] for subject in SUBJECTS}
    for _ in range(rounds):
        for subject, made in runs.items():
            made.append(bench.run(subject, endpoint, 10**9, seconds))
    for subject, made in runs.items():
        for column in ("requests_per_s", "integers_per_s"):
            figures[subject][column] = median(run[column] for run in made)
        with Relay(endpoint) as relay:
            one = bench.run(subject, relay.endpoint, 10**9, seconds)
            figures[subject]["units"] = relay.counts["write units"] / len(one["integers"])
        with Relay(endpoint) as relay, ThreadPoolExecutor(WRITERS) as pool:
            all_runs = list(pool.map(bench.run, [subject] * WRITERS, [relay.endpoint] * WRITERS, [60] * WRITERS))
            figures[subject]["refused"] = relay.counts["refused"] / relay.counts["writes"]
        integers = [n for run in (*made, one, *all_runs) for n in run["integers"]]
        assert len(integers) == len(set(integers)), f"{subject} minted an integer twice"
    return figures


@contextmanager
def stub() -> Generator[str]:
    """Run the stub, and give its endpoint."""
    port = any_free_port()
    command = [sys.executable, "-m", "bench.stub", str(port)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()


@contextmanager
def ministack(folder: Path) -> Generator[str]:
    """Run the local AWS server with its state in `folder`, and give its endpoint."""
    os.environ["GLOBAL_INTEGERS_LOCAL"] = str(folder)
    try:
        yield start(any_free_port()).endpoint
    finally:
        SERVICE.stop()


def prepare(endpoint: str) -> None:
    """Tables, and a counter for each subject of ours, as the coordinator lays it out in a single region."""
    client = Aws(endpoint).client("dynamodb", REGION)
    for name, key, kind in ((COUNTERS, "counter", "S"), (RECORDS, "value", "N"), (RECEIPTS, "receipt", "S")):
        if name in client.list_tables()["TableNames"]:
            client.delete_table(TableName=name)
        client.create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S" if kind == "S" else "N"}],
        )
    for subject in ("one", "block", "lease"):
        numbers = {"issued": 0, "stride": 1, "ceiling": MAX_INTEGER, "epoch": 1}
        item = {name: {"N": str(number)} for name, number in numbers.items()}
        client.put_item(TableName=COUNTERS, Item={"counter": {"S": subject}, **item})


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--endpoint", help="of DynamoDB's API instead of ministack; tables bench-… are recreated there")
    parser.add_argument("--rounds", type=int, default=9, help="interleaved rounds (default: 9)")
    parser.add_argument("--requests", type=int, default=1000, help="a round and subject at the stub (default: 1000)")
    parser.add_argument("--seconds", type=float, default=3, help="a round and subject at DynamoDB (default: 3)")
    parser.add_argument("--keep", action="store_true", help=f"write the figures to {FILE.relative_to(ROOT)}")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name) / "archive")
        figures: dict[str, Mapping[str, float]] = {**alone(bench, options.rounds, options.requests)}
        with ministack(Path(name) / "local") if not options.endpoint else given(options.endpoint) as endpoint:
            prepare(endpoint)
            more = together(bench, endpoint, max(1, options.rounds // 3), options.seconds)
    figures = {subject: {**figures[subject], **more[subject]} for subject in SUBJECTS}
    print(table(figures))
    program = costs()
    print(f"\nthe program under mocks\n{program_table(program)}")
    clients = callers.measure(max(1, options.rounds // 3), options.seconds)
    print(f"\nthe client, beside other sources of ids\n{callers.table(clients)}")
    if options.keep:
        write(figures, program, clients)


@contextmanager
def given(endpoint: str) -> Generator[str]:
    """Give the endpoint that the user named."""
    yield endpoint


if __name__ == "__main__":
    main()
