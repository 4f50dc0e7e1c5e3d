"""One random schedule: what operators, tools and disasters do to the system while it mints.

Deployments are killed, reverted and repeated at any step, with scheduled runs in between. Runs race, are late and
crash. Callers create a counter, which operators delete. Regions are unreachable, calls are throttled, writes are
carried out late, twice, or without an answer. Tables are lost, in the regions and at home. Operators write invalid
items. The clock jumps by hours. Regions that ran out of integers ask for more.

In the end, the system is left alone until all is reconciled. Then `up` with the settings in force must succeed,
however much time has passed, and the next one must have nothing to do.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from random import Random
from typing import TypeVar

from coordinate.protocol.admit import LATEST, check_default, note_default
from coordinate.protocol.deletion import GRACE
from coordinate.protocol.model import Deploy, DeploymentRecord, Refused
from coordinate.protocol.operations import Steps
from coordinate.protocol.run import Create, Delete, Grant, Run, RunResult, ScheduledRun, run

from components.settings import SettingsError
from global_integers_core.lattice import MAX_FLOOR

from .checks import CheckedWorld, Stuck, ask, check_reconciled, check_refusal
from .coordinator import SimulatedCoordinator
from .deployments import HEADROOM, SimulatedPulumi, SimulatedSettings, deployment_of
from .network import Network
from .world import DEFAULTS

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
COORDINATORS = 4
"""The largest number of runs at once."""

LASTS = 900
"""Seconds after which a run is ended: the coordinator's timeout."""


