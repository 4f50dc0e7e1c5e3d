"""Kills the functions' processes now and then."""

from random import Random
from threading import Event

from local.ports import has_socket

from .stack import NAMES, Stack

EVERY = 1.0
"""Seconds between two kills, on average."""

COORDINATORS = 0.05
"""The share of kills that hit the coordinator."""


def kill_functions(stack: Stack, random: Random, stop: Event, share: float = COORDINATORS) -> None:
    """Kill a function's process now and then, until `stop`. A `share` of the kills hits the coordinator.

    Only processes that have started are killed: they have called DynamoDB, and keep that connection. If one ends while
    it starts, ministack ends all processes of that function, also those that are starting, and so on.
    """
    while not stop.wait(random.expovariate(1 / EVERY)):
        minting, coordinating = (stack.functions(name) for name in (NAMES.mint_function, NAMES.coordinate_function))
        started = [process for process in (coordinating if random.random() < share else minting) if has_socket(process)]
        if started:
            stack.kill(random.choice(started))
            stack.proxy.injected["functions killed"] += 1
