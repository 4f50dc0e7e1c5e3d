"""Reports what the coordinator does while it does it, by reading the registers."""

from collections.abc import Generator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from integers.names import CHECK_COUNTER

from .resources.kind import Aws
from .terminal import say

PERIOD = 0.05
"""Seconds between two reads. A shorter phase may not be seen."""

MAX_LINES = 30
"""Of thousands of counters, the first lines are enough to see that it goes on."""


@contextmanager
def reported(aws: Aws, region: str, function: str) -> Generator[None]:
    """Print every phase of every counter while the block runs, if the function is a coordinator."""
    configuration = aws.client("lambda", region).get_function_configuration(FunctionName=function)
    table = configuration.get("Environment", {}).get("Variables", {}).get("LAYOUTS_TABLE")
    if table is None:
        yield
        return
    ended = Event()
    before = _phases(aws, region, table)
    watch = Thread(target=_watch, args=(aws, region, table, before, ended), daemon=True)
    watch.start()
    try:
        yield
    finally:
        ended.set()
        watch.join()


def _watch(aws: Aws, region: str, table: str, seen: dict[str, str], ended: Event) -> None:
    """Print what changes. `seen` is the phase of every counter before."""
    lines = 0
    while True:
        last = ended.wait(PERIOD)
        for counter, now in _phases(aws, region, table).items():
            if seen.get(counter) != now:
                seen[counter] = now
                lines += 1
                if lines <= MAX_LINES:
                    say(f"  layout    {counter}: {now}")
        if last:
            break
    if lines > MAX_LINES:
        say(f"  layout    … and {lines - MAX_LINES} more")


def _phases(aws: Aws, region: str, table: str) -> dict[str, str]:
    """Return every counter's phase."""
    return {counter: phase(register) for counter, register in registers(aws, region, table).items()}


def registers(aws: Aws, region: str, table: str) -> dict[str, dict[str, Any]]:
    """Return every counter's register."""
    found: list[dict[str, Any]] = []
    for page in aws.client("dynamodb", region).get_paginator("scan").paginate(TableName=table):
        found += page["Items"]
    counters = {register["counter"]["S"]: register for register in found if "epoch" in register}
    return {counter: register for counter, register in counters.items() if counter != CHECK_COUNTER}


def phase(register: dict[str, Any]) -> str:
    """Return a counter's epoch in words, and the regions that don't mint in it yet."""
    epoch = f"epoch {register['epoch']['N']} from {register['base']['N']}"
    regions = [region["S"] for region in register["regions"]["L"]]
    waiting = [
        region for region, id_ in zip(regions, register.get("ids", {}).get("L", ()), strict=False) if "NULL" in id_
    ]
    return f"{epoch}: waiting for {', '.join(waiting)}" if waiting else epoch