class RandomSchedule:
    """A schedule that its seed decides. `without` is the condition or rule that is taken out (see `world.py`).

    `losses` is how many tables may be lost before the first one is repaired. With 1, all must reconcile without an
    operator. With 2, a floor may be needed in the end.
    """

    def __init__(self, seed: int, without: str | None = None, *, losses: int = 1) -> None:
        random = self.random = Dice(seed)
        self.world = CheckedWorld(without)
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
        # Conditions are taken out without callers, who have dice of their own: so seeds keep what they found.
        callers = self.callers = Dice(f"callers {seed}")
        self.rates["grant"] = 0 if without else _one_of(callers, 0.7, 0.1, 0.5)
        self.rates["denied receipts"] = 0 if without else _one_of(callers, 0.3, 0.003, 0.01)
        self.rates["create or delete"] = 0 if without else _one_of(callers, 0.4, 0.01, 0.03, 0.1)
        # So have those who reorder the counters and choose what `/` mints from.
        operators = self.operators = Dice(f"operators {seed}")
        self.rates["words"] = _one_of(operators, 0.7, 0.1, 0.4) if without in (None, *DEFAULTS) else 0
        self.minting = random.uniform(0.1, 0.6)
        self.pace = random.choice((1, 2, 4))
        self.counters = random.choice((("c",), ("c",), ("c", "d")))
        if self.rates["words"]:
            self.counters = ("c", "d")
        self.minted = (*self.counters, "e") if self.rates["create or delete"] else self.counters
        """The counters of the settings, and one that a caller creates."""
        self.pulumi = SimulatedPulumi(self.world, random, self.counters)
        self.runs: list[SimulatedCoordinator] = []
        self.started = 0
        self.grants: set[SimulatedCoordinator] = set()
        self.begun: dict[SimulatedCoordinator, int] = {}
        """When each run began."""
        self.whole: set[SimulatedCoordinator] = set()
        """The runs that see to all counters."""
        self.asleep: dict[SimulatedCoordinator, int] = {}
        self.deploying: tuple[SimulatedCoordinator, str] | None = None
        """The run that `up` waits for, and its event."""
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
            if self.world.layouts.record is None and self.world.mirror.record is None:
                self.deploying = None
                self._deploy()
                self._finish()
        self._leave_alone()
        return self.world

    def _one_step(self) -> None:
        random, rates = self.random, self.rates
        self.world.now += 1
        self._mint()
        for _ in range(self.pace):
            if self.runs:
                self._turn(random.choice(self.runs))
        if random.random() < 0.1:
            self.network.deliver()
        if random.random() < rates["schedule"]:
            self._start(ScheduledRun())
        if rates["words"] and self.operators.random() < 0.003:
            self.world.back()
        if self.callers.random() < rates["create or delete"]:
            there = "e" in self.world.layouts.registers
            self._start(Delete(("e",)) if there != (self.callers.random() < 0.2) else Create(("e",)))
        if self.deploying is None and random.random() < rates["deploy"]:
            self._deploy()
        elif self.deploying is not None and random.random() < 0.002:
            self.deploying = None  # Pulumi is killed; its coordinator goes on
        if random.random() < rates["unreachable"]:
            self.world.unreachable ^= {random.choice(REGIONS)} - {self.for_ever}
        if random.random() < rates["loss"]:
            self._lose_region()
        if random.random() < rates["home loss"]:
            self._lose_home(random.choice(("layouts", "mirror")))
        if random.random() < rates["record loss"]:
            self._lose_records()
        if random.random() < rates["stray"] and self.world.layouts.record:
            self.world.stray.add(random.choice(["layouts", "mirror", *sorted(self.world.tables)]))
        if random.random() < rates["denied"]:
            table = random.choice(["layouts", "mirror", *REGIONS])
            if self.world.denied.pop(table, None) is None:
                self.world.denied[table] = random.choice(("reads", "writes"))
        if self.callers.random() < rates["denied receipts"]:
            self._deny_receipts(self.callers.choice(REGIONS))
        if random.random() < rates["restart"]:
            self.world.restart(random.choice(REGIONS))
        if random.random() < rates["hours"]:
            self._pass_hours()
        if random.random() < rates["for ever"] and self.for_ever is None and self.world.tables:
            self.for_ever = random.choice(sorted(self.world.tables))
            self.world.unreachable.add(self.for_ever)

    def _deny_receipts(self, region: str) -> None:
        if self.world.denied.pop(f"receipts {region}", None) is None:
            self.world.denied[f"receipts {region}"] = self.callers.choice(("reads", "writes"))
            self.world.unrecorded.add(region)

    def _mint(self) -> None:
        random = self.random
        if random.random() < self.minting:
            region, counter = random.choice(REGIONS), random.choice(self.minted)
            count = random.randint(2, 5) if random.random() < 0.1 else 1
            if count > 1:
                minted = bool(self.world.mint_block(region, count, counter))
            else:
                minted = self.world.mint(region, counter) is not None
            if not minted and self.world.item(region, counter) and self.callers.random() < self.rates["grant"]:
                self._grant(counter, count)
        elif self.rates["words"] and self.pulumi.stood and self.operators.random() < 0.3:
            self.world.mint_at_root(self.operators.choice(REGIONS))
        elif random.random() < 0.2:
            top = max((integer for _, integer in self.world.minted), default=0) if random.random() < 0.1 else self.top
            self.top = top
            ask(self.world, random.choice(REGIONS), random.choice(self.minted), random.randint(1, top + 10))

    def _turn(self, coordinator: SimulatedCoordinator) -> None:
        if self.rates["create or delete"] and self.world.now > self.begun[coordinator] + LASTS:
            self._forget(coordinator)
            return
        if self.asleep.get(coordinator):
            self.asleep[coordinator] -= 1
            return
        self._advance(coordinator)
        if self.random.random() < self.rates["sleep"]:
            self.asleep[coordinator] = self.random.choice((3, 10, 30, 100, 300))
        elif coordinator in self.runs and self.random.random() < self.rates["crash"]:
            self._forget(coordinator)

    def _pass_hours(self) -> None:
        """Let time pass: nothing is under way any more, but a clock may also jump while a run goes on.

        Not by hours if counters are deleted: that depends on how long a run lasts.
        """
        hours = self.random.choice((600, 3_600, LATEST + 600, 30 * 3_600))
        self.world.now += hours
        self.network.forget()
        if self.random.random() < 0.8 or (self.rates["create or delete"] and hours > LASTS):
            for coordinator in list(self.runs):
                self._forget(coordinator)

    def _advance(self, coordinator: SimulatedCoordinator) -> None:
        try:
            coordinator.step(lambda operation: self.network.carry_out(operation, coordinator), self.random.randrange)
        except Refused as refusal:
            check_refusal(self.world, refusal)
            coordinator.result = refusal
        if coordinator.ended:
            self._ended(coordinator)

    def _grant(self, counter: str, count: int) -> None:
        """Start a run for one counter, whatever other runs are at work. Its caller waits for nothing."""
        if len(self.runs) < COORDINATORS:
            self.grants.add(self._start(Grant(counter, count)))

    def _start(self, request: Run) -> SimulatedCoordinator:
        """Start a run."""
        self.started += 1
        started = SimulatedCoordinator(run(request, f"{type(request).__name__} {self.started}", RunResult()))
        self.begun[started] = self.world.now
        if isinstance(request, Deploy | ScheduledRun):
            self.whole.add(started)
        self.runs.append(started)
        if len(self.runs) > COORDINATORS:
            self._forget(self.runs[self.random.randrange(COORDINATORS)])  # crashes; never the new one
        return started

    def _forget(self, coordinator: SimulatedCoordinator) -> None:
        self.runs.remove(coordinator)
        if self.deploying is not None and self.deploying[0] is coordinator:
            self.deploying = None

    def _deploy(self, settings: SimulatedSettings | None = None) -> None:
        """`pulumi up`: with these settings, or with any."""
        random, world = self.random, self.world
        read = world.layouts.record  # by the preview
        regions = tuple(random.sample(REGIONS, random.randint(1, 4)))
        chosen = settings or self.pulumi.change(regions, {})
        if settings is None and self.rates["create or delete"]:
            self.pulumi.counters = self.minted if self.callers.random() < 0.3 else self.counters
        if settings is None and self.pulumi.settings is not None and random.random() < 0.4:
            chosen = self.pulumi.settings  # once more
        if settings is None and self.rates["words"]:
            chosen = self._words(chosen)
        for _ in range(random.choice((0, 0, 0, 20))):
            world.now += 1  # the resources take their time, and others are at work
            for other in list(self.runs):
                self._turn(other)
        refresh = settings is not None or random.random() < 0.5
        default = None
        if self.rates["words"]:
            if settings is None and read is None and self.operators.random() < 0.5:
                self._deploy_beside(chosen, refresh=refresh)
                return
            default = self._release(chosen, read, calm=settings is not None)
            if default is None:
                return
        sent = self.pulumi.up(chosen, read, refresh=refresh, wrong_by=self.network.wrong_by(), default=default)
        if sent is None:
            self._delete(None)
        elif settings is not None or random.random() >= 0.15:  # else it is killed before the coordinator
            self._send(sent)

    def _deploy_beside(self, settings: SimulatedSettings, *, refresh: bool) -> None:
        """Deploy where there is no record yet, and check and release the regions while the coordinator is at work."""
        try:
            default = self.pulumi.default(settings, None)
        except SettingsError:
            return
        sent = self.pulumi.up(settings, None, refresh=refresh, wrong_by=self.network.wrong_by(), default=default)
        if sent is None:
            return
        started = self._start(deployment_of(sent))
        # If a release is refused or killed, the `up` has failed, and the coordinator goes on.
        if self._release(settings, None) is not None and started in self.runs:
            self.deploying = (started, sent)

    def _words(self, settings: SimulatedSettings) -> SimulatedSettings:
        """Return the settings with the counters in any order, some left out, and perhaps the default in words."""
        operators = self.operators
        order = operators.sample(self.pulumi.counters, len(self.pulumi.counters))
        self.pulumi.counters = sorted(order, key=lambda counter: counter not in self.counters)
        if operators.random() < 0.1:
            self.pulumi.counters = self.pulumi.counters[:1]
        named = [counter for counter in self.pulumi.counters if counter in self.counters]
        asked = operators.choice(named) if named and operators.random() < self.rates["words"] else ""
        return replace(settings, default=asked)

    def _release(self, settings: SimulatedSettings, read: DeploymentRecord | None, *, calm: bool = False) -> str | None:
        """Let callers of `/` reach the default counter, region by region. Return it; None if refused or killed."""
        world, operators, asked = self.world, self.operators, bool(settings.default)
        try:
            default = self.pulumi.default(settings, read)
        except SettingsError:
            return None
        for region in settings.regions:
            steps = [check_default] if asked and world.without == DEFAULTS[1] else [check_default, note_default]
            for step in steps:
                chosen = asked or world.without == DEFAULTS[0]
                taken = self._take(step(region, default, chosen=chosen), calm=calm)
                if not taken or (not calm and operators.random() < 0.05):
                    return None  # refused; or killed; or the new version fails
            # Before an `up` has succeeded, nobody knows a URL.
            world.release(region, default, chosen=asked and self.pulumi.stood)
        return default

    def _take(self, steps: Steps[None], *, calm: bool) -> bool:
        """Take the steps of a check or a release, with other runs in between. Return whether they weren't refused."""
        run = SimulatedCoordinator(steps)
        try:
            while not run.ended:
                run.step(partial(self.network.carry_out, run=run), self.operators.randrange)
                for _ in range(0 if calm else self.operators.choice((1, 1, 1, 30))):  # a read may be slow
                    if self.runs:
                        self._turn(self.operators.choice(self.runs))
        except Refused as refusal:
            check_refusal(self.world, refusal)
            if calm:
                raise Stuck(f"an `up` with the settings in force is refused: {refusal}") from refusal
            return False
        return True

    def _send(self, sent: str) -> None:
        old = abs(self.world.now - deployment_of(sent).requested) > LATEST
        if old and self.world.without == "admit: the same at any age":
            return  # refused
        self.deploying = (self._start(deployment_of(sent)), sent)

    def _ended(self, coordinator: SimulatedCoordinator) -> None:
        self.runs.remove(coordinator)
        result = coordinator.result
        sent = None
        if self.deploying is not None and self.deploying[0] is coordinator:
            sent, self.deploying = self.deploying[1], None
        if not isinstance(result, RunResult) or result.record is None or result.unfinished:
            return
        if coordinator not in self.whole:
            return
        self.last = result
        self._mended(result, self.begun[coordinator])
        if sent is not None:
            self._delete(sent)

    def _delete(self, sent: str | None) -> None:
        for region in self.pulumi.succeeded(sent):
            self.network.forget(region)
            self.world.delete_table(region)
            self.world.delete_receipts(region)
            self.lost.pop(region, None)

    def _mended(self, result: RunResult, begun: int) -> None:
        """Note which tables this run has seen to."""
        pending = {region for outcome in result.outcomes.values() for region in outcome.pending}
        assert result.record is not None
        desired = result.record.desired
        seen = {*desired.regions, *desired.leaving} - pending
        for region, since in list(self.world.restored.items()):
            if region in seen and begun > since:
                del self.world.restored[region]
        for name, since in list(self.lost.items()):
            if begun > since and (name in ("layouts", "mirror", "archive") or name in seen):
                del self.lost[name]

    def _lose_region(self) -> None:
        there = [region for region in sorted(self.world.tables) if region in self.pulumi.tables]
        if there and self.pulumi.stood and len(self.lost) < self.losses:
            region = self.random.choice(there)
            self.network.forget(region)
            self.world.lose(region, self.random.choice(("recreated", "restored", "gone")), self.random)
            self.lost[region] = self.world.now

    def _lose_home(self, name: str) -> None:
        began = self.world.mirror.record or self.world.layouts.record  # before that, nothing shows what was lost
        if began and self.world.backups.get(name) and len(self.lost) < self.losses:
            self.world.lose(name, self.random.choice(("recreated", "restored")), self.random)
            self.lost[name] = self.world.now

    def _lose_records(self) -> None:
        """Lose the archive or a receipts table. Nothing has to be done about it: only the past is forgotten.

        If a counter was deleted, the loss of its mark counts as one: a second one may need a floor.
        """
        name = self.random.choice(["archive", *(f"receipts {region}" for region in sorted(self.world.receipts))])
        copy = self.world.mirror.record
        known = [record for record in (self.world.layouts.record, copy and copy.original) if record is not None]
        if name == "archive" and any(record.deletions.archive_id for record in known):
            if len(self.lost) >= self.losses:
                return
            self.lost[name] = self.world.now
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
            for region in REGIONS if self.busy else ():
                for counter in self.counters:
                    self.world.mint_block(region, self.random.randint(1, 5), counter)

    def _leave_alone(self) -> None:
        random, world = self.random, self.world
        words = self.rates["words"]
        for name in self.rates:
            self.rates[name] = 0
        self.rates["words"] = words
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
        self.last = None
        for minting in (True, True, False):  # three scheduled runs, and hours between them
            world.now += random.choice((60, 300, LATEST))
            self._start(ScheduledRun())
            self._end_run(minting=minting)
        if self.losses > 1 and not self._begin_again():
            return
        record, copy = world.layouts.record, world.mirror.record
        if record is None:  # the first deployment was interrupted before it was admitted
            if copy is not None and copy.mirror_id == world.mirror.id:
                raise Stuck("the record wasn't put back")
        elif (world.tables.keys() - world.unreachable) & set(record.desired.regions):  # else nobody could mint
            if self.last is None:
                raise Stuck("the last runs were refused")
            check_reconciled(world, self.last)
        self._repeat()
        if world.without is None:  # or seeds would no longer find what they found
            self._ask_calmly()
        self.rates["words"] = 0  # what follows releases nothing
        self._change_calmly()
        self._delete_calmly()

    def _repeat(self) -> None:
        """Repeat the last `up`, however it ended, after days, twice: it succeeds, and then has nothing to do."""
        settings = self.pulumi.settings
        if settings is None:
            return  # none got as far as the coordinator
        settings = self.pulumi.naming(settings)
        if not set(settings.regions) - self.world.unreachable:
            return  # refused: no region could mint
        if self.world.layouts.record is None and {*settings.regions, *settings.leaving} & self.world.unreachable:
            return  # refused: at the first deployment, all must answer
        for expected in ("success", "nothing to do"):
            self.world.now += self.random.choice((60, LATEST + 60, 50 * 3_600))
            if self.rates["words"]:
                self._release(settings, self.world.layouts.record, calm=True)
            sent = self.pulumi.up(settings, self.world.layouts.record, refresh=True)
            if sent is None:
                self._delete(None)
            elif expected == "nothing to do":
                raise Stuck(f"an unchanged `up` isn't at rest: {sent}")
            else:
                self._up_succeeds(sent)

    def _up_succeeds(self, sent: str) -> None:
        self.last = None
        self._send(sent)
        self._end_run()
        if self.last is None:
            raise Stuck(f"an `up` with the settings in force is refused: {sent}")

    def _change_calmly(self) -> None:
        """Change the layout while all regions mint as fast as they can, and one item is throttled.

        The next base of a counter whose items all answer lies no more than headroom above what was minted. A region
        whose receipts table can't be written follows, too.
        """
        world, random = self.world, self.random
        regions = tuple(region for region in REGIONS if region in world.tables and region not in world.unreachable)
        record = world.layouts.record
        if self.for_ever or len(regions) < 2 or record is None or not record.reconciled:
            return
        first, second = (regions, regions[::-1]) if record.desired.regions != regions else (regions[::-1], regions)
        hot = self.counters[1:] and random.choice(self.counters[1:])
        self._change_in_vain(first)
        for order in (first, second):
            before = {counter: world.layouts.registers[counter] for counter in self.counters}
            world.now += 60
            settings = replace(self.pulumi.change(order, {}), window=5_000)
            sent = self.pulumi.up(settings, self.world.layouts.record, refresh=False)
            assert sent is not None
            if order == second:
                self.network.hot = (random.choice(first), hot) if hot else None
                self.busy = True
            else:
                world.denied[f"receipts {order[0]}"] = "writes"
            self._up_succeeds(sent)
            self._check_unfenced(order[:1])
            world.denied.clear()
        for counter, register in before.items():
            after, stride = world.layouts.registers[counter], len(register.regions)
            before_that = [integer for integer in self._minted_of(counter) if integer < after.base]
            if counter != hot and after.base > max([register.base, *before_that]) + (HEADROOM + 1) * stride:
                raise Stuck(f"{counter} jumped from {register} to {after}")

    def _delete_calmly(self) -> None:
        """Delete the counter of the callers: it is gone. Create it again: all that it mints lies above."""
        world, record = self.world, self.world.layouts.record
        if "e" not in self.minted or "archive" in self.lost or self.for_ever or record is None or not record.reconciled:
            return
        if {*record.desired.regions, *record.desired.leaving} - world.tables.keys():
            return  # a region that is gone must answer
        again = (Delete(("e",)), Create(("e",))) if self.callers.random() < 0.5 else ()
        self._create_lost()
        top = 0
        for request in (Create(("e",)), *again, Delete(("e",)), ScheduledRun(), Create(("e",))):
            top = max(self._minted_of("e"), default=0)
            world.now += 2 * GRACE if isinstance(request, ScheduledRun) else 60
            self._succeeds(request, minting=isinstance(request, ScheduledRun))
            left = [region for region, table in world.tables.items() if "e" in table.items]
            if isinstance(request, Delete) and any(world.mint(region, "e") for region in left):
                raise Stuck("e is minted though it was deleted")
            if isinstance(request, ScheduledRun) and (left or "e" in {*world.layouts.registers, *world.mirror.copies}):
                raise Stuck(f"e is left: {left}, {world.layouts.registers}, {world.mirror.copies}")
        for region in record.desired.regions:
            integer = world.mint(region, "e")
            if integer is None or integer <= top:
                raise Stuck(f"{region} mints {integer} of e, after {top}")

    def _create_lost(self) -> None:
        """Create the counter of the callers, if two losses left only items of it that were being deleted.

        It is refused without a floor. With the one that the refusal asks for it is created, and the floor can go.
        """
        world = self.world
        there = any("e" in table.items for table in world.tables.values())
        if self.losses < 2 or not there or "e" in {*world.layouts.registers, *world.mirror.copies}:
            return
        record = world.layouts.record
        assert record is not None
        top = max(self._minted_of("e"), default=0)
        for floors in ({"e": top + 1}, {}):
            world.now += 60
            settings = self.pulumi.change(record.desired.regions, floors)
            sent = self.pulumi.up(settings, world.layouts.record, refresh=False)
            assert sent is not None
            self._up_succeeds(sent)
            self._succeeds(Create(("e",)))

    def _succeeds(self, request: Run, *, minting: bool = False) -> None:
        run = self._start(request)
        self._end_run(minting=minting)
        if not isinstance(run.result, RunResult):
            raise Stuck(f"{request} is refused: {run.result}")

    def _minted_of(self, counter: str) -> list[int]:
        return [integer for name, integer in {*self.world.minted, *self.world.excepted} if name == counter]

    def _ask_calmly(self) -> None:
        """Want a block for which a region has too few integers: it asks, and then it mints the block."""
        world, record = self.world, self.world.layouts.record
        if self.for_ever or record is None or not record.reconciled:
            return
        for region in record.desired.regions:
            counter = self.callers.choice(self.counters)
            item = world.item(region, counter)
            if item is None:
                continue
            count = (item.ceiling - item.issued) // item.stride + self.callers.randint(1, 50)
            before = world.layouts.registers[counter]
            self._start(Grant(counter, count))
            self._end_run(minting=False)
            after = world.layouts.registers[counter]
            if len(world.mint_block(region, count, counter)) < count:
                raise Stuck(f"{region} has asked for {count} integers of {counter} in vain: {before}, {after}")

    def _change_in_vain(self, order: tuple[str, ...]) -> None:
        """Change the layout while the mirror can't be written: it is refused, and nobody stops for it."""
        world = self.world
        world.denied["mirror"] = "writes"
        sent = self.pulumi.up(self.pulumi.change(order, {}), world.layouts.record, refresh=False)
        assert sent is not None
        self.last = None
        self._send(sent)
        self._end_run()
        del world.denied["mirror"]
        self._check_unfenced(world.tables.keys() - world.unreachable)

    def _check_unfenced(self, regions: Iterable[str]) -> None:
        for region in regions:
            for counter in self.counters:
                item = self.world.item(region, counter)
                leaving = self.world.layouts.registers[counter].regions.count(region) == 0
                throttled = self.network.hot == (region, counter)
                if item is not None and item.fenced and not leaving and not throttled:
                    raise Stuck(f"{region} is fenced for nothing: {item}")

    def _begin_again(self) -> bool:
        """Deploy as the runbook says: without the region that never comes back, with a floor above all it may mint.

        Return whether a region is left to mint.
        """
        world = self.world
        tops = [integer for _, integer in {*world.minted, *world.excepted}]
        tops += [item.ceiling for table in world.tables.values() for item in table.items.values()]
        record = world.layouts.record
        regions = record.desired.regions if record else tuple(REGIONS)
        regions = tuple(region for region in regions if region != self.for_ever)
        if self.for_ever:
            self.pulumi.tables.pop(self.for_ever, None)
        if regions:
            floor = min(max([0, *tops]) + 1, MAX_FLOOR)
            named = replace(self.pulumi.change(regions, {"*": floor}), default=world.asked or self.counters[0])
            self._deploy(named)
            self._finish()
        return bool(regions)


def _one_of(random: Random, chance: float, *rates: float) -> float:
    return random.choice(rates) if random.random() < chance else 0
