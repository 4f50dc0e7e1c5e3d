"""What happens to the stack while clients mint: each event is one kind of change, loss or failure.

If an event fails, the run ends, so an event switches its faults off only when it has succeeded.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from random import Random

from proof.faulty_server import Fault

from .history import Restoration
from .proxy import hot, outage, unreachable
from .stack import COUNTERS, HOME, NAMES, REGIONS, Backup, RunFailed, Stack, wait_until

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
    random: Random
    backups: dict[str, Backup] = field(default_factory=dict[str, Backup])
    """The last backup of a region's counters table, by region."""
    stay: Sequence[str] = ()
    """Regions that no event but `leaving` removes."""
    struck: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Region → the events that it was chosen for."""
    happened: Counter[str] = field(default_factory=Counter[str])
    problems: list[str] = field(default_factory=list[str])
    """What a failure elsewhere did to regions and counters that should not have noticed."""

    def happen(self, name: str) -> None:
        """Let the event of this name happen, and say what was done."""
        self._happening = name
        if said := getattr(self, name)():
            self.stack.say(said)
        self.happened[name] += 1

    def regions(self) -> str:
        """Regions come and go, and the lease changes."""
        lease = {"lease": self.random.choice(LEASES)} if self.random.random() < 0.3 else {}
        self.stack.deploy(regions=self._other_regions(), **lease)
        return self._now()

    def lost_table(self) -> str:
        """A region's counters table is deleted; the next deployment recreates it, empty."""
        return self._lost(self._one_region(), NAMES.counters_table)

    def restored_table(self) -> str:
        """A region's counters table is restored to an earlier moment, which nobody is told."""
        region = self._one_region()
        before = self.backups.get(region) if self._perhaps() else None
        backup = before or self.stack.back_up(region, NAMES.counters_table)
        self._traffic_in([region], 1, 2)
        self.backups[region] = self.stack.back_up(region, NAMES.counters_table)
        self.stack.lose(region, NAMES.counters_table)
        self.stack.history.restorations.append(Restoration(region, time.monotonic()))
        self.stack.restore(region, backup)
        self._traffic_in([region], 0.3, 1)
        self.stack.reconcile()
        return f"counters table restored: {region}"

    def cut_off(self) -> str:
        """A region is cut off while regions change, and comes back. The others go on minting."""
        return self._without_answers("was cut off", partial(unreachable, silent=self._perhaps()))

    def error_pages(self) -> str:
        """A region's DynamoDB answers with error pages while regions change. The others go on minting."""
        return self._without_answers("answered with error pages", outage)

    def leaving(self) -> str:
        """A region leaves the layout and stays there to say where to go; then it is deleted or comes back."""
        region = self._one_region()
        others = [other for other in REGIONS if other != region][:FEWEST]
        before = self.stack.desired["regions"]
        self.stack.deploy(regions=others, leaving=[region])
        self._traffic(0.5, 1.5)
        back = self._perhaps()
        self.stack.deploy(regions=before if back else others, leaving=[])
        return f"{region} was leaving and {'came back' if back else 'was deleted'}"

    def killed_deployment(self) -> str:
        """Kill a deployment of other regions at any moment, then change the regions again or back."""
        before = self.stack.desired["regions"]
        after, others = self.random.uniform(1.0, 8.0), self._other_regions()
        with suppress(RunFailed):
            self.stack.deploy_once({**self.stack.desired, "regions": others}, kill_after=after)
        self._traffic(0, 1)
        self.stack.deploy(regions=self.random.choice([before, others, self._other_regions()]))
        return f"a deployment was killed if it took more than {after:.1f} s; then {self._now()}"

    def lost_layouts(self) -> str:
        """The layouts table is deleted; the next deployment recreates it, empty."""
        return self._lost(HOME, NAMES.layouts_table)

    def restored_layouts(self) -> str:
        """The layouts table is restored to what it was before the last change of regions."""
        backup = self.stack.back_up(HOME, NAMES.layouts_table)
        self.stack.deploy(regions=self._other_regions())
        self._traffic(0.2, 1)
        self.stack.lose(HOME, NAMES.layouts_table)
        self.stack.restore(HOME, backup)
        self.stack.reconcile()
        self.stack.deploy()
        return "layouts table restored to an earlier epoch"

    def hot_item(self) -> str:
        """The coordinator is throttled at one item while regions change."""
        region, counter = self._one_region(), self.random.choice(COUNTERS)
        with self.stack.proxy.failing(hot(region, counter)):
            self.stack.deploy(regions=self._other_regions())
        self.stack.reconcile()
        return f"{counter} was hot in {region}; {self._now()}"

    def schedule(self) -> None:
        """Two scheduled runs of the coordinator at the same time."""
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(self.stack.scheduled_run)
            self.stack.reconcile()
        if isinstance(other.exception(), RunFailed):
            self.stack.failed["run of the coordinator"] += 1

    def _lost(self, region: str, table: str) -> str:
        self.stack.lose(region, table)
        self._traffic(0.2, 1.5)
        self.stack.deploy()
        self.stack.reconcile()
        return f"{table} deleted and recreated: {region}"

    def _now(self) -> str:
        return f"regions: {', '.join(self.stack.desired['regions'])}"

    def _perhaps(self) -> bool:
        return self.random.random() < 0.5

    def _without_answers(self, what: str, faults: Callable[[str], Iterable[Fault]]) -> str:
        region = self._one_region(but=HOME)
        with self.stack.proxy.failing(*faults(region)):
            self._others_mint(region)
            self.stack.deploy(regions=self._other_regions([region] * self._perhaps()))
            self._others_mint(region)
        self.stack.reconcile()
        return f"{region} {what}; {self._now()}"

    def _others_mint(self, region: str) -> None:
        others = {*(self.stay or self.stack.desired["regions"])} - {region}
        if not self._traffic_in(others, 0, 0):
            self.problems.append(f"not all of {', '.join(sorted(others))} minted while {region} did not answer")
            self.stack.say(self.problems[-1])

    def _other_regions(self, keep: Sequence[str] = ()) -> list[str]:
        """Return other regions than now, or the same ones in another order. `keep` and `self.stay` are among them."""
        while True:
            chosen = self.random.sample(REGIONS, self.random.randint(FEWEST, len(REGIONS)))
            chosen += [region for region in REGIONS if region in {*keep, *self.stay} - {*chosen}]
            if chosen != self.stack.desired["regions"]:
                return chosen

    def _traffic(self, shortest: float, longest: float) -> None:
        time.sleep(self.random.uniform(shortest, longest))

    def _traffic_in(self, regions: Collection[str], shortest: float, longest: float) -> bool:
        """Let clients mint, until each counter was minted in these regions, if that can be. Return whether it was."""
        began = time.monotonic()
        before = len(self.stack.history.mints)

        def all_minted() -> bool:
            recent = {(mint.region, mint.counter) for mint in self.stack.history.mints[before:] if mint.began >= began}
            return recent >= {*product(regions, COUNTERS)}

        self._traffic(shortest, longest)
        return wait_until(all_minted, PATIENCE)

    def _one_region(self, but: str = "") -> str:
        region = self.random.choice([region for region in self.stack.desired["regions"] if region != but])
        self.struck.setdefault(region, []).append(self._happening)
        return region


EVENTS = tuple(name for name in vars(Events) if callable(getattr(Events, name)) and name[0] != "_" and name != "happen")
