"""One random schedule: deployments, their coordinators that race and crash, and minting all the while.

As with `pulumi up`: a deployment makes the tables of the regions it asks for, records these regions, runs
its coordinator, and deletes the tables of regions that left once the coordinator has succeeded. It may
fail at any step. Then the next one asks for something else, while the old coordinator, of which nobody
hears any more, may still be at work.
"""

from random import Random

from coordinate.model import Refused, Wish
from coordinate.refusals import superseded

from integers.lattice import places

from .checked import CheckedWorld
from .coordinator import Coordinator
from .world import NoTable

REGIONS = "abcd"
COORDINATORS = 3
"""How many run at once at most."""
HEADROOM = 2
LAYOUTS = 6
"""How many deployments a schedule has at most."""


class Schedule:
    """A schedule that its seed decides. `without` takes out a condition (`world.CONDITIONS`)."""

    def __init__(self, seed: int, without: str | None = None) -> None:
        self.random = Random(seed)
        self.world = CheckedWorld(without)
        self.coordinators: list[Coordinator] = []
        self.asleep: dict[Coordinator, int] = {}
        """For how many turns a coordinator that is late does nothing."""
        self.started = 0
        self.minting = self.random.uniform(0.1, 0.7)
        self.sleepiness = self.random.choice((0.02, 0.1, 0.3))
        # A tenant's counter is in no settings: it is created while the system runs, and then follows.
        self.tenant = self.random.random() < 0.3

    def run(self) -> CheckedWorld:
        """Run all deployments, then let every coordinator finish.

        Raises:
            AssertionError: an integer was minted twice, a coordinator refused without a reason, or the last
                deployment did not bring about what it asked for.
        """
        layouts = self.random.randint(2, LAYOUTS)
        for left in reversed(range(layouts)):
            self._deploy(crash_after=None if left == 0 else self.random.randint(1, 60))
        for coordinator in self.coordinators:
            while not coordinator.ended:
                self._advance(coordinator)
        self._check_settled()
        return self.world

    def _deploy(self, crash_after: int | None) -> None:
        random, world = self.random, self.world
        regions = tuple(random.sample(REGIONS, random.randint(1, len(REGIONS))))
        if world.standing is not None and random.random() < 0.3:
            regions = world.standing  # the same again, as after a crash
        for region in regions:
            world.make_table(region)
        world.stand(regions)
        if self.tenant and world.register is None:  # the scan of the registers finds nothing to do
            self._start(Wish(None))
            for _ in range(random.randint(0, 15)):
                self._one_step()
            self._delete_tables(regions)
            return
        floor = random.randint(1, 60) if random.random() < 0.15 else 0
        active = self._start(Wish(regions, floor))
        crash = random.random() < 0.7
        for _ in range(crash_after if crash_after and crash else 100_000):
            if active.ended:
                break
            self._one_step()
        if active.settled is not None:
            self._delete_tables(regions)
        elif crash_after is None:
            raise AssertionError(f"left alone, the last deployment ({regions}) did not settle")

    def _delete_tables(self, but: tuple[str, ...]) -> None:
        for region in [region for region in self.world.tables if region not in but]:
            self.world.delete_table(region)

    def _start(self, wish: Wish) -> Coordinator:
        self.started += 1
        new = Coordinator(wish, f"token {self.started}", HEADROOM)
        self.coordinators.append(new)
        while len(self.coordinators) > COORDINATORS:
            self.coordinators.pop(self.random.randrange(COORDINATORS))  # crashes; never the new one
        return new

    def _one_step(self) -> None:
        random, asleep = self.random, self.asleep
        if random.random() < self.minting:
            self.world.mint(random.choice(REGIONS))
        coordinator = random.choice(self.coordinators)
        if asleep.get(coordinator):
            asleep[coordinator] -= 1
        elif not coordinator.ended:
            self._advance(coordinator)
            if random.random() < self.sleepiness:  # late by a deployment or two, just before its next write
                asleep[coordinator] = random.choice((3, 10, 30, 100))

    def _advance(self, coordinator: Coordinator) -> None:
        try:
            coordinator.step(self.world.carry_out, self.random.randrange)
        except NoTable:
            if coordinator is self.coordinators[-1]:
                raise AssertionError("the present deployment wrote to a table that is gone") from None
        except Refused as refusal:
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
            table = world.tables[region]
            item = table.item
            assert item is not None
            assert (item.epoch, item.stride, item.fenced, item.opening) == (register.epoch, place.stride, False, None)
            assert table.layouts == register.layouts, f"{region} has outdated layouts on record"
            integer = world.mint(region)
            assert integer is not None
            assert integer >= register.base
            assert integer % place.stride == place.offset % place.stride
