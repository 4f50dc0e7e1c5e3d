"""What may be lost at once, in every combination, and what becomes of a stack then.

A stack of one to three regions has minted in two epochs. Then tables are lost, restored or unreachable, Pulumi's state
and the coordinator's role are the old ones or new, a floor and the default counter are set or not, the settings have
another first counter or not, and the functions are warm or cold. Then come `up`, some hours with scheduled runs, and
`up` again, and a caller creates two counters that existed before, of which one was deleted. Either all that a region
mints then lies above all that it has minted before, nothing is minted twice, and `/` mints from the same counter; or it
is refused, and what the refusal says lets the stack go on.
"""

import pickle
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations_with_replacement, product
from random import Random
from typing import Any

from coordinate.protocol import operations as op
from coordinate.protocol.admit import note_default
from coordinate.protocol.deletion import GRACE
from coordinate.protocol.model import Absent, Refused
from coordinate.protocol.run import Create, Delete, RunResult, ScheduledRun, run

from .checks import CheckedWorld, MintedTwice, Stuck
from .coordinator import SimulatedCoordinator
from .deployments import SimulatedPulumi, deployment_of

LAYOUTS = ("present", "recreated", "restored", "without its record", "without its registers")
"""The layouts table. A recreated one is empty; from the last two, somebody has deleted items."""

MIRROR = ("present", "recreated", "restored")
ARCHIVE = ("present", "recreated", "restored")
REGION = ("present", "recreated", "restored", "unreachable")
"""A region's counters table. While it is unreachable, its region goes on minting."""

MOST_REGIONS = 3

WITHOUT = (
    "first: every region has answered",
    "first: what Pulumi remembers",
    "first: what is left",
    "after a loss: an epoch that nobody has seen",
    "after a loss: what begins later begins above",
    "default: only if chosen",
)
"""Rules that only a loss of nearly everything needs. Without one, the coordinator doesn't see what the rule is
about, or forgets it."""


@dataclass(frozen=True)
class Losses:
    """A cell: what is lost at once, and what the operator has done already."""

    regions: tuple[str, ...]
    layouts: str
    mirror: str
    archive: str
    remembered: bool
    """Whether Pulumi's state is the one of the first `up`."""
    role: bool
    """Whether the coordinator's role is the one of before. Regions accept a new one only after a while."""
    floor: bool
    """Whether a floor above all integers is set, and the default counter is named."""
    reordered: bool
    """Whether another counter has come to be the first one of the settings."""
    warm: bool
    """Whether the functions still run that have minted before."""

    @property
    def makes_sense(self) -> bool:
        """Whether it isn't the end of the stack.

        A stack of which nothing is left, not even in Pulumi's state, was destroyed, and begins at 1. And whoever
        deletes registers must look whether the mirror has them, as the runbook says.
        """
        everything = (self.layouts, self.mirror, *self.regions)
        left = self.remembered or any(what != "recreated" for what in everything)
        return left and (self.layouts != "without its registers" or self.mirror == "present")


def all_losses() -> Iterator[Losses]:
    """Return every combination. The order of regions doesn't matter, since none of them is home."""
    for number in range(1, MOST_REGIONS + 1):
        for regions in combinations_with_replacement(REGION, number):
            for layouts, mirror, archive in product(LAYOUTS, MIRROR, ARCHIVE):
                for known in product((True, False), repeat=5):
                    losses = Losses(regions, layouts, mirror, archive, *known)
                    if losses.makes_sense:
                        yield losses


