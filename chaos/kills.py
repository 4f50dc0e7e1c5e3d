"""Kills the functions' processes now and then."""

from pathlib import Path
from random import Random
from threading import Event

from .stack import NAMES, Stack

EVERY = 1.0
"""Seconds between two kills, on average."""

COORDINATORS = 0.05
"""The share of kills that hit the coordinator."""


def kill_functions(stack: Stack, random: Random, stop: Event, share: float = COORDINATORS) -> None:
    """Kill a function's process now and then, until `stop`. A `share` of the kills hits the coordinator.

    Only processes that have started are killed. If one ends while it starts, ministack ends all processes of that
    function, also those that are starting, and so on.
    """
    while not stop.wait(random.expovariate(1 / EVERY)):
        minting, coordinating = (stack.functions(name) for name in (NAMES.mint_function, NAMES.coordinate_function))
        started = [process for process in (coordinating if random.random() < share else minting) if _started(process)]
        if started:
            stack.kill(random.choice(started))
            stack.proxy.injected["functions killed"] += 1


def _started(process: int) -> bool:
    """Return whether a function's process has called DynamoDB, to which it keeps a connection."""
    try:
        return any(str(file.readlink()).startswith("socket:") for file in Path(f"/proc/{process}/fd").iterdir())
    except OSError:  # it has ended
        return False
