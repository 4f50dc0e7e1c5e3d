"""Run the subjects by AWS's own runtime, each in a process of its own, and the stub that responds at once."""

import json
import subprocess
import sys
import time
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from shutil import copytree
from statistics import median
from typing import Any, cast

from bench.figures import ALONE
from components.function.python_function import archive
from local.engine.inputs import as_json
from local.paths import ROOT
from local.server.runtime_api import FunctionError, LoadedFunction, Runtime, unpack

PYTHON = ROOT / ".venv-bench" / "bin" / "python"
"""It has AWS's runtime, and what the subjects need. The one of this process has more, which some packages would use."""

SUBJECTS = ROOT / "bench" / "subjects"
ENVIRONMENT = {"lease": {"LEASE": "100"}}
QUERY = {"block": "count=100"}
REGION = "us-east-1"
COUNTERS, RECORDS, RECEIPTS = "bench-counters", "bench-records", "bench-receipts"
WARM_UP = 20
Run = dict[str, Any]


def check_installed() -> None:
    """Check that what ours is compared with is there."""
    if not PYTHON.exists():
        raise SystemExit("what is compared is not installed; `make .venv-bench/ready` installs it")


class Bench:
    """The subjects' archives, unpacked in a folder."""

    def __init__(self, folder: Path) -> None:
        check_installed()
        self._ours, self._others = folder / "ours", folder / "others"
        unpack(as_json(archive("mint", "aws")), self._ours)
        copytree(SUBJECTS, self._others)
        self._event: dict[str, Any] = json.loads((SUBJECTS / "event.json").read_text())

    def run(
        self, subject: str, endpoint: str, requests: int, seconds: float = 60, more: Mapping[str, str] | None = None
    ) -> Run:
        """Run one subject, for so many requests or seconds, whichever ends first. Return its figures.

        `more` are further variables of its environment.
        """
        theirs = (self._others / f"{subject}.py").exists()
        handler, folder = (f"{subject}.handler", self._others) if theirs else ("mint.handler.handler", self._ours)
        variables = {
            "COUNTERS_TABLE": COUNTERS,
            "RECORDS_TABLE": RECORDS,
            "RECEIPTS_TABLE": RECEIPTS,
            "DEFAULT_COUNTER": subject,
            "IDEMPOTENCY_HOURS": "24",
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            **ENVIRONMENT.get(subject, {}),
            **(more or {}),
        }
        event = {**self._event, "rawQueryString": QUERY.get(subject, "")}
        with Runtime(LoadedFunction(subject, handler, REGION, variables), folder, python=str(PYTHON)) as runtime:
            try:
                return _measured(runtime, event, requests, seconds)
            except FunctionError as failed:
                raise SystemExit(f"{subject} failed: {failed}\n{runtime.log}") from failed


def _measured(runtime: Runtime, event: Mapping[str, Any], requests: int, seconds: float) -> Run:
    start, clock = runtime.start(), time.perf_counter
    begun = clock()
    integers = _minted(runtime.invoke(event))
    first = clock() - begun
    for _ in range(min(WARM_UP, requests)):
        integers += _minted(runtime.invoke(event))
    made, done, cpu, begun = len(integers), 0, runtime.usage().cpu_seconds, clock()
    while done < requests and clock() - begun < seconds:
        integers += _minted(runtime.invoke(event))
        done += 1
    wall, usage = clock() - begun, runtime.usage()
    return {
        "start_ms": start * 1000,
        "first_ms": first * 1000,
        "cpu_ms": (usage.cpu_seconds - cpu) / done * 1000,
        "requests_per_s": done / wall,
        "integers_per_s": (len(integers) - made) / wall,
        "peak_mb": usage.peak_mb,
        "integers": integers,
    }


def alone(
    bench: Bench,
    subjects: Iterable[str],
    endpoint: str,
    rounds: int,
    requests: int,
    more: Mapping[str, str] | None = None,
) -> dict[str, dict[str, float]]:
    """Return start, processor time and memory of each subject: medians over interleaved rounds."""
    runs: dict[str, list[Run]] = {subject: [] for subject in subjects}
    for _ in range(rounds):
        for subject, made in runs.items():
            made.append(bench.run(subject, endpoint, requests, more=more))
    return {subject: {c: median(run[c] for run in made) for c in ALONE} for subject, made in runs.items()}


def _minted(response: Mapping[str, Any]) -> list[int]:
    """Return the integers of a response; none of the subjects that mint nothing."""
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


@contextmanager
def stub(certificate: Path | None = None) -> Generator[str]:
    """Run the stub, and give its endpoint. With a certificate, a file of its key and its chain, it has TLS."""
    command = [sys.executable, "-m", "bench.stub", *([str(certificate)] if certificate else [])]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        try:
            yield f"{'https' if certificate else 'http'}://127.0.0.1:{port}"
        finally:
            process.terminate()
