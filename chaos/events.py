"""What happens to the stack while clients mint: each event is one kind of change, loss or failure."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from threading import Thread
from typing import Any

from .book import Book, Restoration
from .operator import COUNTERS, Operator
from .stack import HOME, NAMES, REGIONS, RunFailed, Stack, wait_until
from .tables import Backup, back_up, lose, restore

FEWEST = 3
"""The least number of regions in a layout."""

PATIENCE = 60.0
"""Seconds for which an event waits for traffic in a region, which may be unable to mint."""

LEASES = (1, 20)
"""Values of `lease`. A change restarts the functions, so it happens at every third change of regions only."""


@dataclass
class Events:
    """The events, on one stack."""

    stack: Stack
    operator: Operator
    book: Book
    random: Random
    say: Callable[[str], None]
    backups: dict[str, Backup] = field(default_factory=dict[str, Backup])
    """The last backup of a region's counters table, by region."""

    def regions(self) -> None:
        """Regions come and go, and the lease changes."""
        lease = {"lease": self.random.choice(LEASES)} if self.random.random() < 0.3 else {}
        self.operator.deploy(regions=self._other_regions(), **lease)
        self.say(f"regions: {', '.join(self.operator.wish['regions'])}")

    def leaving(self) -> None:
        """A region leaves the layout and stays there to say where to go; then it is deleted or comes back."""
        region = self._one_region()
        others = [other for other in REGIONS if other != region]
        before = self.operator.wish["regions"]
        self.operator.deploy(regions=others[:FEWEST], leaving=[region])
        self._traffic(0.5, 1.5)
        back = self.random.random() < 0.5
        self.operator.deploy(regions=before if back else others[:FEWEST], leaving=[])
        self.say(f"{region} was leaving and {'came back' if back else 'was deleted'}")

    def killed_deployment(self) -> None:
        """Kill a deployment of other regions at any moment, then change the regions again or back."""
        before = self.operator.wish["regions"]
        after = self.random.uniform(1.0, 5.0)
        wish = {**self.operator.wish, "regions": self._other_regions()}
        try:
            self.stack.deploy(wish, kill_after=after)
            said = f"a deployment was done before {after:.1f} s"
        except RunFailed:
            said = f"a deployment was killed after {after:.1f} s or failed"
        self._traffic(0, 1)
        self.operator.deploy(regions=self.random.choice([before, wish["regions"], self._other_regions()]))
        self.say(f"{said}; then regions: {', '.join(self.operator.wish['regions'])}")

    def lost_table(self) -> None:
        """A region's counters table is deleted; the next deployment recreates it, empty."""
        region = self._one_region()
        lose(self._client(region), NAMES.counters_table)
        self._traffic(0.5, 1.5)
        self.operator.deploy()
        self.operator.watch()
        self.say(f"counters table deleted and recreated: {region}")

    def restored_table(self) -> None:
        """A region's counters table is restored to an earlier moment, which nobody is told."""
        region = self._one_region()
        client = self._client(region)
        backup = self.backups.get(region) if self.random.random() < 0.5 else None
        backup = backup or back_up(client, NAMES.counters_table)
        self._traffic_in(region, 1, 2)
        self.backups[region] = back_up(client, NAMES.counters_table)
        lose(client, NAMES.counters_table)
        self.book.restorations.append(Restoration(region, time.monotonic()))
        restore(client, backup)
        self._traffic_in(region, 0.3, 1)
        self.operator.watch()
        self.say(f"counters table restored: {region}")

    def lost_layouts(self) -> None:
        """The layouts table is deleted; the next deployment recreates it, empty."""
        lose(self._client(HOME), NAMES.layouts_table)
        self._traffic(0.2, 1)
        self.operator.deploy()
        self.operator.watch()
        self.say("layouts table deleted and recreated")

    def restored_layouts(self) -> None:
        """The layouts table is restored to what it was before the last change of regions."""
        client = self._client(HOME)
        backup = back_up(client, NAMES.layouts_table)
        self.operator.deploy(regions=self._other_regions())
        self._traffic(0.2, 1)
        lose(client, NAMES.layouts_table)
        restore(client, backup)
        self.operator.watch()
        self.operator.deploy()
        self.say("layouts table restored to an earlier epoch")

    def cut_off(self) -> None:
        """A region is cut off while regions change, and comes back."""
        faults = self.stack.proxy.faults
        region = self.random.choice([region for region in self.operator.wish["regions"] if region != HOME])
        faults.silent = self.random.random() < 0.5
        faults.unreachable.add(region)
        try:
            self._traffic(0, 1)
            self.operator.deploy(regions=self._other_regions(keep=[region] if self.random.random() < 0.5 else []))
            self._traffic(0, 1)
        finally:
            faults.unreachable.discard(region)
        self.operator.watch()
        self.say(f"{region} was cut off; regions: {', '.join(self.operator.wish['regions'])}")

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
        self.operator.watch()
        other.join()

    def _quietly(self, run: Callable[[], object]) -> None:
        try:
            run()
        except RunFailed:
            self.operator.failed["run of the coordinator"] += 1

    def _other_regions(self, keep: Sequence[str] = ()) -> list[str]:
        """Return other regions than now, or the same ones in another order. `keep` stay."""
        while True:
            chosen = self.random.sample(REGIONS, self.random.randint(FEWEST, len(REGIONS)))
            chosen += [region for region in keep if region not in chosen]
            if chosen != self.operator.wish["regions"]:
                return chosen

    def _traffic(self, shortest: float, longest: float) -> None:
        time.sleep(self.random.uniform(shortest, longest))

    def _traffic_in(self, region: str, shortest: float, longest: float) -> None:
        """Let clients mint, until each counter was minted in a region, if that can be."""
        before = len(self.book.mints)

        def all_minted() -> bool:
            return {mint.counter for mint in self.book.mints[before:] if mint.region == region} >= {*COUNTERS}

        self._traffic(shortest, longest)
        wait_until(all_minted, PATIENCE)

    def _client(self, region: str) -> Any:
        return self.stack.aws.client("dynamodb", region)

    def _one_region(self) -> str:
        return self.random.choice(self.operator.wish["regions"])
