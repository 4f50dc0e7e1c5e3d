"""One random schedule: what operators, tools and disasters do to the system while it mints.

Deployments are killed, reverted and repeated at any step, with scheduled runs in between. Runs race, are late and
crash. Callers create a counter, which operators delete. Regions are unreachable, calls are throttled, writes are
carried out late, twice, or without an answer. Tables are lost, in the regions and at home. Operators write invalid
items. The clock jumps by hours. Regions that ran out of integers ask for more. The home region moves, also back, while
runs in the former ones go on.

In the end, the system is left alone until all is reconciled. Then `up` with the settings in force must succeed,
however much time has passed, and the next one must have nothing to do.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from random import Random
from typing import Any, Literal, TypeVar

from coordinate.protocol.model import Copy, Deploy, DesiredState, Refused, Register
from coordinate.protocol.moves import LATEST
from coordinate.protocol.run import Create, Delete, Grant, Run, RunResult, ScheduledRun, run
from mint.model import CeilingReached, WentBackwards
from pulumi import RunError

from global_integers_core.lattice import MAX_FLOOR
from global_integers_core.names import CHECK_COUNTER

from .checks import CheckedWorld, FalseAlarm, Stuck, ask, check_reconciled, check_refusal
from .coordinator import SimulatedCoordinator
from .deployments import WINDOW, SimulatedPulumi, SimulatedSettings, deployment_of, loss_named
from .network import Network
from .world import HOME, LAYOUTS, MIRROR, RECEIPTS, REGISTERS, at_home

T = TypeVar("T")


class Dice(Random):
    """Chooses by one float. `Random` draws bits until they fit, which takes a tenth of a schedule's time."""

    def choice(self, seq: Sequence[T]) -> T:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return one of them."""
        return seq[int(self.random() * len(seq))]

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        """Return a number of the range."""
        return self.choice(range(start) if stop is None else range(start, stop, step))


REGIONS = "abcd"
HOMES = (HOME, "h2", "h3")
COORDINATORS = 4
"""The largest number of runs at once."""

MOVES = (0.05, 0.0, 0.0)
"""The share of schedules in which the home region moves, by how many tables may be lost: 1, 2, 3.

Where several are lost, only fixed seeds move it (`test_moves.py`): about one in a thousand others ends in what these
checks don't expect.
"""

LASTS = 900
"""Seconds after which a run is ended: the coordinator's timeout."""

LARGEST_BLOCK = 20
"""Integers, of which a busy region mints a block and a single one a second."""

FARTHEST = 10 * 2 * (LARGEST_BLOCK + 1)
"""How many integers a region may be fenced above what is issued: ten seconds at its rate, which is measured in whole
seconds, and so twice as large at most."""


TO_SET = re.compile(r"set `?aws:region`? to (\w+)")
"""How a refusal names the home region that is to be deployed first."""


class RandomRun(SimulatedCoordinator):
    """A run that a schedule has started."""

    def __init__(self, request: Run, name: str, home: str, begun: int) -> None:
        super().__init__(run(request, name, RunResult()), home)
        self.begun, self.asleep = begun, 0
        self.sent = ""
        """The event, if Pulumi has started it."""
        self.whole = isinstance(request, Deploy | ScheduledRun)
        """Whether it sees to all counters."""


