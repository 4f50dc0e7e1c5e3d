"""Kills the functions' processes now and then."""

import time
from random import Random
from threading import Event

from .stack import NAMES, Stack

EVERY = 1.0
"""Seconds between two kills, on average."""

COORDINATORS = 0.05
"""The share of kills that hit the coordinator."""

STARTED = 4.0
"""Seconds after which a function's process has certainly started."""


def kill_functions(stack: Stack, random: Random, stop: Event, share: float = COORDINATORS) -> None:
    """Kill a function's process now and then, until `stop`. A `share` of the kills hits the coordinator.

    Only processes that have started are killed. If one ends while it starts, ministack ends all processes of that
    function, also those that are starting, and so on.
    """
    seen: dict[int, float] = {}
    while not stop.wait(random.expovariate(1 / EVERY)):
        minting, coordinating = (stack.functions(name) for name in (NAMES.mint_function, NAMES.coordinate_function))
        now = time.monotonic()
        seen = {process: seen.get(process, now) for process in (*minting, *coordinating)}
        chosen = coordinating if random.random() < share else minting
        started = [process for process in chosen if now - seen[process] > STARTED]
        if started:
            stack.kill(random.choice(started))
            stack.proxy.injected["functions killed"] += 1