@dataclass
class Stack:
    """The tables and Pulumi's state, with a clock."""

    world: CheckedWorld
    pulumi: SimulatedPulumi
    names: tuple[str, ...]
    counters: tuple[str, ...] = ("c",)
    without: str | None = None

    def up(self, floor: int = 0) -> str:
        """`pulumi up --refresh`, with the default counter in words if there is a floor. Return why it was refused."""
        world, unasked = self.world, self.without == WITHOUT[5]
        world.now += 60
        settings = self.pulumi.change(self.names, {"*": floor} if floor else {})
        settings = replace(settings, default="c" if floor else "")
        default = self.pulumi.default(settings, world.layouts.record)
        try:
            for region in self.names:
                steps = note_default(region, default, chosen=bool(floor) or unasked)
                SimulatedCoordinator(steps).finish(self.carry_out)
                world.release(region, default, chosen=bool(floor))
        except Refused as refusal:
            return str(refusal)
        sent = self.pulumi.up(settings, world.layouts.record, refresh=True, default=default)
        if sent is None:
            return ""
        if unasked:
            sent = sent.replace('"defaultChosen":false', '"defaultChosen":true')
        steps = run(deployment_of(sent), f"deployment {world.now}", RunResult())
        try:
            result = SimulatedCoordinator(steps).finish(self.carry_out)
        except Refused as refusal:
            return str(refusal)
        self.pulumi.succeeded(sent)
        self._see(result)
        return ""

    def carry_out(self, operation: op.Operation) -> Any:
        """Carry out an operation as the rule `without` lets it."""
        world, without = self.world, self.without
        answer = world.carry_out(operation)
        first = world.layouts.record is None or world.layouts.record.layouts_id != world.layouts.id
        match operation:
            case op.ScanItems(patient=True) if answer is Absent.UNREACHABLE and without == WITHOUT[0]:
                return {}
            case op.ScanRegisters() | op.ScanCopies() | op.ScanItems(patient=True) if first and without == WITHOUT[2]:
                return answer if isinstance(answer, Absent) else {}
            case op.WriteRecord(new=new) if new.first_epoch > 1 and without in WITHOUT[3:]:
                forgotten = {"first_epoch": 1} if without == WITHOUT[3] else {"first_base": 1}
                world.layouts.record = replace(new, **forgotten)
            case _:
                pass
        return answer

    def create(self, counter: str) -> str:
        """A caller creates a counter. Return why it was refused."""
        return self._send(Create((counter,)))

    def delete(self, counter: str) -> str:
        """An operator deletes a counter. Return why it was refused."""
        return self._send(Delete((counter,)))

    def _send(self, request: Create | Delete) -> str:
        self.world.now += 60
        try:
            steps = run(request, f"{request} {self.world.now}", RunResult())
            SimulatedCoordinator(steps).finish(self.carry_out)
        except Refused as refusal:
            return str(refusal)
        return ""

    def create_elsewhere(self, counter: str) -> str:
        """The same while the first of several regions is unreachable."""
        unreachable = {*self.names[:1]} if len(self.names) > 1 else set[str]()
        self.world.unreachable |= unreachable
        refused = self.create(counter)
        self.world.unreachable -= unreachable
        return refused

    def schedule(self) -> str:
        """A scheduled run, minutes later. Return why it was refused."""
        self.world.now += 300
        try:
            steps = run(ScheduledRun(), f"schedule {self.world.now}", RunResult())
            self._see(SimulatedCoordinator(steps).finish(self.carry_out))
        except Refused as refusal:
            return str(refusal)
        return ""

    def _see(self, result: RunResult) -> None:
        """Note that this run has seen to the tables that were restored, in the regions that answered."""
        pending = {region for outcome in result.outcomes.values() for region in outcome.pending}
        if result.record is not None and result.outcomes:
            for region in self.world.restored.keys() - pending:
                del self.world.restored[region]

    def mint(self, *, everywhere: bool) -> None:
        """Mint some integers in each region, in the regions that answer, or wherever it works."""
        world = self.world
        for region in self.names:
            world.mint_at_root(region)
            for counter in self.counters:
                earlier = [n for (name, n), where in world.minted.items() if (name, where) == (counter, region)]
                for _ in range(3):
                    integer = world.mint(region, counter)
                    if integer is None and everywhere and region not in world.unreachable:
                        raise Stuck(f"{region} mints no {counter}: {world.item(region, counter)}")
                    if integer is not None and region not in world.restored and integer <= max(earlier, default=0):
                        raise MintedTwice(f"{region} mints {counter} {integer} after {max(earlier)}")


@cache
def _built(number: int) -> bytes:
    """Return a stack that has minted in two epochs, pickled: to load it is faster than to copy it."""
    world = CheckedWorld()
    pulumi = SimulatedPulumi(world, Random(0), ["c"])
    names = tuple("abc"[:number])
    stack = Stack(world, pulumi, names)
    assert stack.up() == ""
    stack.mint(everywhere=True)
    for name in ("layouts", "mirror", "archive", *names):
        world.keep(name)
    assert stack.create("d") == stack.create("x") == ""
    stack.counters = ("c", "d", "x")
    stack.mint(everywhere=True)
    stack.counters = ("c", "d")
    assert stack.schedule() == stack.delete("x") == ""
    world.now += GRACE
    assert stack.schedule() == ""
    assert stack.up(floor=20) == ""
    stack.mint(everywhere=True)
    assert stack.up() == ""
    stack.mint(everywhere=True)
    stack.schedule()
    return pickle.dumps(stack)


