"""Looks for tests whose outcome depends on the machine: `python -m tools.flaky`, or `make flaky`.

It runs the tests of `make test`, and the long ones that depend most on what happens at the same time, again and again.
Each time, the files come in another order. Six of ten times, another order runs at the same time, so that the machine
is busy. What they printed is kept in `.flaky/`.
"""

import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from local.paths import ROOT

ROUNDS = ((1,), (2, 3), (4,), (5, 6), (7,), (8, 9), (10,))
"""The orders that run at the same time."""

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


def run(order: int) -> bool:
    """Run the tests in an order. Return whether they passed."""
    log, began = LOGS / f"{order}.log", time.monotonic()
    command = [sys.executable, "-m", "pytest", "-q", f"--file-order={order}"]
    with log.open("w") as output:
        short, long = (
            subprocess.call([*command, *chosen], cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
            for chosen in ((), ("-m", "long", *SLOWEST))
        )
    ends = re.findall(r"^(?:\d+ (?:passed|failed|error)|FAILED|ERROR).*", log.read_text(), re.MULTILINE)
    print("\n  ".join([f"order {order}, {time.monotonic() - began:.0f} s: {log}", *ends]), flush=True)
    return not (short or long)


def main() -> int:
    """Run the tests in all orders. Return how many failed."""
    LOGS.mkdir(exist_ok=True)
    with ThreadPoolExecutor(2) as pool:
        return sum(not passed for at_once in ROUNDS for passed in pool.map(run, at_once))


if __name__ == "__main__":
    sys.exit(main())
