"""What may be lost at once, in every combination, and what becomes of a stack then.

A stack of one to three regions has minted in two epochs. Then tables are lost, restored or unreachable, Pulumi's state
and the coordinator's role are the old ones or new, a floor and an answer to an earlier loss stand in the settings or
not, and the functions are warm or cold. Then come `up`, some hours with scheduled runs, and `up` again, and a caller
creates two counters that existed before, of which one was deleted. All that a region mints then lies above all that it
has minted before, and nothing is minted twice; or it is refused, and what the refusal says lets the stack go on.
"""

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain, combinations_with_replacement, product
from random import Random
from typing import Any

from coordinate.protocol.model import Deploy, Refused
from coordinate.protocol.run import Create, Delete, Run, RunResult, ScheduledRun, run

from .checks import CheckedWorld, MintedTwice, Stuck
from .coordinator import SimulatedCoordinator
from .deployments import SimulatedPulumi, deployment_of

LAYOUTS = ("present", "recreated", "restored", "without its record", "without its registers")
"""The layouts table. A recreated one is empty; from the last two, somebody has deleted items."""

MIRROR = ("present", "recreated", "restored")
RECEIPTS = ("present", "recreated")
"""All receipts tables."""
REGION = ("present", "recreated", "restored", "unreachable")
"""A region's counters table. While it is unreachable, its region goes on minting."""

MOST_REGIONS = 3


@dataclass(frozen=True)
class Losses:
    """A cell: what is lost at once, and what the operator has done already."""

    regions: tuple[str, ...]
    layouts: str
    mirror: str
    receipts: str
    remembered: bool
    """Whether Pulumi's state is the one of the first `up`."""
    role: bool
    """Whether the coordinator's role is the one of before. Regions accept a new one only after a while."""
    answered: bool
    """Whether a low floor and the answer to an earlier loss stand in the settings, after all tables were lost once."""
    warm: bool
    """Whether the functions still run that have minted before."""


def all_losses() -> Iterator[Losses]:
    """Yield every combination that isn't the end of the stack.

    A stack of which nothing is left, not even in Pulumi's state, was destroyed, and begins at 1. And whoever deletes
    registers must look whether the mirror has them, as the runbook says. The order of regions doesn't matter, since
    none of them is home.
    """
    of_regions = [combinations_with_replacement(REGION, number) for number in range(1, MOST_REGIONS + 1)]
    for regions, layouts, mirror, receipts in product(chain(*of_regions), LAYOUTS, MIRROR, RECEIPTS):
        for known in product((True, False), repeat=4):
            losses = Losses(regions, layouts, mirror, receipts, *known)
            left = losses.remembered or {*regions, layouts, mirror, receipts} != {"recreated"}
            if left and (layouts != "without its registers" or mirror == "present"):
                yield losses


@dataclass
class Stack:
    """The tables and Pulumi's state, with a clock."""

    world: CheckedWorld
    pulumi: SimulatedPulumi
    names: tuple[str, ...]
    counters: tuple[str, ...] = ("c",)

    def up(self, above: int = 0, **others: Any) -> str:
        """`pulumi up --refresh`, with these `others` of the settings. Return why it was refused.

        If the last one has said that something is lost, it is answered as it said, with the number `above`.
        """
        self.world.now += 60
        if self.pulumi.said:
            others["recovery"] = {"loss": self.pulumi.said, "above": above}
            self.pulumi.said = ""
        sent = self.pulumi.up(self.pulumi.change(self.names, **others))
        refused = self.run(deployment_of(sent)) if sent else ""
        if sent and not refused:
            self.pulumi.succeeded(sent)
        return refused

    def create(self, counter: str, unreachable: frozenset[str] = frozenset()) -> str:
        """A caller creates a counter while these regions don't answer. Return why it was refused."""
        self.world.unreachable |= unreachable
        refused = self.run(Create((counter,)), 60)
        self.world.unreachable -= unreachable
        return refused

    def schedule(self) -> str:
        """A scheduled run, minutes later. Return why it was refused."""
        return self.run(ScheduledRun(), 300)

    def run(self, request: Run, seconds: int = 0) -> str:
        """A run of the coordinator, so many seconds later. Return why it was refused."""
        self.world.now += seconds
        try:
            steps = run(request, f"{type(request).__name__}-{self.world.now}", RunResult())
            result = SimulatedCoordinator(steps).finish(self.world.carry_out)
        except Refused as refusal:
            self.pulumi.hear(str(refusal))
            return str(refusal)
        if isinstance(request, Deploy | ScheduledRun):
            self.world.ended(result, self.world.now)
        return ""

    def mint(self, *, everywhere: bool) -> None:
        """Mint some integers in each region, in the regions that answer, or wherever it works."""
        world = self.world
        for region in self.names:
            for counter in self.counters:
                earlier = [n for (name, n), where in world.minted.items() if (name, where) == (counter, region)]
                for _ in range(3):
                    integer = world.mint(region, counter)
                    if integer is None and everywhere and region not in world.unreachable:
                        raise Stuck(f"{region} mints no {counter}: {world.item(region, counter)}")
                    if integer is not None and region not in world.restored and integer <= max(earlier, default=0):
                        raise MintedTwice(f"{region} mints {counter} {integer} after {max(earlier)}")