def lost(losses: Losses, without: str | None = None) -> Stack:
    """Return a stack that has lost this."""
    stack: Stack = pickle.loads(_built(len(losses.regions)))  # noqa: S301 (made above)
    world, pulumi, random = stack.world, stack.pulumi, Random(0)
    stack.without, stack.counters = without, ("c",)
    if not losses.warm:
        world.warm.clear()
    for region, what in zip(stack.names, losses.regions, strict=True):
        if what == "unreachable":
            world.unreachable.add(region)
        elif what != "present":
            world.lose(region, what, random)
    for name, what in (("layouts", losses.layouts), ("mirror", losses.mirror), ("archive", losses.archive)):
        if what in ("recreated", "restored"):
            world.lose(name, what, random)
    if losses.layouts == "without its record":
        world.layouts.record = None
    if losses.layouts == "without its registers":
        world.layouts.registers.clear()
    if losses.reordered:
        pulumi.counters = ["d", "c"]
    if not losses.remembered or without == WITHOUT[1]:
        pulumi.forget()
    return stack


ANSWER = "deploy again when all regions answer"
FLOOR = "set a floor, and deploy again"
BOTH = "set a floor and `defaultCounter`, and deploy again"
AGAIN = "deploy again"


def action(refusal: str) -> str:
    """Return what a refusal says is to be done, or raise `Stuck` if it says nothing."""
    text = refusal.lower()
    for todo, phrases in {
        ANSWER: ("must answer", "answers"),
        BOTH: ("name the counter that `/`",),
        FLOOR: ("set a floor",),
        AGAIN: ("deploy again",),
    }.items():
        if any(phrase in text for phrase in phrases):
            return todo
    raise Stuck(f"nothing to do: {refusal}")


def causes(losses: Losses) -> frozenset[str]:
    """Return in words what is lost, however it is lost."""
    words = {
        "the layouts table was lost": losses.layouts not in ("present", "without its registers"),
        "the registers were lost": losses.layouts == "without its registers",
        "the mirror was lost": losses.mirror != "present",
        "the archive was lost": losses.archive != "present",
        "a counters table was lost": bool({"recreated", "restored"} & {*losses.regions}),
        "a region doesn't answer": "unreachable" in losses.regions or not losses.role,
        "Pulumi's state was lost": not losses.remembered,
        "`floors` and `defaultCounter` are set": losses.floor,
        "`counters` were reordered": losses.reordered,
    }
    return frozenset(word for word, lost in words.items() if lost)


def outcome(losses: Losses, without: str | None = None) -> tuple[str, ...]:
    """Lose this, deploy, and do what the refusals say until all regions mint. Return the refusals.

    Raises:
        MintedTwice: an integer was minted twice.
        Stuck: what a refusal said didn't help, or some region mints nothing in the end.
    """
    stack = lost(losses, without)
    world = stack.world
    above = 10_000  # what an operator may find out: above all integers and ceilings
    floor = above if losses.floor else 0
    unaccepted = set[str]() if losses.role else {*stack.names} - world.unreachable
    world.unreachable |= unaccepted
    refusals: list[str] = []
    for _ in range(6):
        refusal = stack.up(floor)
        world.now += 7_200
        if unaccepted:
            world.unreachable -= unaccepted
            unaccepted = set[str]()
        scheduled = stack.schedule()
        refusal = refusal or scheduled
        if not world.restored:
            stack.mint(everywhere=False)
        if not refusal:
            break
        refusals.append(refusal)
        todo = action(refusal)
        if todo == ANSWER:
            world.unreachable.clear()
        elif todo in (FLOOR, BOTH):
            floor = above
    else:
        raise Stuck(f"refused again and again: {refusals}")
    for _ in range(2):
        world.now += 7_200
        stack.schedule()
    again = stack.up()
    if again:
        raise Stuck(f"refused after it had succeeded: {again}")
    stack.schedule()
    stack.counters = ("c", "d", "x")
    for counter in ("d", "x"):
        refused = stack.create_elsewhere(counter)
        if refused and action(refused) in (FLOOR, BOTH):
            refusals.append(refused)
            refused = stack.up(above) or stack.create(counter)
        if refused:
            raise Stuck(f"a caller can't create {counter}: {refused}")
    stack.schedule()
    if world.restored.keys() - world.unreachable:
        raise Stuck(f"nobody has seen to {sorted(world.restored)}")
    stack.mint(everywhere=True)
    return tuple(refusals)
