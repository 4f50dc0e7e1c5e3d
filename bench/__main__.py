"""`make bench`: the minting function beside what users would otherwise deploy, in one run.

All run under AWS's own runtime for Python, and an empty function shows what that needs itself.

Processor time, start and memory against a stub that answers at once; write units, throughput and
contention against DynamoDB's API (ministack, or another server such as DynamoDB Local by `--endpoint`).
Then the client, beside other sources of ids, over a stack on this machine.
Medians over interleaved rounds, each subject in a process of its own.
"""

import argparse
import os
import tempfile
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from bench import callers, https
from bench.counting import Relay
from bench.figures import ALONE, FILE, table, write
from bench.processes import COUNTERS, RECEIPTS, RECORDS, REGION, Bench, Run, alone, stub
from bench.program import costs
from bench.program import table as program_table
from integers.lattice import MAX_INTEGER
from local.paths import ROOT
from local.resources import Aws
from local.server.server import SERVICE, start

WRITERS = 8
MINTING = ("tutorial", "autoincrement", "one", "block", "lease")


def together(bench: Bench, endpoint: str, rounds: int, seconds: float) -> dict[str, dict[str, float]]:
    """Return throughput of one function, write units, and the share of refused writes of 8 writers at once."""
    figures: dict[str, dict[str, float]] = {subject: {} for subject in MINTING}
    runs: dict[str, list[Run]] = {subject: [] for subject in MINTING}
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
def ministack(folder: Path) -> Generator[str]:
    """Run the local AWS server with its state in `folder`, and give its endpoint."""
    os.environ["GLOBAL_INTEGERS_LOCAL"] = str(folder)
    try:
        yield start(0).endpoint
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
        bench = Bench(Path(name) / "archives")
        with stub() as endpoint:
            first = alone(bench, ("empty", *MINTING), endpoint, options.rounds, options.requests)
        with ministack(Path(name) / "local") if not options.endpoint else given(options.endpoint) as endpoint:
            prepare(endpoint)
            more = together(bench, endpoint, max(1, options.rounds // 3), options.seconds)
        secure = https.measure(bench, Path(name), options.rounds, options.requests)
    figures = {subject: {**row, **more.get(subject, {})} for subject, row in first.items()}
    print(table(figures))
    print(f"\nwith https\n{table(secure, ALONE)}")
    program = costs()
    print(f"\nthe program under mocks\n{program_table(program)}")
    clients = callers.measure(max(1, options.rounds // 3), options.seconds)
    print(f"\nthe client, beside other sources of ids\n{callers.table(clients)}")
    if options.keep:
        write(subjects=figures, https=secure, program=program, callers=clients)


@contextmanager
def given(endpoint: str) -> Generator[str]:
    """Give the endpoint that the user named."""
    yield endpoint


if __name__ == "__main__":
    main()
