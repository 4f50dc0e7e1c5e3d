"""Looks for tests whose outcome depends on the machine: `python -m tools.flaky`, or `make flaky`.

It runs the tests of `make test`, and the long ones that depend most on what happens at the same time, again and again.
Every second time, two busy processes for each processor take most of the machine. Each time, the files come in another
order. What they printed is kept in `.flaky/`.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, nullcontext

from local.paths import ROOT

TIMES = 10
BUSY_PER_PROCESSOR = 2
SLOWEST = (
    "tests/local/server/test_saved.py",
    "tests/local/apigateway",
    "tests/local/test_environment.py",
    "tests/local/test_interrupt.py",
    "tests/recipes",
    "tests/proof/chaos/test_chaos.py::test_clients_of_the_other_regions_see_no_failure",
)
"""Where the long tests are that are run, too."""

LOGS = ROOT / ".flaky"


@contextmanager
def busy() -> Generator[None]:
    """Keep the processors busy. The processes also end if this one is killed."""
    count = BUSY_PER_PROCESSOR * len(os.sched_getaffinity(0))
    program = "import select, sys\nwhile not select.select([sys.stdin], [], [], 0)[0]: pass"
    processes = [subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.communicate()  # its input has ended, and so does it


def main() -> int:
    """Run the tests so many times. Return how many runs failed."""
    LOGS.mkdir(exist_ok=True)
    failed = 0
    for order in range(1, TIMES + 1):
        log, began = LOGS / f"{order}.log", time.monotonic()
        command = [sys.executable, "-m", "pytest", "-q", f"--file-order={order}"]
        with nullcontext() if order % 2 else busy(), log.open("w") as output:
            for chosen in ((), ("-m", "long", *SLOWEST)):
                ended = subprocess.run([*command, *chosen], cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
                failed += ended.returncode != 0
        print(f"order {order}, {'quiet' if order % 2 else 'busy'}, {time.monotonic() - began:.0f} s: {log}", flush=True)
        ends = re.findall(r"^(?:\d+ (?:passed|failed|error)|FAILED|ERROR).*", log.read_text(), re.MULTILINE)
        print(*(f"  {line}\n" for line in ends), sep="", end="", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
