"""What happens to the stack while clients mint: each event is one kind of change, loss or failure."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from threading import Event, Thread
from typing import Any

from .book import Book, Restoration
from .stack import HOME, NAMES, REGIONS, RunFailed, Stack
from .tables import Backup, back_up, lose, restore

FEWEST = 3
"""Regions of a layout, at least."""

COUNTERS = ("integers", "orders")
SETTINGS = {"counters": list(COUNTERS), "apiGateway": True, "window": 20_000, "headroom": 500}
"""The window and the headroom are small, so that limits are raised often and gaps stay small."""

LEASES = (1, 20)
"""A change makes the functions start afresh, so it happens at every third change of regions."""

ATTEMPTS = 8
"""Deployments or runs of the coordinator until something must have healed."""

KILL_EVERY = 1.0
"""Seconds between two kills of a function's process, on average."""

COORDINATORS = 0.05
"""The share of kills that are the coordinator's."""

STARTED = 4.0
"""Seconds after which a function's process has certainly started."""


class NotHealed(Exception):
    """Something was not mended. The message says what, and what the coordinator said."""


@dataclass
class Events:
    """The events, on one stack."""

    stack: Stack
    book: Book
    random: Random
    say: Callable[[str], None]
    backups: dict[str, Backup] = field(default_factory=dict[str, Backup])
    """The last backup of a region's counters table, by region, and of the layouts table."""
    failed: Counter[str] = field(default_factory=Counter[str])
    """Deployments and runs of the coordinator that failed, by kind."""
    runs: int = 0
    """Deployments and runs of the coordinator that succeeded."""
    wish: dict[str, Any] = field(default_factory=dict[str, Any])

    # What the events are made of.

    def deploy(self, **settings: Any) -> None:
        """Deploy until it succeeds, as an operator would. Without settings, what was asked for last.

        Raises:
            NotHealed: it failed too often.
        """
        self.wish = {**SETTINGS, **self.wish, **settings}
        self._until_done("deployment", lambda: self.stack.deploy(self.wish))

    def watch(self) -> None:
        """Run the coordinator as the schedule does, until nothing is pending.

        Raises:
            NotHealed: it failed too often, or something stays pending.
        """
        self._until_done("run of the coordinator", self.stack.watch)

    def _until_done(self, what: str, run: Callable[[], dict[str, Any]]) -> None:
        said = ""
        for _ in range(ATTEMPTS):
            began = time.monotonic()
            try:
                pending = self._pending(run())
            except RunFailed as failure:
                self.failed[what] += 1
                said = str(failure)
                self.say(f"{what} failed: {_brief(said)}")
                time.sleep(0.2)
                continue
            self.runs += 1
            for restoration in self.book.restorations:
                if restoration.open and restoration.began <= began and restoration.region not in pending:
                    restoration.ended = time.monotonic()
            if not pending - self.stack.proxy.faults.unreachable:
                return
            said = f"pending: {', '.join(sorted(pending))}"
            time.sleep(0.2)
        raise NotHealed(f"no {what} has succeeded in {ATTEMPTS} attempts: {said}")

    def _pending(self, reply: dict[str, Any]) -> set[str]:
        """Return the regions that the coordinator couldn't see to, from its reply or a deployment's outputs."""
        counters: dict[str, dict[str, Any]] = reply.get("counters") or {}
        return {region for part in (reply, *counters.values()) for region in part.get("pending") or ()}

    def _other_regions(self, keep: Sequence[str] = ()) -> list[str]:
        """Return other regions than now, or the same ones in another order. `keep` stay."""
        while True:
            chosen = self.random.sample(REGIONS, self.random.randint(FEWEST, len(REGIONS)))
            chosen += [region for region in keep if region not in chosen]
            if chosen != self.wish["regions"]:
                return chosen

    def _traffic(self, shortest: float, longest: float) -> None:
        time.sleep(self.random.uniform(shortest, longest))

    def _client(self, region: str) -> Any:
        return self.stack.aws.client("dynamodb", region)

    def _one_region(self) -> str:
        return self.random.choice(self.wish["regions"])

    # The events.

    def regions(self) -> None:
        """Regions come and go, and the lease changes."""
        lease = {"lease": self.random.choice(LEASES)} if self.random.random() < 0.3 else {}
        self.deploy(regions=self._other_regions(), **lease)
        self.say(f"regions: {', '.join(self.wish['regions'])}")

    def leaving(self) -> None:
        """A region leaves the layout and stays there to say where to go; then it is deleted or comes back."""
        region = self._one_region()
        others = [other for other in REGIONS if other != region]
        before, self.wish["regions"] = self.wish["regions"], others[:FEWEST]
        self.deploy(leaving=[region])
        self._traffic(0.5, 1.5)
        back = self.random.random() < 0.5
        self.deploy(regions=before if back else self.wish["regions"], leaving=[])
        self.say(f"{region} was leaving and {'came back' if back else 'was deleted'}")

    def killed_deployment(self) -> None:
        """Kill a deployment of other regions at any moment, then change the regions again or back."""
        before = self.wish["regions"]
        after = self.random.uniform(1.0, 5.0)
        wish = {**self.wish, "regions": self._other_regions()}
        try:
            self.stack.deploy(wish, kill_after=after)
            said = f"a deployment was done before {after:.1f} s"
        except RunFailed:
            said = f"a deployment was killed after {after:.1f} s or failed"
        self._traffic(0, 1)
        self.deploy(regions=self.random.choice([before, wish["regions"], self._other_regions()]))
        self.say(f"{said}; then regions: {', '.join(self.wish['regions'])}")

    def lost_table(self) -> None:
        """A region's counters table is deleted; the next deployment makes it anew, empty."""
        region = self._one_region()
        lose(self._client(region), NAMES.counters_table)
        self._traffic(0.5, 1.5)
        self.deploy()
        self.watch()
        self.say(f"counters table deleted and made anew: {region}")

    def restored_table(self) -> None:
        """A region's counters table is restored to an earlier moment, behind everyone's back."""
        region = self._one_region()
        client = self._client(region)
        backup = self.backups.get(region) if self.random.random() < 0.5 else None
        backup = backup or back_up(client, NAMES.counters_table)
        self._traffic(1, 2)
        self.backups[region] = back_up(client, NAMES.counters_table)
        lose(client, NAMES.counters_table)
        self.book.restorations.append(Restoration(region, time.monotonic()))
        restore(client, backup)
        self._traffic(0.3, 1)
        self.watch()
        self.say(f"counters table restored: {region}")

    def lost_layouts(self) -> None:
        """The layouts table is deleted; the next deployment makes it anew, empty."""
        lose(self._client(HOME), NAMES.layouts_table)
        self._traffic(0.2, 1)
        self.deploy()
        self.watch()
        self.say("layouts table deleted and made anew")

    def restored_layouts(self) -> None:
        """The layouts table is restored to what it was before the last change of regions."""
        client = self._client(HOME)
        backup = back_up(client, NAMES.layouts_table)
        self.deploy(regions=self._other_regions())
        self._traffic(0.2, 1)
        lose(client, NAMES.layouts_table)
        restore(client, backup)
        self.watch()
        self.deploy()
        self.say("layouts table restored to an earlier epoch")

    def cut_off(self) -> None:
        """A region is cut off while regions change, and comes back."""
        faults = self.stack.proxy.faults
        region = self.random.choice([region for region in self.wish["regions"] if region != HOME] or REGIONS[1:])
        faults.silent = self.random.random() < 0.5
        faults.unreachable.add(region)
        try:
            self._traffic(0, 1)
            self.deploy(regions=self._other_regions(keep=[region] if self.random.random() < 0.5 else []))
            self._traffic(0, 1)
        finally:
            faults.unreachable.discard(region)
        self.watch()
        self.say(f"{region} was cut off; regions: {', '.join(self.wish['regions'])}")

    def unreachable(self) -> None:
        """A region is away for a while, and nothing else happens."""
        faults = self.stack.proxy.faults
        region = self._one_region()
        faults.silent = self.random.random() < 0.5
        faults.unreachable.add(region)
        self._traffic(0.5, 2)
        faults.unreachable.discard(region)
        self.say(f"{region} was away")

    def schedule(self) -> None:
        """The coordinator runs as by its schedule, twice at the same time."""
        other = Thread(target=self._quietly, args=(self.stack.watch,))
        other.start()
        self.watch()
        other.join()

    def _quietly(self, run: Callable[[], object]) -> None:
        try:
            run()
        except RunFailed:
            self.failed["run of the coordinator"] += 1


def _brief(said: str) -> str:
    """Return the first line of a message, or the last one of a traceback."""
    lines = said.splitlines()
    return lines[-1 if "Traceback" in said else 0][:200]


def kill_functions(stack: Stack, random: Random, stop: Event) -> None:
    """Kill a function's process now and then, until `stop`: a minting one, less often the coordinator's.

    Only processes that have started: where one ends while it starts, ministack ends all processes of that function,
    those that are starting too, and so on.
    """
    seen: dict[int, float] = {}
    while not stop.wait(random.expovariate(1 / KILL_EVERY)):
        minting, coordinating = (stack.functions(name) for name in (NAMES.mint_function, NAMES.coordinate_function))
        now = time.monotonic()
        seen = {process: seen.get(process, now) for process in (*minting, *coordinating)}
        chosen = coordinating if random.random() < COORDINATORS else minting
        started = [process for process in chosen if now - seen[process] > STARTED]
        if started:
            stack.kill(random.choice(started))
            stack.proxy.injected["functions killed"] += 1
