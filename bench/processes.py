"""Run the subjects, each in a process of its own, and the stub that responds at once."""

import os
import shutil
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from json import loads
from pathlib import Path
from typing import Any

from components.archive import archived
from local.paths import ROOT
from local.ports import any_free_port

OTHERS = ROOT / ".venv-bench" / "bin" / "python"
"""The Python of `dynamodb-autoincrement`, which needs other versions of the same packages."""

ENVIRONMENT = {"block": {"COUNT": "100"}, "lease": {"LEASE": "100"}}
REGION = "us-east-1"
COUNTERS, RECORDS, RECEIPTS = "bench-counters", "bench-records", "bench-receipts"
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

    def run(
        self, subject: str, endpoint: str, requests: int, seconds: float = 60, more: Mapping[str, str] | None = None
    ) -> Run:
        """Run one subject, for so many requests or seconds, whichever ends first. Return its figures.

        `more` are further variables of its environment.
        """
        module = subject if subject in ("tutorial", "autoincrement", "exchange") else "ours"
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
            **(more or {}),
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


@contextmanager
def stub(certificate: Path | None = None) -> Generator[str]:
    """Run the stub, and give its endpoint. With a certificate, a file of its key and its chain, it has TLS."""
    port = any_free_port()
    command = [sys.executable, "-m", "bench.stub", str(port), *([str(certificate)] if certificate else [])]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield f"{'https' if certificate else 'http'}://127.0.0.1:{port}"
        finally:
            process.terminate()