class RandomSchedule:
    """A schedule that its seed decides.

    `losses` is how many tables may be lost before the first one is repaired. With 1, all must reconcile without an
    operator. With more, an answer may be needed in the end.
    """

    def __init__(self, seed: int, *, losses: int = 1) -> None:
        random = self.random = Dice(seed)
        self.world = CheckedWorld()
        self.losses = losses
        self.rates = {
            "unreachable": _one_of(random, 0.5, 0.003, 0.01, 0.04),
            "loss": _one_of(random, 0.6, 0.004, 0.02, 0.06),
            "home loss": _one_of(random, 0.5, 0.002, 0.01, 0.03),
            "crash": _one_of(random, 0.5, 0.002, 0.02),
            "sleep": random.choice((0.003, 0.01, 0.05)),
            "deploy": random.choice((0.01, 0.03, 0.1)),
            "schedule": random.choice((0.01, 0.03, 0.1)),
            "out of time": _one_of(random, 0.3, 0.5),
            "for ever": _one_of(random, 0.2, 0.005),
            "throttled": _one_of(random, 0.4, 0.005, 0.03),
            "home fails": _one_of(random, 0.3, 0.002, 0.01),
            "record loss": _one_of(random, 0.5, 0.004, 0.02),
            "lost": _one_of(random, 0.4, 0.02, 0.1, 0.3),
            "stray": _one_of(random, 0.2, 0.005),
            "denied": _one_of(random, 0.3, 0.003, 0.01),
            "conflict": _one_of(random, 0.4, 0.1, 0.5, 0.9),
            "clock": _one_of(random, 0.3, 0.5),
            "restart": _one_of(random, 0.5, 0.01, 0.1),
            "hours": _one_of(random, 0.5, 0.003, 0.02),
        }
        self.network = Network(self.world, random, self.rates)
        callers = self.callers = Dice(f"callers {seed}")
        self.rates["grant"] = _one_of(callers, 0.7, 0.1, 0.5)
        self.rates["denied receipts"] = _one_of(callers, 0.3, 0.003, 0.01)
        self.rates["create or delete"] = _one_of(callers, 0.4, 0.01, 0.03, 0.1)
        answering = self.answering = Dice(f"answering {seed}")
        self.rates["floors"] = _one_of(answering, 0.5, 0.1, 0.5)
        self.rates["answer"] = 0 if losses < 2 else _one_of(answering, 0.7, 0.2, 0.8)
        self.rates["windows"] = _one_of(answering, 0.5, 0.1, 0.3)
        self.rates["by hand"] = 0 if losses < 2 else _one_of(answering, 0.3, 0.01, 0.03)
        self.rates["both lost"] = 0 if losses < 2 else _one_of(answering, 0.4, 0.005, 0.02)
        self.rates["put back"] = _one_of(answering, 0.3, 0.01, 0.05)
        self.rates["back in time"] = 0 if losses < 2 else _one_of(answering, 0.3, 0.02, 0.1)
        self.using = Dice(f"using {seed}")
        self.rates["peak"] = _one_of(self.using, 0.4, 0.01, 0.05)
        self.rates["early"] = _one_of(self.using, 0.7, 0.2, 1)
        self.moving = Dice(f"moving {seed}")
        self.rates["move"] = _one_of(self.moving, MOVES[losses - 1], 0.2, 0.6)
        self.peak = 1
        """How many times as many integers are used as usual."""
        self.floors: dict[str, int] = {}
        self.refusals: list[str] = []
        self.said = ""
        """The loss that the last refusal asks to answer."""
        self.minting = random.uniform(0.1, 0.6)
        self.pace = random.choice((1, 2, 4))
        self.counters = random.choice((("c",), ("c",), ("c", "d")))
        self.minted = (*self.counters, "e") if self.rates["create or delete"] else self.counters
        """The counters of the settings, and one that a caller creates."""
        self.pulumi = SimulatedPulumi(self.world, random, self.counters)
        self.pulumi.check = _one_of(Dice(f"check {seed}"), 0.25, (CHECK_COUNTER,)) or ()
        self.runs: list[RandomRun] = []
        self.started = 0
        self.deploying: RandomRun | None = None
        """The run that `up` waits for."""
        self.lost: dict[str, int] = {}
        """The tables that were lost and not repaired yet, and when."""
        self.for_ever: str | None = None
        """The region that never comes back."""
        self.last: RunResult | None = None
        self.busy = False
        """Whether all regions mint as fast as they can."""
        self.top = 0
        """About the largest integer minted so far."""

    def run(self) -> CheckedWorld:
        """Run the schedule, leave the system alone until it has reconciled, and repeat the last `up`; or raise."""
        unaccepted = {*self.random.sample(REGIONS, 2)} if self.random.random() < 0.2 else set[str]()
        self.world.unreachable |= unaccepted  # the role is new
        self._deploy()
        accepted = self.random.choice((10, 30, 100))
        for number in range(self.random.choice((150, 400, 800))):
            if number == accepted:
                self.world.unreachable -= unaccepted - {self.for_ever}
            self._one_step()
        for _ in range(20):  # the first one may have been killed
            if self.world.record is None and self.world.record_copy is None:
                self.deploying = None
                self._deploy()
                self._finish()
        self._leave_alone()
        return self.world

    def _one_step(self) -> None:
        random, rates = self.random, self.rates
        self.world.now += 1
        if self.using.random() < rates["peak"]:
            self.peak = 51 - self.peak
        self._mint()
        for _ in range(self.pace):
            if self.runs:
                self._turn(random.choice(self.runs))
        if random.random() < 0.1:
            self.network.deliver()
        if random.random() < rates["schedule"]:
            self._start(ScheduledRun())
        if self.callers.random() < rates["create or delete"]:
            there = "e" in self.world.registers
            self._start(Delete(("e",)) if there != (self.callers.random() < 0.2) else Create(("e",)))
        if rates["move"] and self.moving.random() < 0.01:
            self._lose_former_home()
        if rates["move"] and self.moving.random() < 0.01:
            self.world.unreachable ^= {self.moving.choice(HOMES)}
        if self.deploying is None and random.random() < rates["deploy"]:
            self._deploy()
        elif self.deploying is not None and random.random() < 0.002:
            self.deploying = None  # Pulumi is killed; its coordinator goes on
        if random.random() < rates["unreachable"]:
            self.world.unreachable ^= {random.choice(REGIONS)} - {self.for_ever}
        if random.random() < rates["loss"]:
            self._lose_region()
        if random.random() < rates["home loss"]:
            name = random.choice((LAYOUTS, MIRROR))
            self._lose_home(name, at_home(name, self.world.home), random)
        if random.random() < rates["record loss"]:
            self._lose_records()
        if random.random() < rates["stray"] and self.world.record:
            homes = [at_home(name, self.world.home) for name in (LAYOUTS, MIRROR)]
            self.world.spoil(random.choice([*homes, *sorted(self.world.tables)]))
        if random.random() < rates["denied"]:
            self._deny(random.choice(["layouts", "mirror", *REGIONS]), random)
        if self.callers.random() < rates["denied receipts"]:
            region = self.callers.choice(REGIONS)
            self.world.unrecorded |= {region} if self._deny(f"receipts {region}", self.callers) else set()
        if random.random() < rates["restart"]:
            self.world.restart(random.choice(REGIONS))
        if random.random() < rates["hours"]:
            self._pass_hours()
        if rates["by hand"] and self.answering.random() < rates["by hand"] and len(self.lost) < self.losses - 1:
            self._delete_by_hand()
        if rates["both lost"] and self.answering.random() < rates["both lost"] and len(self.lost) < self.losses - 1:
            for name in (LAYOUTS, MIRROR):
                self._lose_home(name, at_home(name, self.world.home), random)
        if rates["put back"] and self.answering.random() < rates["put back"]:
            region, counter = self.answering.choice(REGIONS), self.answering.choice(self.minted)
            if region in self.world.warm and self.world.put_back(region, counter, self.answering):
                self.world.mint(region, counter)
                self._ask(counter, 1)
        if rates["back in time"] and self.answering.random() < rates["back in time"]:
            self.network.offset = self.answering.choice((0, 0, -600, -3_000, -40_000))
        if random.random() < rates["for ever"] and self.for_ever is None and self.world.tables:
            self.for_ever = random.choice(sorted(self.world.tables))
            self.world.unreachable.add(self.for_ever)

    def _finds_home(self) -> bool:
        """Return whether the regions of the last `up` know the present home, or it is the first one, or the same."""
        home, settings = self.world.home, self.pulumi.settings
        if settings is None or home in (self.pulumi.home, self.pulumi.first.partition(" ")[0]):
            return True
        return any(self.world.home_known_in(region) == home for region in settings.regions)

    def _some_home(self) -> str:
        """Return a home region, mostly the present one."""
        world, tables = self.world, self.world.database.tables.keys()
        if len(world.homes) == 1:
            return HOME
        there = sorted(home for home in world.homes if {(home, LAYOUTS), (home, MIRROR)} <= tables)
        elsewhere = there and self.moving.random() < 0.3 * bool(self.rates["move"])
        return self.moving.choice(there) if elsewhere else world.home

    def _lose_former_home(self) -> None:
        """Lose a table of another home region than the present one."""
        world, table = self.world, self.moving.choice((LAYOUTS, MIRROR))
        others = [home for home in sorted(world.homes) if home != world.home]
        if others:
            self._lose_home(table, at_home(table, self.moving.choice(others)), self.moving)

    def _deny(self, table: str, random: Random) -> bool:
        """Let a table refuse reads or writes, or neither any more. Return whether it refuses."""
        if self.world.denied.pop(table, None) is None:
            self.world.denied[table] = random.choice(("reads", "writes"))
        return table in self.world.denied

    def _mint(self) -> None:
        random = self.random
        if random.random() < self.minting:
            region, counter = random.choice(REGIONS), random.choice(self.minted)
            count = self.peak * (random.randint(2, 5) if random.random() < 0.1 else 1)
            minted = self.world.mint_block(region, count, counter) if count > 1 else self.world.mint(region, counter)
            if not minted and self.callers.random() < self.rates["grant"]:
                self._ask(counter, count)
            early = minted and self.world.warm[region].low.pop(counter, None)
            if early and self.using.random() < self.rates["early"] and len(self.runs) < COORDINATORS:
                self._start(Grant(counter, count))
        elif random.random() < 0.2:
            top = max((integer for _, integer in self.world.minted), default=0) if random.random() < 0.1 else self.top
            self.top = top
            ask(self.world, random.choice(REGIONS), random.choice(self.minted), random.randint(1, top + 10))

    def _turn(self, run: RandomRun) -> None:
        if self.rates["create or delete"] and self.world.now > run.begun + LASTS:
            self._forget(run)
        elif run.asleep:
            run.asleep -= 1
        else:
            self._advance(run)
            if self.random.random() < self.rates["sleep"]:
                run.asleep = self.random.choice((3, 10, 30, 100, 300))
            elif run in self.runs and self.random.random() < self.rates["crash"]:
                self._forget(run)

    def _pass_hours(self) -> None:
        """Let time pass: nothing is under way any more, but a clock may also jump while a run goes on.

        Not by hours if counters are deleted: that depends on how long a run lasts.
        """
        hours = self.random.choice((600, 3_600, LATEST + 600, 30 * 3_600))
        self.world.now += hours
        self.network.forget()
        if self.random.random() < 0.8 or (self.rates["create or delete"] and hours > LASTS):
            for each in list(self.runs):
                self._forget(each)

    def _advance(self, run: RandomRun) -> None:
        self.world.at = run.home
        try:
            run.step(lambda operation: self.network.carry_out(operation, run), self.random.randrange)
        except Refused as refusal:
            if run.home == self.world.home:
                check_refusal(self.world, refusal)
            if run.home in (self.world.home, self.pulumi.home):
                self._hear(refusal)
            if run is self.deploying:
                self._note_home(refusal)
            self.refusals.append(str(refusal))
            run.result = refusal
        if run.ended:
            self._ended(run)

    def _hear(self, refusal: Refused) -> None:
        """Note what a refusal says of a loss, or raise `FalseAlarm` if there can't be one."""
        found, silent = loss_named(str(refusal)), "\n  the home region" in str(refusal)
        if found and not silent and not self.world.home_lost and self._finds_home():
            raise FalseAlarm(str(refusal))
        self.said = found or self.said

    def _note_home(self, refusal: Exception) -> None:
        """Set the home region that a refusal of a deployment names."""
        if named := TO_SET.search(str(refusal)):
            self.pulumi.home = named[1]

    def _answer(self) -> Mapping[str, Any]:
        """Return the operator's answer, as the refusal and the runbook say.

        It is the largest integer in the data, or what some region's status says that it may still mint.
        """
        world = self.world
        self.world.home_lost += 1  # the home region, too, is given up if it doesn't answer
        tops = [item.ceiling for region in world.tables for item in world.items(region).values()]
        tops += [integer for _, integer in {*world.minted, *world.excepted}]
        return {"loss": self.said, "above": max([0, *tops])}

    def _ask(self, counter: str, count: int) -> None:
        """Ask as a function does that has minted nothing, whatever runs are at work. It waits for nothing."""
        refusal = self.world.refusal
        if len(self.runs) < COORDINATORS and isinstance(refusal, CeilingReached | WentBackwards):
            back = refusal.epoch if isinstance(refusal, WentBackwards) else 0
            self._start(Grant(counter, 1 if back else count, back))

    def _start(self, request: Run, home: str = "") -> RandomRun:
        """Start a run, by default in the present home region."""
        self.started += 1
        name = f"{type(request).__name__}-{self.started}"
        started = RandomRun(request, name, home or self._some_home(), self.world.now)
        if isinstance(request, Grant):
            self.world.largest = max(self.world.largest, request.count)
        self.runs.append(started)
        if len(self.runs) > COORDINATORS:
            self._forget(self.runs[self.random.randrange(COORDINATORS)])  # crashes; never the new one
        return started

    def _forget(self, run: RandomRun) -> None:
        self.runs.remove(run)
        if run is self.deploying:
            self.deploying = None

    def _deploy(self, settings: SimulatedSettings | None = None) -> None:
        """`pulumi up`: with these settings, or with any."""
        random, world = self.random, self.world
        regions = tuple(random.sample(REGIONS, random.randint(1, 4)))
        chosen = settings or self._settings(regions)
        if settings is None and self.rates["create or delete"]:
            self.pulumi.counters = self.minted if self.callers.random() < 0.3 else self.counters
        if settings is None and self.pulumi.settings is not None and random.random() < 0.4:
            chosen = self.pulumi.settings  # once more
        try:
            read = self.pulumi.read(chosen)
        except RunError as refusal:
            self.refusals.append(str(refusal))
            self._note_home(refusal)
            return
        for _ in range(random.choice((0, 0, 0, 20))):
            world.now += 1  # the resources take their time, and others are at work
            for other in list(self.runs):
                self._turn(other)
        refresh = settings is not None or random.random() < 0.5
        sent = self.pulumi.up(chosen, read, refresh=refresh, wrong_by=self.network.wrong_by())
        if sent is None:
            self._delete(None)
        elif settings is not None or random.random() >= 0.15:  # else it is killed before the coordinator
            self._send(sent)

    def _settings(self, regions: tuple[str, ...]) -> SimulatedSettings:
        """Return settings with these regions, and with floors, windows and answers, new ones or those of long ago."""
        answering, pulumi = self.answering, self.pulumi
        if answering.random() < self.rates["windows"]:
            pulumi.window = answering.choice((WINDOW, WINDOW, 60, 400))
        answers = bool(self.said) and answering.random() < self.rates["answer"]
        if not answers and answering.random() < 0.1:
            pulumi.recovery = {}
        if answering.random() < self.rates["floors"]:
            floors = {}
            for key in answering.choice((("*",), ("*",), ("c",), ("*", "c"), ())):
                floors[key] = min(max(1, int(self.top * answering.choice((0.1, 0.5, 0.9, 1.01, 1.1)))), MAX_FLOOR)
            self.floors = floors
        if self.rates["move"] and self.moving.random() < self.rates["move"]:
            pulumi.home = self.moving.choice(HOMES)
        settings = pulumi.change(regions, self.floors)
        if answers:
            pulumi.recovery = self._answer()
        return replace(settings, recovery=pulumi.recovery)

    def _send(self, sent: str) -> None:
        deployment = deployment_of(sent)
        self.deploying = self._start(deployment, deployment.desired.home)
        self.deploying.sent = sent

    def _ended(self, run: RandomRun) -> None:
        deployed = run is self.deploying
        self._forget(run)
        result = run.result
        if run.whole and isinstance(result, RunResult) and result.record is not None and not result.unfinished:
            self.last = result
            self._mended(result, run.begun)
            if deployed:
                self._delete(run.sent)

    def _delete(self, sent: str | None) -> None:
        for region in self.pulumi.succeeded(sent):
            self.network.forget(region)
            self.world.delete(region)
            self.world.delete(f"receipts {region}")
            self.lost.pop(region, None)

    def _mended(self, result: RunResult, begun: int) -> None:
        """Note which tables this run has seen to."""
        pending = {region for outcome in result.outcomes.values() for region in outcome.pending}
        assert result.record is not None
        desired = result.record.desired
        seen = {*desired.regions, *desired.leaving} - pending
        for region, since in list(self.world.restored.items()):
            if region in seen and begun > since:
                self.world.seen_to(region)
        for name, since in list(self.lost.items()):
            if begun > since and (name in ("layouts", "mirror") or name in seen):
                del self.lost[name]

    def _lose_region(self) -> None:
        there = [region for region in sorted(self.world.tables) if region in self.pulumi.tables]
        if there and self.pulumi.stood and len(self.lost) < self.losses:
            region = self.random.choice(there)
            self.network.forget(region)
            self.world.lose(region, self.random.choice(("recreated", "restored", "gone")), self.random)
            self.lost[region] = self.world.now

    def _lose_home(self, name: str, table: str, random: Random) -> None:
        """Lose a layouts table or a mirror."""
        world = self.world
        began = world.record_copy or world.record  # before that, nothing shows what was lost
        if began and world.table(table) and world.backups.get(table) and len(self.lost) < self.losses:
            world.lose(table, random.choice(("recreated", "restored")), random)
            self.lost[name] = world.now

    def _delete_by_hand(self) -> None:
        """Delete a register and its copy, or the record and its copy, or put back older content, in the same tables."""
        world, answering = self.world, self.answering
        if not (world.record_copy and world.record):
            return
        out_of_sight = {*self.lost, *world.denied, *world.unreachable}
        world.home_lost += 1
        self.lost["layouts"] = self.lost["mirror"] = world.now
        match answering.randrange(3):
            case 0:
                if world.record.has_reported("c"):
                    world.registers.pop("c", None)
                    world.copies.pop("c", None)
            case 1:
                counter = answering.choice(self.minted)
                backups = world.backups.get(at_home(LAYOUTS, world.home), [])
                back = [REGISTERS(items[counter]) for items in backups if counter in items]
                here = [old for old in back if isinstance(old, Register) and old.layouts_id == world.layouts.id]
                # With a region's item out of sight, nobody could know what it was given.
                if here and counter in world.copies and not out_of_sight:
                    world.registers[counter] = old = answering.choice(here)
                    world.copies[counter] = Copy(old, world.mirror.id)
                    self._look()
            case _:
                world.record = world.record_copy = None

    def _look(self) -> None:
        """Carry out a scheduled run at once, while nothing goes wrong. All others stay where they are."""
        rates = dict(self.rates)
        self.rates.update(dict.fromkeys(rates, 0))
        looking = self._start(ScheduledRun())
        while not looking.ended:
            self.world.now += 1
            self._advance(looking)
        self.rates.update(rates)

    def _lose_records(self) -> None:
        """Lose a receipts table. Nothing has to be done about it: only the past is forgotten."""
        if there := sorted(region for region, name in self.world.database.tables if name == RECEIPTS):
            name = f"{RECEIPTS} {self.random.choice(there)}"
            self.world.lose(name, self.random.choice(("recreated", "restored", "gone")), self.random)

    def _finish(self) -> None:
        while self.runs:
            self.world.now += 1
            self._advance(self.random.choice(self.runs))

    def _end_run(self, *, minting: bool = True) -> None:
        """Let the only run go on to its end."""
        while self.runs:
            self.world.now += 1
            self._advance(self.runs[0])
            if minting:
                self._mint()
            if self.busy:
                for counter in self.counters:
                    count = self.random.randint(1, LARGEST_BLOCK)
                    self.world.mint_block(self.random.choice(REGIONS), count, counter)

    def _leave_alone(self) -> None:
        random, world = self.random, self.world
        self.rates.update(dict.fromkeys(self.rates, 0))
        self.network.offset, self.peak = 0, 1
        world.unreachable &= {self.for_ever} if self.for_ever else set()
        world.denied.clear()
        self.deploying = None
        self.pulumi.counters = self.counters
        if random.random() < 0.7:
            for region in self.pulumi.tables:
                world.make_table(region)
        while self.runs or self.network.late:
            world.now += 1
            if self.network.late and random.random() < 0.2:
                self.network.deliver()
            if self.runs:
                self._advance(random.choice(self.runs))
            self._mint()
        if len(world.homes) > 1 and (settings := self.pulumi.settings):
            for _ in range(3):  # the next `up` carries on with a move that was killed
                home = self.pulumi.home
                self._deploy(replace(settings, home=home))
                self._end_run()
                if self.pulumi.home == home:  # else a refusal has named the home that is to be set
                    break
        self.last = None
        for minting in (True, True, False):  # three scheduled runs, and hours between them
            world.now += random.choice((60, 300, LATEST))
            self._start(ScheduledRun())
            self._end_run(minting=minting)
        if self.losses > 1 and not self._begin_again():
            return
        record, copy = world.record, world.record_copy
        if record is None:  # the first deployment was interrupted before it was admitted
            if copy is not None and copy.mirror_id == world.mirror.id:
                raise Stuck("the record wasn't put back")
        elif (world.tables.keys() - world.unreachable) & set(record.desired.regions):  # else nobody could mint
            if self.last is None:
                raise Stuck(f"the last runs were refused: {self.refusals[-2:]}")
            self._report(record.desired.regions)
            check_reconciled(world, self.last)
        self._repeat()
        for check in (self._ask_calmly, self._change_calmly, self._put_back_calmly, self._delete_calmly):
            record = world.record
            if record and record.reconciled and not self.for_ever:
                check(record.desired)

    def _repeat(self) -> None:
        """Repeat the last `up`, however it ended, after days, twice: it succeeds, and then has nothing to do."""
        settings = self.pulumi.settings
        if settings is None:
            return  # none got as far as the coordinator
        if not (set(settings.regions) - self.world.unreachable and self._finds_home()):
            return  # refused: no region could mint, or nobody can know what is to be moved
        if self.world.record is None and {*settings.regions, *settings.leaving} & self.world.unreachable:
            return  # refused: at the first deployment, all must answer
        for expected in ("success", "nothing to do"):
            self.world.now += self.random.choice((60, LATEST + 60, 50 * 3_600))
            sent = self.pulumi.up(settings, self.pulumi.read(settings), refresh=True)
            if sent is None:
                self._delete(None)
            elif expected == "nothing to do":
                raise Stuck(f"an unchanged `up` isn't at rest: {sent}")
            else:
                self._up_succeeds(sent)

    def _changed(self, settings: SimulatedSettings) -> str:
        """Return the event of an `up` with settings that ask for something else than the last ones."""
        sent = self.pulumi.up(settings, self.pulumi.read(settings), refresh=False)
        assert sent is not None
        return sent

    def _up_succeeds(self, sent: str) -> None:
        self.last = None
        self._send(sent)
        self._end_run()
        if self.last is None:
            raise Stuck(f"an `up` with the settings in force is refused: {sent}")

    def _change_calmly(self, desired: DesiredState) -> None:
        """Change the layout while all regions mint as fast as they can, and one item is throttled.

        The next base of a counter whose items all answer lies no more than `FARTHEST` integers of a region above what
        was minted. A region whose receipts table can't be written follows, too.
        """
        world, random = self.world, self.random
        regions = tuple(region for region in REGIONS if region in world.tables and region not in world.unreachable)
        if len(regions) < 2:
            return
        first, second = (regions, regions[::-1]) if desired.regions != regions else (regions[::-1], regions)
        hot = self.counters[1:] and random.choice(self.counters[1:])
        self._change_in_vain(first)
        for order in (first, second):
            before = {counter: world.registers[counter] for counter in self.counters}
            world.now += 60
            sent = self._changed(replace(self.pulumi.change(order, {}), window=5_000))
            if order == second:
                self.network.hot = (random.choice(first), hot) if hot else None
                self.busy = True
            else:
                world.denied[f"receipts {order[0]}"] = "writes"
            self._up_succeeds(sent)
            self._check_unfenced(order[:1])
            world.denied.clear()
        for counter, register in before.items():
            after, stride = world.registers[counter], len(register.regions)
            before_that = [integer for integer in self._minted_of(counter) if integer < after.base]
            if counter != hot and after.base > max([register.base, *before_that]) + (FARTHEST + 1) * stride:
                raise Stuck(f"{counter} jumped from {register} to {after}")

    def _delete_calmly(self, desired: DesiredState) -> None:
        """Delete the counter of the callers: it is gone. Create it again: all that it mints lies above."""
        world = self.world
        if "e" not in self.minted or {*desired.everywhere} - world.tables.keys():
            return  # a region that is gone must answer
        again = (Delete(("e",)), Create(("e",))) if self.callers.random() < 0.5 else ()
        self._create_lost()
        top = 0
        for request in (Create(("e",)), *again, Delete(("e",)), ScheduledRun(), Create(("e",))):
            top = max(self._minted_of("e"), default=0)
            world.now += 60
            self._succeeds(request, minting=isinstance(request, ScheduledRun))
            left = [region for region in world.tables if "e" in world.items(region)]
            if not isinstance(request, Create) and any(world.mint(region, "e") for region in left):
                raise Stuck("e is minted though it was deleted")
        self._mint_above(top, desired.regions, "e")

    def _report(self, regions: Iterable[str]) -> None:
        """Let each region report what it has seen go back."""
        for region, counter in product(regions, self.minted):
            if self.world.mint(region, counter) is None and isinstance(self.world.refusal, WentBackwards):
                self._succeeds(Grant(counter, 1, self.world.refusal.epoch))

    def _put_back_calmly(self, desired: DesiredState) -> None:
        """Put an older state of an item back. Its region refuses, reports that, and mints above everything then."""
        world = self.world
        self.network.hot, self.busy = None, False
        self._succeeds(ScheduledRun())
        region, counter = self.answering.choice(desired.regions), self.answering.choice(self.counters)
        if world.mint(region, counter) is None or not world.put_back(region, counter, self.answering, any_epoch=True):
            return
        top = max(self._minted_of(counter))
        if world.mint(region, counter) is not None or not isinstance(world.refusal, WentBackwards):
            raise Stuck(f"{region} mints {counter} though its table went back")
        self._succeeds(Grant(counter, 1, world.refusal.epoch))
        self._mint_above(top, desired.regions, counter)

    def _mint_above(self, top: int, regions: Iterable[str], counter: str) -> None:
        for region in regions:
            integer = self.world.mint(region, counter)
            if integer is None or integer <= top:
                raise Stuck(f"{region} mints {integer} of {counter}, after {top}")

    def _create_lost(self) -> None:
        """Create the counter of the callers, though losses left only items of it: that loss is answered first."""
        run = self._start(Create(("e",)))
        self._end_run(minting=False)
        if isinstance(run.result, RunResult):
            return
        if self.losses < 2 or not self.said:
            raise Stuck(f"e can't be created: {run.result}")
        record = self.world.record
        assert record is not None
        settings = SimulatedSettings(record.desired.regions, record.desired.leaving, self.floors, home=self.pulumi.home)
        for recovery in (self._answer(), dict[str, Any]()):
            self.world.now += 60
            self._up_succeeds(self._changed(replace(settings, recovery=recovery)))
        self._succeeds(Create(("e",)))

    def _succeeds(self, request: Run, *, minting: bool = False) -> None:
        run = self._start(request)
        self._end_run(minting=minting)
        if not isinstance(run.result, RunResult):
            raise Stuck(f"{request} is refused: {run.result}")

    def _minted_of(self, counter: str) -> list[int]:
        return [integer for name, integer in {*self.world.minted, *self.world.excepted} if name == counter]

    def _ask_calmly(self, desired: DesiredState) -> None:
        """Want a block for which a region has too few integers: it asks, and then it mints the block."""
        world = self.world
        for region in desired.regions:
            counter = self.callers.choice(self.counters)
            if item := world.item(region, counter):
                count = (item.ceiling - item.issued) // item.stride + self.callers.randint(1, 50)
                self._start(Grant(counter, count))
                self._end_run(minting=False)
                if len(world.mint_block(region, count, counter)) < count:
                    raise Stuck(f"{region} has asked for {count} integers in vain: {item}, {world.registers[counter]}")

    def _change_in_vain(self, order: tuple[str, ...]) -> None:
        """Change the layout while the mirror can't be written: it is refused, and nobody stops for it."""
        world = self.world
        world.denied[mirror := at_home(MIRROR, world.home)] = "writes"
        self._send(self._changed(self.pulumi.change(order, {})))
        self._end_run()
        del world.denied[mirror]
        self._check_unfenced(world.tables.keys() - world.unreachable)

    def _check_unfenced(self, regions: Iterable[str]) -> None:
        for region in regions:
            for counter in self.counters:
                item = self.world.item(region, counter)
                leaving = self.world.registers[counter].regions.count(region) == 0
                throttled = self.network.hot == (region, counter)
                if item is not None and item.fenced and not leaving and not throttled:
                    raise Stuck(f"{region} is fenced for nothing: {item}")

    def _begin_again(self) -> bool:
        """Deploy as refusals say, until nothing is refused: without the region that never comes back.

        Return whether a region is left to mint.
        """
        world, record = self.world, self.world.record
        regions = record.desired.regions if record else tuple(REGIONS)
        regions = tuple(region for region in regions if region != self.for_ever)
        if self.for_ever:
            self.pulumi.tables.pop(self.for_ever, None)
        if not self._finds_home():
            self.pulumi.home = world.home  # the operator knows where it was, and answers nothing before it was asked
        for attempt in range(8 if regions else 0):
            world.now += 60
            settings = self.pulumi.change(regions, self.floors)
            if attempt and self.said:
                self.pulumi.recovery = self._answer()
            before, self.said = self.said, ""
            self._deploy(replace(settings, recovery=self.pulumi.recovery))
            self._finish()
            if not self.said and attempt:
                break
            self.said = self.said or before
        self._start(ScheduledRun())  # what `up` has made again gets what it had
        self._finish()
        return bool(regions)


def _one_of(random: Random, chance: float, *rates: T) -> T | Literal[0]:
    return random.choice(rates) if random.random() < chance else 0