@cache
def _built(number: int, answered: bool) -> bytes:
    """Return a stack that has minted in two epochs, pickled: to load it is faster than to copy it."""
    world, names = CheckedWorld(), tuple("abc"[:number])
    stack = Stack(world, SimulatedPulumi(world, Random(0)), names)
    assert stack.up() == ""
    stack.mint(everywhere=True)
    for name in ("layouts", "mirror", *names):
        world.keep(name)
    assert stack.create("d") == stack.create("x") == ""
    stack.counters = ("c", "d", "x")
    stack.mint(everywhere=True)
    stack.counters = ("c", "d")
    assert stack.schedule() == stack.run(Delete(("x",)), 60) == stack.schedule() == ""
    assert stack.up(floors={"*": 20}) == ""
    if answered:  # tables that were healed, and a loss that was answered; floor and answer stay in the settings
        for name in names:
            world.lose(name, "recreated", Random(0))
            world.warm.clear()
            assert stack.schedule() == ""
        for name in ("layouts", "mirror"):
            world.lose(name, "recreated", Random(0))
        assert stack.up() != ""
        assert stack.up(ABOVE // 10) == ""
        for name in ("layouts", "mirror"):
            world.keep(name)
    stack.mint(everywhere=True)
    assert stack.up(floors=stack.pulumi.settings.floors if answered else {}) == ""
    stack.mint(everywhere=True)
    stack.schedule()
    return pickle.dumps(stack)


def lost(losses: Losses) -> Stack:
    """Return a stack that has lost this."""
    stack: Stack = pickle.loads(_built(len(losses.regions), losses.answered))  # noqa: S301 (made above)
    world, random = stack.world, Random(0)
    stack.counters = ("c",)
    if not losses.warm:
        world.warm.clear()
    world.unreachable |= {name for name, what in zip(stack.names, losses.regions, strict=True) if what == "unreachable"}
    tables = (*stack.names, "layouts", "mirror", *(f"receipts {region}" for region in stack.names))
    states = (*losses.regions, losses.layouts, losses.mirror, *[losses.receipts] * len(stack.names))
    for table, what in zip(tables, states, strict=True):
        if what in ("recreated", "restored"):
            world.lose(table, what, random)
    if losses.layouts == "without its record":
        world.record = None
    if losses.layouts == "without its registers":
        world.registers.clear()
    if not losses.remembered:
        stack.pulumi.first = stack.pulumi.event = ""  # the tables are imported into a new state
    return stack


ANSWER = "deploy again when all regions answer"
RECOVER = "answer the loss with `recovery`, and deploy again"
AGAIN = "deploy again"


def action(refusal: str) -> str:
    """Return what a refusal says is to be done, or raise `Stuck` if it says nothing."""
    for todo, phrases in {
        ANSWER: ("must answer", "answers"),
        RECOVER: ("answer this loss", "the refusal says how to go on"),
        AGAIN: ("deploy again",),
    }.items():
        if any(phrase in refusal.lower() for phrase in phrases):
            return todo
    raise Stuck(f"nothing to do: {refusal}")


ABOVE = 10_000
"""What an operator finds in the data: above all integers and ceilings."""


def outcome(losses: Losses) -> tuple[str, ...]:
    """Lose this, deploy, and do what the refusals say until all regions mint. Return the refusals.

    Raises:
        MintedTwice: an integer was minted twice.
        Stuck: what a refusal said didn't help, or some region mints nothing in the end.
    """
    stack = lost(losses)
    world = stack.world
    unaccepted = set[str]() if losses.role else {*stack.names} - world.unreachable
    world.unreachable |= unaccepted
    refusals: list[str] = []
    for _ in range(7):
        refusal = stack.up(ABOVE)
        world.now += 7_200
        world.unreachable -= unaccepted
        unaccepted = set[str]()
        scheduled = stack.schedule()
        refusal = refusal or scheduled
        if not world.restored:
            stack.mint(everywhere=False)
        if not refusal:
            break
        refusals.append(refusal)
        if action(refusal) == ANSWER:
            world.unreachable.clear()
    else:
        raise Stuck(f"refused again and again: {refusals}")
    for _ in range(2):
        world.now += 7_200
        stack.schedule()
    if again := stack.up():
        raise Stuck(f"refused after it had succeeded: {again}")
    stack.schedule()
    stack.counters = ("c", "d", "x")
    first = frozenset(stack.names[: len(stack.names) > 1])  # one of several
    for counter in ("d", "x"):
        refused = stack.create(counter, first)
        if refused and action(refused) == RECOVER:
            refusals.append(refused)
            refused = stack.up(ABOVE) or stack.create(counter)
        if refused:
            raise Stuck(f"a caller can't create {counter}: {refused}")
    stack.schedule()
    if world.restored - world.unreachable:
        raise Stuck(f"nobody has seen to {sorted(world.restored)}")
    stack.mint(everywhere=True)
    return tuple(refusals)
