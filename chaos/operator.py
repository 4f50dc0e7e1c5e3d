"""The stack's operator and schedule: deployments and runs of the coordinator, repeated until they succeed.

It also kills the functions' processes now and then.
"""

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from threading import Event
from typing import Any

import psutil

from .history import History
from .stack import NAMES, RunFailed, Stack

EVERY = 1.0
"""Seconds between two kills, on average."""

COORDINATORS = 0.05
"""The share of kills that hit the coordinator."""


def kill_functions(stack: Stack, random: Random, stop: Event, share: float = COORDINATORS) -> None:
    """Kill a function's process now and then, until `stop`. A `share` of the kills hits the coordinator."""
    while not stop.wait(random.expovariate(1 / EVERY)):
        name = NAMES.coordinate_function if random.random() < share else NAMES.mint_function
        if started := stack.functions(name):
            with suppress(psutil.NoSuchProcess):
                random.choice(started).kill()
            stack.proxy.injected["functions killed"] += 1


COUNTERS = ("integers", "orders")
BULK = "bulk"
"""The counter of which only the largest blocks are minted."""

WINDOW, HEADROOM = 20_000, 500
SETTINGS = {
    "counters": [*COUNTERS, BULK],
    "apiGateway": True,
    "window": WINDOW,
    "headroom": HEADROOM,
    "watchMinutes": 60,
}
"""The settings of every deployment, unless an event has others.

The window and the headroom are small, so that limits are raised often and gaps stay small. The stack's own schedule
is slow, so that the runs that are made here are the only ones.
"""

ATTEMPTS = 8
"""How many deployments or runs of the coordinator are made until something must have healed."""

PATIENCE = 150.0
"""Seconds for which a run that was killed may hold up the next one."""


class NotHealed(Exception):
    """Something was not repaired. The message says what, and what the coordinator said."""


@dataclass
class Operator:
    """Deploys, and runs the coordinator."""

    stack: Stack
    history: History
    say: Callable[[str], None]
    desired: dict[str, Any] = field(default_factory=SETTINGS.copy)
    """The settings of the last deployment, whether it succeeded or not."""
    failed: Counter[str] = field(default_factory=Counter[str])
    """Deployments and runs that failed, by kind."""
    done: int = 0
    """Deployments and runs that succeeded."""

    def deploy(self, **settings: Any) -> None:
        """Deploy until it succeeds. Settings that aren't given stay.

        Raises:
            NotHealed: it failed too often.
        """
        self.desired |= settings
        self._until("deployment", lambda: self.stack.deploy(self.desired))

    def watch(self) -> None:
        """Run the coordinator until every region that can be reached has followed.

        Raises:
            NotHealed: it failed too often, or a region doesn't follow.
        """
        self._until("run of the coordinator", self._watch)

    def _watch(self) -> str:
        """Make one run, and return what is left to do. It ends the excepted time of the restored tables it handled."""
        patience = time.monotonic() + PATIENCE
        while True:
            began = time.monotonic()
            reply = self.stack.watch()
            if "skipped" not in reply:
                break
            self.failed["run skipped"] += 1
            if time.monotonic() > patience:
                raise RunFailed(str(reply))
            time.sleep(1)
        pending = set(reply.get("pending", ()))
        unfinished = bool(reply.get("unfinished"))
        for restoration in self.history.restorations:
            seen_to = restoration.region not in pending and not unfinished
            if restoration.open and restoration.began <= began and seen_to:
                restoration.ended = time.monotonic()
        away = self.stack.proxy.faults.unreachable | self.stack.proxy.faults.out
        return f"pending: {', '.join(sorted(pending))}; {reply}" if unfinished or pending - away else ""

    def _until(self, what: str, run: Callable[[], str | None]) -> None:
        said: str | None = None
        for _ in range(ATTEMPTS):
            try:
                said = run()
            except RunFailed as failure:
                said = str(failure)
                self.failed[what] += 1
                self.say(f"{what} failed: {_brief(said)}")
            else:
                self.done += 1
                if not said:
                    return
            time.sleep(0.2)
        raise NotHealed(f"no {what} has succeeded in {ATTEMPTS} attempts: {said}")


def _brief(said: str) -> str:
    """Return the first line of a message, or the last one of a traceback."""
    lines = said.splitlines()
    return lines[-1 if "Traceback" in said else 0][:200]
