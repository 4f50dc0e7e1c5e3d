"""One random schedule: what operators, tools and disasters do to the system while it mints.

Deployments come as `pulumi up` makes them (pulumi.py). One may be killed at any step, reverted or repeated. The
schedule's runs come in between. Runs race, are late, and crash. Regions are away for a while or for ever. Writes are
carried out although their answer is lost, or late, or twice. Tables are deleted, recreated and restored, in the
regions and at home.
"""

from random import Random

from coordinate.accept import Deployment
from coordinate.model import Refused

from .checked import CheckedWorld
from .coordinator import Coordinator
from .dice import Dice
from .network import Network
from .owners import ask
from .pulumi import Pulumi
from .run import Result, run
from .settled import Stuck, check_settled

REGIONS = "abcd"
COORDINATORS = 4
"""The largest number of runs at once."""


class Schedule:
    """A schedule that its seed decides."""

    def __init__(self, seed: int, without: str | None = None, *, losses: int = 1) -> None:
        """Begin.

        Args:
            seed: decides everything.
            without: the condition or rule that is taken out (`world.CONDITIONS`, `world.RULES`).
            losses: how many tables may be lost before the first one is mended. With 1, all must settle without an
                operator. With 2, a floor may be needed in the end.
        """
        random = self.random = Dice(seed)
        self.world = CheckedWorld(without)
        self.losses = losses
        self.rates = {
            "away": _one_of(random, 0.5, 0.003, 0.01, 0.04),
            "loss": _one_of(random, 0.6, 0.004, 0.02, 0.06),
            "home loss": _one_of(random, 0.5, 0.002, 0.01, 0.03),
            "crash": _one_of(random, 0.5, 0.002, 0.02),
            "sleep": random.choice((0.003, 0.01, 0.05)),
            "deploy": random.choice((0.01, 0.03, 0.1)),
            "watch": random.choice((0.01, 0.03, 0.1)),
            "out of time": _one_of(random, 0.3, 0.5),
            "for ever": _one_of(random, 0.2, 0.005),
        }
        self.network = Network(self.world, random, _one_of(random, 0.4, 0.02, 0.1, 0.3))
        self.minting = random.uniform(0.1, 0.6)
        self.pace = random.choice((1, 2, 4))
        self.counters = random.choice((("c",), ("c",), ("c", "d")))
        self.pulumi = Pulumi(self.world, random, self.counters)
        self.runs: list[Coordinator] = []
        self.begun: dict[Coordinator, int] = {}
        self.asleep: dict[Coordinator, int] = {}
        self.deploying: tuple[Coordinator | None, Deployment | None] | None = None
        self.lost: dict[str, int] = {}
        """The tables that were lost and not mended yet, and when."""
        self.for_ever: str | None = None
        """The region that never comes back."""
        self.last: Result | None = None
        self.top = 0
        """About the largest integer minted so far."""

    def run(self) -> CheckedWorld:
        """Run the schedule, then leave the system alone until it has settled.

        Raises:
            AssertionError: an integer was minted twice, a layout was begun that nobody asked for, or what is left
                alone doesn't settle.
        """
        while self.world.layouts.record is None:
            self._deploy()
            self._finish()
        for _ in range(self.random.choice((150, 400, 800))):
            self._one_step()
        self._leave_alone()
        return self.world

    def _one_step(self) -> None:
        random, rates = self.random, self.rates
        self.world.clock += 1
        self._mint()
        for _ in range(self.pace):
            if self.runs:
                self._turn(random.choice(self.runs))
        if random.random() < 0.1:
            self.network.deliver()
        if random.random() < rates["watch"]:
            self._start(None)
        if self.deploying is None and random.random() < rates["deploy"]:
            self._deploy()
        elif self.deploying is not None and random.random() < 0.002:
            self.deploying = None  # Pulumi is killed; its coordinator goes on
        if random.random() < rates["away"]:
            self._come_or_go(random.choice(REGIONS))
        if random.random() < rates["loss"]:
            self._lose_region()
        if random.random() < rates["home loss"]:
            self._lose_home(random.choice(("layouts", "mirror")))
        if random.random() < rates["for ever"] and self.for_ever is None and self.world.tables:
            self.for_ever = random.choice(sorted(self.world.tables))
            self.world.away.add(self.for_ever)

    def _mint(self) -> None:
        random = self.random
        if random.random() < self.minting:
            region, counter = random.choice(REGIONS), random.choice(self.counters)
            if random.random() < 0.1:
                self.world.mint_block(region, random.randint(2, 5), counter)
            else:
                self.world.mint(region, counter)
        elif random.random() < 0.2:
            top = max((integer for _, integer in self.world.minted), default=0) if random.random() < 0.1 else self.top
            self.top = top
            ask(self.world, random.choice(REGIONS), random.choice(self.counters), random.randint(1, top + 10))

    def _turn(self, coordinator: Coordinator) -> None:
        if self.asleep.get(coordinator):
            self.asleep[coordinator] -= 1
            return
        self._advance(coordinator)
        if self.random.random() < self.rates["sleep"]:
            self.asleep[coordinator] = self.random.choice((3, 10, 30, 100, 300))
        elif coordinator in self.runs and self.random.random() < self.rates["crash"]:
            self._forget(coordinator)

    def _advance(self, coordinator: Coordinator) -> None:
        try:
            coordinator.step(self.network.carry_out, self.random.randrange)
        except Refused as refusal:
            coordinator.result = refusal
        if coordinator.ended:
            self._ended(coordinator)

    def _start(self, deployment: Deployment | None) -> Coordinator:
        name = f"{'watch' if deployment is None else 'deployment'} {len(self.begun) + 1}"
        may_start = lambda: self.random.random() >= self.rates["out of time"]  # noqa: E731
        started = Coordinator(run(deployment, name, lambda: 1_000 + self.world.clock, may_start), name)
        self.begun[started] = self.world.clock
        self.runs.append(started)
        if len(self.runs) > COORDINATORS:
            self._forget(self.runs[self.random.randrange(COORDINATORS)])  # crashes; never the new one
        return started

    def _forget(self, coordinator: Coordinator) -> None:
        self.runs.remove(coordinator)
        if self.deploying is not None and self.deploying[0] is coordinator:
            self.deploying = None

    def _deploy(self, floors: dict[str, int] | None = None, regions: tuple[str, ...] | None = None) -> None:
        """`pulumi up`."""
        random, world = self.random, self.world
        read = self.pulumi.preview()
        if regions is None:
            regions = tuple(random.sample(REGIONS, random.randint(1, 4)))
            if read is not None and random.random() < 0.4:
                regions = read.wish.regions
        for _ in range(random.choice((0, 0, 0, 20))):
            world.clock += 1  # the resources take their time, and others are at work
            for other in list(self.runs):
                self._turn(other)
        refresh = random.random() < 0.5
        deployment = self.pulumi.up(regions, read, refresh=refresh, now=1_000 + world.clock, floors=floors or {})
        if deployment is None:
            self._delete(None)
        elif floors or random.random() >= 0.15:  # else it is killed before the coordinator
            self.deploying = (self._start(deployment), deployment)

    def _ended(self, coordinator: Coordinator) -> None:
        self.runs.remove(coordinator)
        result = coordinator.result
        deployment = None
        mine = self.deploying is not None and self.deploying[0] is coordinator
        if mine and self.deploying is not None:
            deployment, self.deploying = self.deploying[1], None
        if not isinstance(result, Result):
            return
        self.last = result
        self._mended(result, self.begun[coordinator])
        if mine:
            self._delete(deployment)

    def _delete(self, deployment: Deployment | None) -> None:
        for region in self.pulumi.succeeded(deployment):
            self.network.forget(region)
            self.world.delete_table(region)
            self.lost.pop(region, None)

    def _mended(self, result: Result, begun: int) -> None:
        """Note which tables this run has seen to."""
        pending = {region for outcome in result.outcomes.values() for region in outcome.pending}
        wish = result.record.wish
        seen = {*wish.regions, *wish.leaving} - pending
        for region, since in list(self.world.restored.items()):
            if region in seen and begun > since:
                del self.world.restored[region]
        for name, since in list(self.lost.items()):
            if begun > since and (name in ("layouts", "mirror") or name in seen):
                del self.lost[name]

    def _come_or_go(self, region: str) -> None:
        away = self.world.away
        if region not in away:
            away.add(region)
        elif region != self.for_ever:
            away.discard(region)

    def _lose_region(self) -> None:
        there = [region for region in sorted(self.world.tables) if region in self.pulumi.regions]
        if there and self._may_lose():
            region = self.random.choice(there)
            self.network.forget(region)
            self.world.lose(region, self.random.choice(("recreated", "restored", "gone")), self.random)
            self.lost[region] = self.world.clock

    def _lose_home(self, name: str) -> None:
        if self.world.backups.get(name) and self._may_lose():
            self.world.lose(name, self.random.choice(("recreated", "restored")), self.random)
            self.lost[name] = self.world.clock

    def _may_lose(self) -> bool:
        return self.pulumi.stood and len(self.lost) < self.losses

    def _finish(self) -> None:
        while self.runs:
            self.world.clock += 1
            self._advance(self.random.choice(self.runs))

    def _leave_alone(self) -> None:
        random, world = self.random, self.world
        self.network.rate = 0
        for name in self.rates:
            self.rates[name] = 0
        world.away &= {self.for_ever} if self.for_ever else set()
        self.deploying = None
        if random.random() < 0.7:
            for region in self.pulumi.regions:
                world.make_table(region)
        while self.runs or not self.network.empty:
            world.clock += 1
            if not self.network.empty and random.random() < 0.2:
                self.network.deliver()
            if self.runs:
                self._advance(random.choice(self.runs))
            self._mint()
        self.last = None
        for minting in (True, True, False):
            self._start(None)
            while self.runs:
                world.clock += 1
                self._advance(self.runs[0])
                if minting:
                    self._mint()
        if self.losses > 1 and not self._begin_again():
            return
        record = world.layouts.record
        if record is not None and not (world.tables.keys() - world.away) & set(record.wish.regions):
            return  # nobody is left who could mint
        if self.last is None:
            raise Stuck("the last runs were refused")
        check_settled(world, self.last)

    def _begin_again(self) -> bool:
        """Deploy as the runbook says: without the region that never comes back, with a floor above all it may mint.

        Returns:
            Whether a region is left to mint.
        """
        world = self.world
        tops = [integer for _, integer in {*world.minted, *world.excepted}]
        items = [kept.item for table in world.tables.values() for kept in table.counters.values()]
        tops += [item.ceiling for item in items if item is not None]
        record = world.layouts.record
        regions = record.wish.regions if record else tuple(REGIONS)
        regions = tuple(region for region in regions if region != self.for_ever)
        if self.for_ever:
            self.pulumi.regions.discard(self.for_ever)
        if regions:
            self._deploy({"*": max(tops, default=0) + 1}, regions)
            self._finish()
        return bool(regions)


def _one_of(random: Random, chance: float, *rates: float) -> float:
    return random.choice(rates) if random.random() < chance else 0
