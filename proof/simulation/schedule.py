"""One random schedule: what operators, tools and disasters do to the system while it mints.

Deployments are killed, reverted and repeated at any step, with scheduled runs in between. Runs race, are late and
crash. Callers create a counter, which operators delete. Regions are unreachable, calls are throttled, writes are
carried out late, twice, or without an answer. Tables are lost, in the regions and at home. Operators write invalid
items. The clock jumps by hours. Regions that ran out of integers ask for more. The home region moves, also back, while
runs in the former ones go on.

In the end, the system is left alone until all is reconciled. Then `up` with the settings in force must succeed,
however much time has passed, and the next one must have nothing to do.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from random import Random
from typing import Any, Literal, TypeVar

from coordinate.protocol.model import Claim, Copy, Deploy, DesiredState, Refused, Register
from coordinate.protocol.moves import LATEST
from coordinate.protocol.operations import ReadHome
from coordinate.protocol.run import Create, Delete, Grant, Run, RunResult, ScheduledRun, run
from mint.model import CeilingReached, WentBackwards
from pulumi import RunError

from global_integers_core.lattice import MAX_FLOOR
from global_integers_core.names import CHECK_COUNTER

from .checks import LOST, CheckedWorld, FalseAlarm, ask, check_reconciled, require
from .coordinator import SimulatedCoordinator
from .deployments import WINDOW, SimulatedPulumi, SimulatedSettings, deployment_of, loss_named
from .network import Network
from .world import HOME, LAYOUTS, MIRROR, RECEIPTS, REGISTERS, at_home

T = TypeVar("T")

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

RATES: dict[str, tuple[float, ...]] = {
    "lost": (0.4, 0.02, 0.1, 0.3),
    "throttled": (0.4, 0.005, 0.03),
    "home fails": (0.3, 0.002, 0.01),
    "conflict": (0.4, 0.1, 0.5, 0.9),
    "clock": (0.3, 0.5),
    "out of time": (0.3, 0.5),
    "crash": (0.5, 0.002, 0.02),
    "sleep": (1, 0.003, 0.01, 0.05),
    "grant": (0.7, 0.1, 0.5),
    "early": (0.7, 0.2, 1),
    "floors": (0.5, 0.1, 0.5),
    "windows": (0.5, 0.1, 0.3),
    "answer": (0.7, 0.2, 0.8),
}
"""What may happen to a run, a call or an `up` → in which share of the schedules it does, and how often."""

Effect = Callable[["RandomSchedule"], None]

EVENTS: dict[str, Effect] = {}
"""What may happen in any step. `RATES` has how often."""


def event(*rates: float) -> Callable[[Effect], Effect]:
    """Let this happen in a share of the schedules, and there in one of these shares of the steps."""

    def added(effect: Effect) -> Effect:
        RATES[effect.__name__] = rates
        EVENTS[effect.__name__] = effect
        return effect

    return added


class RandomRun(SimulatedCoordinator):
    """A run that a schedule has started."""

    def __init__(self, request: Run, name: str, home: str, begun: int, sent: str) -> None:
        super().__init__(run(request, name, RunResult()), home)
        self.request, self.begun, self.asleep = request, begun, 0
        self.sent = sent
        """The event, if Pulumi has started it and waits for it."""


class RandomSchedule:
    """A schedule that its seed decides.

    `losses` is how many tables may be lost before the first one is repaired. With 1, all must reconcile without an
    operator. With more, an answer may be needed in the end.
    """

    def __init__(self, seed: int, *, losses: int = 1) -> None:
        random = self.random = Random(seed)
        self.world = CheckedWorld()
        self.losses = losses
        self.rates = defaultdict[str, float](float, {name: _one_of(random, *rates) for name, rates in RATES.items()})
        self.rates["move"] = _one_of(random, MOVES[losses - 1], 0.2, 0.6)
        self.network = Network(self.world, random, self.rates)
        self.pulumi = SimulatedPulumi(self.world, random)
        self.peak = 1
        """How many times as many integers are used as usual."""
        self.minting = random.uniform(0.1, 0.6)
        self.pace = random.choice((1, 2, 4))
        self.counters = random.choice((("c",), ("c",), ("c", "d")))
        self.minted = (*self.counters, "e") if self.rates["create_or_delete"] else self.counters
        """The counters of the settings, and one that a caller creates."""
        self.check = (CHECK_COUNTER,) if random.random() < 0.25 else ()
        self.runs: list[RandomRun] = []
        self.for_ever = ""
        """The region that never comes back."""

    def run(self) -> CheckedWorld:
        """Run the schedule, leave the system alone until it has reconciled, and repeat the last `up`; or raise."""
        random, world = self.random, self.world
        unaccepted = {*random.sample(REGIONS, 2)} if random.random() < 0.2 else set[str]()
        world.unreachable |= unaccepted  # the role is new
        self.deploy()
        accepted = random.choice((10, 30, 100))
        for number in range(random.choice((150, 400, 800))):
            if number == accepted:
                world.unreachable -= unaccepted - {self.for_ever}
            self._one_step()
        for _ in range(20):  # the first one may have been killed
            if world.record is None and world.record_copy is None:
                self.deploy()
                self._finish()
        self._leave_alone()
        return world

    def _one_step(self) -> None:
        self.world.now += 1
        self._mint()
        for _ in range(self.pace):
            if self.runs:
                self._turn(self.random.choice(self.runs))
        for name, happen in EVENTS.items():
            if self.random.random() < self.rates[name]:
                happen(self)

    @event(0.4, 0.01, 0.05)
    def use_more_or_less(self) -> None:
        """Let fifty times as many integers be used as usual, or as many as usual again."""
        self.peak = 51 - self.peak

    @event(1, 0.1)
    def deliver(self) -> None:
        """Let a write arrive that is under way."""
        self.network.deliver()

    @event(1, 0.01, 0.03, 0.1)
    def schedule(self) -> None:
        """Start a scheduled run."""
        self._start(ScheduledRun())

    @event(0.4, 0.01, 0.03, 0.1)
    def create_or_delete(self) -> None:
        """Create a counter as a caller does, or delete it as an operator does, mostly in turn."""
        there = "e" in self.world.registers
        self._start(Delete(("e",)) if there != (self.random.random() < 0.2) else Create(("e",)))

    @event(1, 0.01, 0.03, 0.1)
    def deploy(self) -> None:
        """Deploy any settings, or the last ones once more, unless an `up` is at work. Some are killed early."""
        random, settings = self.random, self.pulumi.settings
        if not any(each.sent for each in self.runs):
            again = settings.regions and random.random() < 0.4
            killed = random.random() < 0.15
            self._up(settings if again else self._any_settings(), refresh=random.random() < 0.5, killed=killed)

    @event(1, 0.002)
    def kill(self) -> None:
        """Kill Pulumi. Its run of the coordinator goes on."""
        for each in self.runs:
            each.sent = ""

    @event(0.5, 0.003, 0.01, 0.04)
    def reach_or_not(self) -> None:
        """Let a region stop answering the coordinator, or answer again."""
        self.world.unreachable ^= {self.random.choice(REGIONS)} - {self.for_ever}

    @event(1, 0.01)
    def reach_a_home_or_not(self) -> None:
        """The same of a home region, if it moves."""
        if self.rates["move"]:
            self.world.unreachable ^= {self.random.choice(HOMES)}

    @event(0.2, 0.005)
    def never_reach(self) -> None:
        """Let a region stop answering for ever."""
        if self.world.tables and not self.for_ever:
            self.for_ever = self.random.choice(sorted(self.world.tables))
            self.world.unreachable.add(self.for_ever)

    @event(0.6, 0.004, 0.02, 0.06)
    def lose_region(self) -> None:
        """Lose a region's counters table."""
        there = sorted(self.world.tables.keys() & self.pulumi.tables.keys())
        if there and self.world.record and len(self.world.lost) < self.losses:
            self._lose(self.random.choice(there))

    @event(0.5, 0.004, 0.02)
    def lose_receipts(self) -> None:
        """Lose a receipts table. Nothing has to be done about it: only the past is forgotten.

        Not after a table of a former home: where all of these are lost, nobody knows which one the home is.
        """
        is_last = self.world.lost and len(self.world.homes) > 1
        if not is_last and (there := sorted(region for region, name in self.world.database.tables if name == RECEIPTS)):
            self._lose(f"{RECEIPTS} {self.random.choice(there)}")

    def _lose(self, table: str) -> None:
        self.world.lose(table, self.random.choice(("recreated", "restored", "gone")), self.random)

    @event(0.5, 0.002, 0.01, 0.03)
    def lose_layouts_or_mirror(self) -> None:
        """Lose one of the tables at home."""
        self._lose_home(self.random.choice((LAYOUTS, MIRROR)), self.world.home)

    @event(0.4, 0.005, 0.02)
    def lose_both(self) -> None:
        """Lose both tables at home."""
        if len(self.world.lost) < self.losses - 1:
            for name in (LAYOUTS, MIRROR):
                self._lose_home(name, self.world.home)

    @event(1, 0.01)
    def lose_former_home(self) -> None:
        """Lose a table of another home region than the present one, where a region knows which one that is."""
        reached = self.world.tables.keys() - self.world.unreachable
        known = any(isinstance(self.world.carry_out(ReadHome(region)), Claim) for region in sorted(reached))
        if known and (others := [home for home in self.world.homes if home != self.world.home]):
            self._lose_home(self.random.choice((LAYOUTS, MIRROR)), self.random.choice(others))

    def _lose_home(self, name: str, home: str) -> None:
        world, table = self.world, at_home(name, home)
        began = world.record_copy or world.record  # before that, nothing shows what was lost
        if began and world.backups.get(table) and len(world.lost) < self.losses:
            world.lose(table, self.random.choice(("recreated", "restored")), self.random)

    @event(0.3, 0.01, 0.03)
    def delete_by_hand(self) -> None:
        """Delete a register and its copy, or the record and its copy, or put back older content, in the same tables."""
        world, random = self.world, self.random
        if not (world.record_copy and world.record and len(world.lost) < self.losses - 1):
            return
        out_of_sight = {*world.lost, *world.denied, *world.unreachable}
        world.home_lost += 1
        world.lost |= dict.fromkeys((LAYOUTS, MIRROR), world.now)
        match random.randrange(3):
            case 0:
                if world.record.has_reported("c"):
                    world.registers.pop("c", None)
                    world.copies.pop("c", None)
            case 1:
                counter = random.choice(self.minted)
                backups = world.backups.get(at_home(LAYOUTS, world.home), [])
                back = [REGISTERS(items[counter]) for items in backups if counter in items]
                here = [old for old in back if isinstance(old, Register) and old.layouts_id == world.layouts.id]
                # With a region's item out of sight, nobody could know what it was given.
                if here and counter in world.copies and not out_of_sight:
                    world.registers[counter] = old = random.choice(here)
                    world.copies[counter] = Copy(old, world.mirror.id)
                    self._look()
            case _:
                world.record = world.record_copy = None

    def _look(self) -> None:
        """Carry out a scheduled run at once, while nothing goes wrong. All others stay where they are."""
        rates = self.rates.copy()
        self.rates.clear()
        looking = self._start(ScheduledRun())
        while not looking.ended:
            self.world.now += 1
            self._advance(looking)
        self.rates.update(rates)

    @event(0.3, 0.01, 0.05)
    def put_back(self) -> None:
        """Put an older state of an item back. Then its region mints."""
        region, counter = self.random.choice(REGIONS), self.random.choice(self.minted)
        if region in self.world.warm and self.world.put_back(region, counter, self.random):
            self.world.mint(region, counter)
            self._ask(counter, 1)

    @event(0.2, 0.005)
    def write_a_stray_item(self) -> None:
        """Write an item by mistake, which can't be read."""
        if self.world.record:
            homes = [at_home(name, self.world.home) for name in (LAYOUTS, MIRROR)]
            self.world.spoil(self.random.choice([*homes, *sorted(self.world.tables)]))

    @event(0.3, 0.003, 0.01)
    def deny(self) -> None:
        """Let a table refuse reads or writes, or neither any more."""
        self._deny(self.random.choice([LAYOUTS, MIRROR, *REGIONS]))

    @event(0.3, 0.003, 0.01)
    def deny_receipts(self) -> None:
        """The same of a receipts table."""
        region = self.random.choice(REGIONS)
        self._deny(f"{RECEIPTS} {region}")
        self.world.unrecorded.add(region)

    def _deny(self, table: str) -> None:
        """Let a table refuse reads or writes, or neither any more."""
        if self.world.denied.pop(table, None) is None:
            self.world.denied[table] = self.random.choice(("reads", "writes"))

    @event(0.5, 0.01, 0.1)
    def restart(self) -> None:
        """Replace a region's function."""
        self.world.restart(self.random.choice(REGIONS))

    @event(0.5, 0.003, 0.02)
    def pass_hours(self) -> None:
        """Let time pass: nothing is under way any more, but a clock may also jump while a run goes on.

        Not by hours if counters are deleted: that depends on how long a run lasts.
        """
        hours = self.random.choice((600, 3_600, LATEST + 600, 30 * 3_600))
        self.world.now += hours
        self.network.late.clear()
        if self.random.random() < 0.8 or (self.rates["create_or_delete"] and hours > LASTS):
            self.runs.clear()

    @event(0.3, 0.02, 0.1)
    def set_clocks_back(self) -> None:
        """Let all clocks be wrong, or right again."""
        if self.losses > 1:
            self.network.offset = self.random.choice((0, 0, -600, -3_000, -40_000))

    @property
    def _top(self) -> int:
        """The last integer that was minted."""
        return next(reversed(self.world.minted), ("", 0))[1]

    def _mint(self) -> None:
        random, world = self.random, self.world
        if random.random() < self.minting:
            region, counter = random.choice(REGIONS), random.choice(self.minted)
            count = self.peak * (random.randint(2, 5) if random.random() < 0.1 else 1)
            minted = world.mint_block(region, count if count > 1 else None, counter)
            few = bool(minted and world.warm[region].low.pop(counter, None))
            if random.random() < self.rates["early" if few else "grant"]:
                self._ask(counter, count, few=few)
        elif random.random() < 0.2:
            ask(world, random.choice(REGIONS), random.choice(self.minted), random.randint(1, self._top + 10))

    def _ask(self, counter: str, count: int, *, few: bool = False) -> None:
        """Ask as a function does with few integers left, or none, whatever runs are at work. It waits for nothing."""
        refusal = self.world.refusal
        if len(self.runs) < COORDINATORS and (few or isinstance(refusal, CeilingReached | WentBackwards)):
            back = refusal.epoch if isinstance(refusal, WentBackwards) else 0
            self._start(Grant(counter, 1 if back else count, back))

    def _start(self, request: Run, home: str = "", sent: str = "") -> RandomRun:
        """Start a run, by default in a home region, mostly the present one."""
        random, world = self.random, self.world
        if not home:
            home = random.choice(world.homes) if self.rates["move"] and random.random() < 0.3 else world.home
        name = world.new_id(type(request).__name__).replace(" ", "-")
        started = RandomRun(request, name, home, world.now, sent)
        if isinstance(request, Grant):
            world.largest = max(world.largest, request.count)
        self.runs.append(started)
        if len(self.runs) > COORDINATORS:
            del self.runs[random.randrange(COORDINATORS)]  # crashes; never the new one
        return started

    def _send(self, sent: str) -> RandomRun:
        deployment = deployment_of(sent)
        return self._start(deployment, deployment.desired.home, sent)

    def _turn(self, run: RandomRun) -> None:
        if self.rates["create_or_delete"] and self.world.now > run.begun + LASTS:
            self.runs.remove(run)
        elif run.asleep:
            run.asleep -= 1
        else:
            self._advance(run)
            if self.random.random() < self.rates["sleep"]:
                run.asleep = self.random.choice((3, 10, 30, 100, 300))
            elif run in self.runs and self.random.random() < self.rates["crash"]:
                self.runs.remove(run)

    def _advance(self, run: RandomRun) -> None:
        self.world.at = run.home
        try:
            run.step(partial(self.network.carry_out, run=run), self.random.randrange)
        except Refused as refusal:
            if run.home in (self.world.home, self.pulumi.settings.home):
                self._hear(str(refusal), run.home)
        if run.ended:
            self.runs.remove(run)
            if isinstance(run.request, Deploy | ScheduledRun) and isinstance(run.result, RunResult):
                self.world.ended(run.result, run.begun)
                if run.sent:
                    self.pulumi.succeeded(run.sent)

    def _hear(self, refusal: str, home: str) -> None:
        """Let the operator read a refusal, or raise `FalseAlarm` if it says that something is lost that isn't."""
        world, record = self.world, self.world.record
        in_place = record and record.layouts_id == world.layouts.id and not isinstance(world.admitted, Claim)
        untrue = home == world.home and in_place and refusal.startswith(LOST)
        nothing_lost = loss_named(refusal) and not world.home_lost and self._finds_home()
        if "\n  the home region" not in refusal and (untrue or nothing_lost):
            raise FalseAlarm(refusal)
        self.pulumi.hear(refusal)

    def _finds_home(self) -> bool:
        """Return whether the regions of the last `up` know the present home, or it is the first one, or the same."""
        home, settings = self.world.home, self.pulumi.settings
        claimed = [claim.home for region, claim in self.world.claims.items() if region in settings.regions]
        return home in (settings.home, self.pulumi.first.partition(" ")[0], *claimed)

    def _answer(self) -> Mapping[str, Any]:
        """Return the operator's answer, as the refusal and the runbook say.

        It is the largest integer in the data, or what some region's status says that it may still mint.
        """
        world = self.world
        world.home_lost += 1  # the home region, too, is given up if it doesn't answer
        tops = [item.ceiling for region in world.tables for item in world.items(region).values()]
        tops += [integer for _, integer in {*world.minted, *world.excepted}]
        return {"loss": self.pulumi.said, "above": max([0, *tops])}

    def _any_settings(self) -> SimulatedSettings:
        """Return settings with other regions, and with floors, windows and answers, new ones or those of long ago."""
        random, rates, others = self.random, self.rates, dict[str, Any]()
        if random.random() < rates["windows"]:
            others["window"] = random.choice((WINDOW, WINDOW, 60, 400))
        if random.random() < rates["floors"]:
            keys = random.choice((("*",), ("*",), ("c",), ("*", "c"), ()))
            floors = {key: int(self._top * random.choice((0.1, 0.5, 0.9, 1.01, 1.1))) for key in keys}
            others["floors"] = {key: min(max(1, floor), MAX_FLOOR) for key, floor in floors.items()}
        if random.random() < rates["move"]:
            others["home"] = random.choice(HOMES)
        if self.losses > 1 and self.pulumi.said and random.random() < rates["answer"]:
            others["recovery"] = self._answer()
        elif random.random() < 0.1:
            others["recovery"] = {}
        counters = self.minted if random.random() < 0.3 else self.counters
        regions = random.sample(REGIONS, random.randint(1, 4))
        return self.pulumi.change(regions, counters=(*counters, *self.check), **others)

    def _up(self, settings: SimulatedSettings, *, refresh: bool = True, killed: bool = False) -> None:
        """`pulumi up`, until the coordinator has begun; or it is `killed` just before."""
        try:
            read = self.pulumi.read(settings)
        except RunError as refusal:
            self.pulumi.hear(str(refusal))
            return
        for _ in range(self.random.choice((0, 0, 0, 20))):
            self.world.now += 1  # the resources take their time, and others are at work
            for other in list(self.runs):
                self._turn(other)
        sent = self.pulumi.up(settings, read, refresh=refresh, wrong_by=self.network.wrong_by())
        if not sent:
            self.pulumi.succeeded(sent)
        elif not killed:
            self._send(sent)

    def _finish(self, *, minting: bool = False, busy: bool = False) -> None:
        """Let all runs go on to their ends, and all writes arrive. If it is `busy`, regions mint what they can."""
        random, world = self.random, self.world
        while self.runs or self.network.late:
            world.now += 1
            if random.random() < 0.2:
                self.network.deliver()
            if self.runs:
                self._advance(random.choice(self.runs))
            if minting:
                self._mint()
            for counter in self.counters if busy else ():
                world.mint_block(random.choice(REGIONS), random.randint(1, LARGEST_BLOCK), counter)

    def _succeeds(self, run: RandomRun, **how: bool) -> RunResult:
        """Let a run go on to its end. Return its result, or raise `Stuck` if it is refused or leaves something."""
        self._finish(**how)
        result = run.result
        whole = isinstance(result, RunResult) and not result.skipped and not result.unfinished
        require(whole, f"{run.request} has ended too early: {result}")
        return result

    def _leave_alone(self) -> None:
        random, world, pulumi = self.random, self.world, self.pulumi
        self.rates.clear()
        self.network.offset, self.peak = 0, 1
        world.unreachable &= {self.for_ever}
        world.denied.clear()
        self.kill()
        pulumi.settings = replace(pulumi.settings, counters=(*self.counters, *self.check))
        if random.random() < 0.7:
            for region in pulumi.tables:
                world.make_table(region)
        self._finish(minting=True)
        for _ in range(3 if len(world.homes) > 1 else 0):  # the next `up` carries on with a move that was killed
            home = pulumi.settings.home
            self._up(pulumi.settings)
            self._finish(minting=True)
            if pulumi.settings.home == home:  # else a refusal has named the home that is to be set
                break
        for minting in (True, True, False):  # three scheduled runs, and hours between them
            world.now += random.choice((60, 300, LATEST))
            last = self._start(ScheduledRun())
            self._finish(minting=minting)
        if self.losses > 1:
            if not self._begin_again():
                return
            last = self._start(ScheduledRun())  # what `up` has made again gets what it had
            self._finish()
        record, copy = world.record, world.record_copy
        if record is None:  # the first deployment was interrupted before it was admitted
            require(copy is None or copy.mirror_id != world.mirror.id, "the record wasn't put back")
        elif (world.tables.keys() - world.unreachable) & set(record.desired.regions):  # else nobody could mint
            result = self._succeeds(last)
            self._report(product(record.desired.regions, self.minted))
            check_reconciled(world, result)
        self._repeat()
        for check in (self._ask_calmly, self._change_calmly, self._put_back_calmly, self._delete_calmly):
            record = world.record
            if record and record.reconciled and not self.for_ever:
                check(record.desired)

    def _begin_again(self) -> bool:
        """Deploy as refusals say, until nothing is refused: without the region that never comes back.

        Return whether a region is left to mint.
        """
        world, record, pulumi = self.world, self.world.record, self.pulumi
        regions = [region for region in (record.desired.regions if record else REGIONS) if region != self.for_ever]
        pulumi.tables.pop(self.for_ever, None)
        if not self._finds_home():  # the operator knows where it was, and answers nothing before it was asked
            pulumi.settings = replace(pulumi.settings, home=world.home)
        for attempt in range(8 if regions else 0):
            world.now += 60
            others = {"recovery": self._answer()} if attempt and pulumi.said else {}
            before, pulumi.said = pulumi.said, ""
            self._up(pulumi.change(regions, **others))
            self._finish()
            if not pulumi.said and attempt:
                break
            pulumi.said = pulumi.said or before
        return bool(regions)

    def _repeat(self) -> None:
        """Repeat the last `up`, however it ended, after days, twice: it succeeds, and then has nothing to do."""
        settings, unreachable = self.pulumi.settings, self.world.unreachable
        if not ({*settings.regions} - unreachable and self._finds_home()):
            return  # refused: no region could mint, or nobody can know what is to be moved
        if self.world.record is None and {*settings.everywhere} & unreachable:
            return  # refused: at the first deployment, all must answer
        for again in (False, True):
            self.world.now += self.random.choice((60, LATEST + 60, 50 * 3_600))
            sent = self.pulumi.up(settings)
            require(not (sent and again), f"an unchanged `up` isn't at rest: {sent}")
            if sent:
                self._succeeds(self._send(sent), minting=True)
            else:
                self.pulumi.succeeded(sent)

    def _ask_calmly(self, desired: DesiredState) -> None:
        """Want a block for which a region has too few integers: it asks, and then it mints the block."""
        world = self.world
        for region in desired.regions:
            counter = self.random.choice(self.counters)
            if item := world.item(region, counter):
                count = (item.ceiling - item.issued) // item.stride + self.random.randint(1, 50)
                self._succeeds(self._start(Grant(counter, count)))
                minted = world.mint_block(region, count, counter)
                require(
                    len(minted) == count, f"{region} has asked for {count} in vain: {item}, {world.registers[counter]}"
                )

    def _change_calmly(self, desired: DesiredState) -> None:
        """Change the layout while all regions mint as fast as they can, and one item is throttled.

        The next base of a counter whose items all answer lies no more than `FARTHEST` integers of a region above what
        was minted. A region whose receipts table can't be written follows, too.
        """
        world, random = self.world, self.random
        regions = [region for region in REGIONS if region in world.tables and region not in world.unreachable]
        if len(regions) < 2:
            return
        first, second = (regions, regions[::-1]) if [*desired.regions] != regions else (regions[::-1], regions)
        hot = self.counters[1:] and random.choice(self.counters[1:])
        self._change_in_vain(first)
        for order in (first, second):
            before = {counter: world.registers[counter] for counter in self.counters}
            world.now += 60
            sent = self.pulumi.up(self.pulumi.change(order, floors={}, window=5_000), refresh=False)
            if order == second:
                self.network.hot = (random.choice(first), hot) if hot else None
            else:
                world.denied[f"{RECEIPTS} {order[0]}"] = "writes"
            self._succeeds(self._send(sent), minting=True, busy=order == second)
            self._check_unfenced(order[:1])
            world.denied.clear()
        for counter, register in before.items():
            after, stride = world.registers[counter], len(register.regions)
            before_that = [integer for integer in self._minted_of(counter) if integer < after.base]
            near = counter == hot or after.base <= max([register.base, *before_that]) + (FARTHEST + 1) * stride
            require(near, f"{counter} jumped from {register} to {after}")
        self.network.hot = None

    def _change_in_vain(self, order: Sequence[str]) -> None:
        """Change the layout while the mirror can't be written: it is refused, and nobody stops for it."""
        world = self.world
        world.denied[at_home(MIRROR, world.home)] = "writes"
        self._send(self.pulumi.up(self.pulumi.change(order, floors={}), refresh=False))
        self._finish(minting=True)
        world.denied.clear()
        self._check_unfenced(world.tables.keys() - world.unreachable)

    def _check_unfenced(self, regions: Iterable[str]) -> None:
        for region, counter in product(regions, self.counters):
            item = self.world.item(region, counter)
            leaving = region not in self.world.registers[counter].regions
            rightly = leaving or self.network.hot == (region, counter)
            require(rightly or item is None or not item.fenced, f"{region} is fenced for nothing: {item}")

    def _put_back_calmly(self, desired: DesiredState) -> None:
        """Put an older state of an item back. Its region refuses, reports that, and mints above everything then."""
        world = self.world
        self._succeeds(self._start(ScheduledRun()))
        region, counter = self.random.choice(desired.regions), self.random.choice(self.counters)
        if world.mint(region, counter) and world.put_back(region, counter, self.random, any_epoch=True):
            top = max(self._minted_of(counter))
            require(self._report([(region, counter)]), f"{region} mints {counter} though its table went back")
            self._mint_above(top, desired.regions, counter)

    def _report(self, items: Iterable[tuple[str, str]]) -> int:
        """Let regions report which of these counters they have seen go back. Return how many."""
        reported = 0
        for region, counter in items:
            if self.world.mint(region, counter) is None and isinstance(self.world.refusal, WentBackwards):
                self._succeeds(self._start(Grant(counter, 1, self.world.refusal.epoch)))
                reported += 1
        return reported

    def _delete_calmly(self, desired: DesiredState) -> None:
        """Delete the counter of the callers: it is gone. Create it again: all that it mints lies above."""
        world = self.world
        if "e" not in self.minted or {*desired.everywhere} - world.tables.keys():
            return  # a region that is gone must answer
        again = (Delete(("e",)), Create(("e",))) if self.random.random() < 0.5 else ()
        self._create_lost()
        top = 0
        for request in (Create(("e",)), *again, Delete(("e",)), ScheduledRun(), Create(("e",))):
            top = max(self._minted_of("e"), default=0)
            world.now += 60
            self._succeeds(self._start(request), minting=isinstance(request, ScheduledRun))
            left = [region for region in world.tables if "e" in world.items(region)]
            minted = not isinstance(request, Create) and any(world.mint(region, "e") for region in left)
            require(not minted, "e is minted though it was deleted")
        self._mint_above(top, desired.regions, "e")

    def _create_lost(self) -> None:
        """Create the counter of the callers, though losses left only items of it: that loss is answered first."""
        run = self._start(Create(("e",)))
        self._finish()
        if isinstance(run.result, Refused) and self.losses > 1 and self.pulumi.said:
            for recovery in (self._answer(), dict[str, Any]()):
                self.world.now += 60
                sent = self.pulumi.up(replace(self.pulumi.settings, recovery=recovery))
                self._succeeds(self._send(sent), minting=True)

    def _mint_above(self, top: int, regions: Iterable[str], counter: str) -> None:
        for region in regions:
            integer = self.world.mint(region, counter) or 0
            require(integer > top, f"{region} mints {integer} of {counter}, after {top}")

    def _minted_of(self, counter: str) -> list[int]:
        return [integer for name, integer in {*self.world.minted, *self.world.excepted} if name == counter]


def _one_of(random: Random, chance: float, *rates: T) -> T | Literal[0]:
    return random.choice(rates) if random.random() < chance else 0
