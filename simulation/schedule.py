"""One random schedule: deployments, their coordinators that race and crash, and minting all the while.

As with `pulumi up`: a deployment makes the tables of the regions it wants, says so (`standing`), starts
its coordinator, and deletes the tables of regions that left once the coordinator has reported. It may
fail at any step; then the next one begins with another wish while the old coordinator, cut off from
everyone, may still be at work.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from coordinate.model import Refused, Register, Wish
from coordinate.operations import Operation
from coordinate.protocol import settle
from coordinate.refusals import superseded

from integers.lattice import places

from .world import NoTable, World

REGIONS = "abcd"
COORDINATORS = 3
HEADROOM = 2
LAYOUTS = 6
"""How many deployments a schedule has at the most."""


@dataclass
class Coordinator:
    """One run of `settle`, an operation at a time."""

    steps: Generator[Sequence[Operation], Sequence[Any], Register]
    todo: list[tuple[int, Operation]] = field(default_factory=list[tuple[int, Operation]])
    answers: list[Any] = field(default_factory=list[Any])
    asleep: int = 0
    ended: bool = False
    settled: Register | None = None

    def step(self, world: World, random: Random) -> None:
        """Carry out one operation of the present batch, or take the next batch."""
        if self.todo:
            index, operation = self.todo.pop(random.randrange(len(self.todo)))
            self.answers[index] = world.carry_out(operation)
            if self.todo:
                return
        try:
            batch = self.steps.send(self.answers) if self.answers else next(self.steps)
            while not batch:
                batch = self.steps.send([])
        except StopIteration as stop:
            self.ended, self.settled = True, stop.value
            return
        self.todo = list(enumerate(batch))
        self.answers = [None] * len(batch)

    def run_to(self, kind: type[Operation], world: World) -> None:
        """Go on until an operation of this kind is next, and stop before it."""
        while not any(isinstance(operation, kind) for _, operation in self.todo):
            self.step(world, Random(0))
            assert not self.ended, f"ended without any {kind.__name__}"

    def step_all(self, world: World) -> None:
        """Carry out what is under way, and decide nothing further."""
        for _, operation in self.todo:
            world.carry_out(operation)

    def finish(self, world: World) -> Register | None:
        while not self.ended:
            self.step(world, Random(0))
        return self.settled


class Schedule:
    """`run` raises AssertionError on a duplicate, a false refusal, or a deployment that does not settle."""

    def __init__(self, seed: int, without: str | None = None) -> None:
        self.random = Random(seed)
        self.world = World(without)
        self.coordinators: list[Coordinator] = []
        self.minting = self.random.uniform(0.1, 0.7)
        self.sleepiness = self.random.choice((0.02, 0.1, 0.3))
        # A tenant's counter is in no settings: it is created while the system runs, and then follows.
        self.tenant = self.random.random() < 0.3

    def run(self) -> World:
        layouts = self.random.randint(2, LAYOUTS)
        for left in reversed(range(layouts)):
            self._deploy(crash_after=None if left == 0 else self.random.randint(1, 60))
        for coordinator in self.coordinators:  # left alone, those that were late come to their end too
            while not coordinator.ended:
                self._advance(coordinator)
        self._check_settled()
        return self.world

    def _deploy(self, crash_after: int | None) -> None:
        random, world = self.random, self.world
        wish = tuple(random.sample(REGIONS, random.randint(1, len(REGIONS))))
        if world.standing is not None and random.random() < 0.3:
            wish = world.standing  # the same again, as after a crash
        for region in wish:
            world.tables.setdefault(region, None)
        world.standing = wish
        if self.tenant and world.register is None:  # the scan of the registers finds nothing to do
            self._start(Wish(None))
            for _ in range(random.randint(0, 15)):
                self._one_step()
            self._remove_tables(wish)
            return
        floor = random.randint(1, 60) if random.random() < 0.15 else 0
        active = self._start(Wish(wish, floor))
        crash = random.random() < 0.7
        for _ in range(crash_after if crash_after and crash else 100_000):
            if active.ended:
                break
            self._one_step()
        if active.settled is not None:
            self._remove_tables(wish)
        elif crash_after is None:
            raise AssertionError(f"left alone, the last deployment ({wish}) did not settle")

    def _remove_tables(self, wish: tuple[str, ...]) -> None:
        for region in [region for region in self.world.tables if region not in wish]:
            del self.world.tables[region]

    def _start(self, wish: Wish) -> Coordinator:
        self.world.tokens += 1
        made = Coordinator(settle("c", wish, f"token {self.world.tokens}", HEADROOM))
        self.coordinators.append(made)
        while len(self.coordinators) > COORDINATORS:
            self.coordinators.pop(self.random.randrange(COORDINATORS))  # dies; the new one does not
        return made

    def _one_step(self) -> None:
        random, world = self.random, self.world
        if random.random() < self.minting:
            world.mint(random.choice(REGIONS))
        coordinator = random.choice(self.coordinators)
        if coordinator.asleep:
            coordinator.asleep -= 1
        elif not coordinator.ended:
            self._advance(coordinator)
            if random.random() < self.sleepiness:  # late by a deployment or two, just before its next write
                coordinator.asleep = random.choice((3, 10, 30, 100))

    def _advance(self, coordinator: Coordinator) -> None:
        try:
            coordinator.step(self.world, self.random)
        except NoTable:
            coordinator.ended = True
            if coordinator is self.coordinators[-1]:
                raise AssertionError("the present deployment wrote to a table that is gone") from None
        except Refused as refusal:
            coordinator.ended = True
            if str(refusal) != str(superseded(self.world.standing or ())):
                raise AssertionError(f"false refusal: {refusal}") from None

    def _check_settled(self) -> None:
        world = self.world
        register = world.register
        assert register is not None
        assert register.opened
        assert register.next is None
        assert register.regions == world.standing
        for region, place in places(register.regions).items():
            item = world.tables[region]
            assert item is not None
            assert (item.epoch, item.stride, item.fenced, item.opening) == (register.epoch, place.stride, False, None)
            integer = world.mint(region)
            assert integer is not None
            assert integer >= register.base
            assert integer % place.stride == place.offset % place.stride
