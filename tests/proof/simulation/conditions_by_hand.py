"""Schedules that random ones seldom meet: what goes wrong with a condition taken out, and doesn't with it."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from random import Random
from typing import Any

from coordinate.protocol import operations as op
from coordinate.protocol.model import Refused
from coordinate.protocol.run import Delete, ScheduledRun

from global_integers_core.records import RECORD_KEY
from proof.simulation.checks import CheckedWorld, MintedTwice
from proof.simulation.coordinator import Conflict
from proof.simulation.deployments import WINDOW
from proof.simulation.world import LAYOUTS, RECORD, Decoded, at_its_home
from tests.lambda_.coordinate.interrupted_runs import run_to, step_all
from tests.lambda_.coordinate.simulated_runs import begun, deployed, deployment, scheduled_run, world_with
from tests.proof.simulation.by_hand import (
    at,
    create,
    created,
    go_on_without_a,
    mint_all,
    raise_in_a,
    settling,
    stopped_before,
    two_regions,
)


def first_deployed(world: CheckedWorld, kind: type[op.Operation]) -> list[op.Operation]:
    """Deploy a and b for the first time. Return the operations of this kind."""
    seen: list[op.Operation] = []

    def listen(operation: op.Operation) -> object:
        if isinstance(operation, kind):
            seen.append(operation)
        return world.carry_out(operation)

    deployment(world, "ab", "first").finish(listen)
    return seen


def asked_for(world: CheckedWorld) -> tuple[str, ...]:
    return world.record.desired.regions if world.record else ()


def has_no_record(world: CheckedWorld, home: str) -> None:
    table = world.database.tables[home, LAYOUTS]
    assert Decoded(table, RECORD).get(RECORD_KEY) is None, "there are two home regions"


def late_deployment() -> None:
    """A deployment whose preview is outdated would overrule a newer one."""
    world = world_with("a", "b")
    late = stopped_before(world, op.WriteRecord, deployment(world, "ba", "late"))
    deployed(world, "a")
    step_all(late, world.carry_out)
    assert asked_for(world) == ("a",), "the outdated deployment has won"


def late_register() -> None:
    """A register that arrives late would take back a limit that was raised since, and so would the mirror, if lost."""
    world = world_with("a", "b")
    late = stopped_before(world, op.WriteRegister, deployment(world, "ba", "late"))
    scheduled_run(world)  # makes the same change
    mint_all(world, "a")
    scheduled_run(world)  # raises the limit
    mint_all(world, "a")
    step_all(late, world.carry_out)
    world.lose("mirror", "recreated", Random(0))
    go_on_without_a(world, minting="b")


def late_copy() -> None:
    """A copy that arrives late would put back a limit that was raised since."""
    world = two_regions()
    copies = first_deployed(world, op.WriteCopy)
    mint_all(world, "a", "b")
    raise_in_a(world)
    for copy in copies:
        world.carry_out(copy)
    world.lose("layouts", "recreated", Random(0))
    go_on_without_a(world)


def late_record_copy() -> None:
    """The copy of a record that another one was faster than would be put back in its place."""
    world = two_regions()
    faster, late = deployment(world, "b", "faster"), deployment(world, "a", "late")
    run_to(late, op.WriteRecordCopy, world.carry_out)
    run_to(faster, op.WriteRecord, world.carry_out)
    step_all(late, world.carry_out)
    step_all(faster, world.carry_out)
    world.lose("layouts", "recreated", Random(0))
    scheduled_run(world)
    assert asked_for(world) == ("b",), "the deployment that was admitted is forgotten"


def late_copy_of_a_move() -> None:
    """A home region that was claimed by the next one, before it had a record, would be a second one all the same."""
    world = world_with("a", "b")
    late = deployment(world, "ab", "late", home="h2")
    run_to(late, op.WriteRecordCopy, at(world, "h2"))
    deployment(world, "ab", "third", home="h3").finish(at(world, "h3"))
    step_all(late, at(world, "h2"))
    world.lose("layouts h2", "recreated", Random(0))
    with suppress(Refused):
        begun(ScheduledRun(), "second").finish(at(world, "h2"))
    has_no_record(world, "h2")


def late_claim() -> None:
    """A claim that arrives late would stop the home region, and nobody would know a later one."""
    world = world_with("a", "b")
    late = deployment(world, "ab", "late", home="h2")
    run_to(late, op.AtHome, at(world, "h2"))
    while not any(isinstance(at_its_home(operation), op.WriteClaim) for *_, operation in late.todo):
        late.step(at(world, "h2"))
    deployed(world, "a")
    deployment(world, "ab", "there", home="h3").finish(at(world, "h3"))
    deployment(world, "ab", "and back", home="home").finish(at(world, "home"))
    step_all(late, at(world, "h2"))
    assert scheduled_run(world).skipped is None, "the home region has stopped"


def two_first_homes() -> None:
    """Two first deployments in two home regions would both begin, and know nothing of each other."""
    world = two_regions()
    world.make_home("h2")
    label = f"h2 {world.database.tables['h2', LAYOUTS].id}"
    late = deployment(world, "ba", "late", home="h2", first=label)  # another state of Pulumi
    run_to(late, op.RecordHome, at(world, "h2"))
    first = deployment(world, "ab", "first", home="home")
    run_to(first, op.RecordHome, at(world, "home"))
    first.finish(at(world, "home"))
    with suppress(Refused):
        late.finish(at(world, "h2"))
    has_no_record(world, "h2")


def late_raise() -> None:
    """A raise of the epoch before would lift a ceiling above the present limit."""
    world = world_with("a", "b")
    mint_all(world, "a", most=2 * WINDOW)
    until_raise = stopped_before(world, op.RaiseItem, settling(world, "late"))
    world.now += 200_000
    deployed(world, "b", "a")
    step_all(until_raise, world.carry_out)
    go_on_without_a(world)


def late_raise_of_a_fence() -> None:
    """A raise that arrives after the fence would lift it, and the next epoch has begun right above."""
    world = world_with("a", "b")
    mint_all(world, "a", most=WINDOW - 1)
    late = stopped_before(world, op.RaiseItem, settling(world, "late"))
    run_to(deployment(world, "ba", "changing"), op.OpenItem, world.carry_out)
    (raising,) = [each for *_, each in late.todo if isinstance(each, op.RaiseItem) and each.region == "a"]
    world.carry_out(raising)
    world.unreachable.add("a")
    scheduled_run(world)
    mint_all(world, "a", "b")


def late_lower_raise() -> None:
    """A raise that was overtaken by a higher one would lower the ceiling, and the region would stop minting."""
    world = world_with("a", "b")
    world.now += 1_000_000  # so long that the window needn't grow
    mint_all(world, "a")
    late = stopped_before(world, op.RaiseItem, settling(world, "late"))
    scheduled_run(world)
    world.now += 1_000_000
    mint_all(world, "a")
    scheduled_run(world)
    mint_all(world, "a", most=3)
    step_all(late, world.carry_out)
    assert world.mint("a") is not None, "the region has stopped"


def lost_fence() -> None:
    """A fence near the ceiling would raise it above the limit, with which a region counts that is unreachable."""
    world = world_with("a", "b")
    mint_all(world, "a", most=WINDOW // 2)
    changing = stopped_before(world, op.FenceItem, deployment(world, "ba", "changing"))
    mint_all(world, "a", most=WINDOW)
    step_all(changing, world.carry_out)  # and then it crashes: nobody learns where the fence is
    go_on_without_a(world)


def late_layouts() -> None:
    """Layouts that arrive late would make a region forget the present one, and so who owns its integers."""
    world = two_regions()
    layouts_told = first_deployed(world, op.RecordLayouts)
    deployed(world, "b", "a")
    for layouts in layouts_told:
        world.carry_out(layouts)
    recorded = [world.recorded(region)["c"].layouts for region in "ab"]
    assert recorded == [world.lineages["c"]] * 2, "a region has forgotten a layout"


def late_fence() -> None:
    """A fence that is late would raise the ceiling of a later epoch, whose window is smaller."""
    world = two_regions()
    deployment(world, "ab", "first", window=100).finish(world.carry_out)
    late = stopped_before(world, op.FenceItem, deployment(world, "ba", "late"))
    fences = [fence for _, _, fence in late.todo if isinstance(fence, op.FenceItem)]
    deployment(world, "ba", "second").finish(world.carry_out)
    mint_all(world, "a")
    for fence in fences:
        world.carry_out(fence)
    world.restart("a")
    mint_all(world, "a")
    go_on_without_a(world, minting="b")


def late_first_deployment() -> None:
    """A first deployment that another one overtakes takes its items for traces, and would say that d is lost.

    Only the mirror still shows the other one's record.
    """
    world = CheckedWorld()
    world.make_table("a")
    late = stopped_before(world, op.ScanItems, deployment(world, "a", "late", counters=("c", "d")))
    first = deployment(world, "a", "first", counters=("c", "d"))

    def c_before_d(operation: op.Operation) -> Any:
        if isinstance(operation, op.WriteRegister) and operation.new.counter == "d":
            raise Conflict
        return world.carry_out(operation)

    while world.item("a", "c") is None:
        first.step(c_before_d)
    world.lose("layouts", "recreated", Random(0))
    late.finish(world.carry_out)


def late_hold() -> None:
    """A hold that is late would close an item of a counter that was created again."""
    world = created("a")
    late = stopped_before(world, op.HoldItem, begun(Delete(("e",)), "late"))
    create(world)
    step_all(late, world.carry_out)
    assert world.mint("a", "e") is not None, "the region has stopped"


def late_first_hold() -> None:
    """A hold that is late would take the place of an item that mints."""
    world = CheckedWorld()
    world.make_table("a")
    late = stopped_before(world, op.HoldItem, deployment(world, "a", "late"))
    deployed(world, "a")
    mint_all(world, "a", most=3)
    step_all(late, world.carry_out)
    world.restart("a")
    scheduled_run(world)
    mint_all(world, "a")


def restored(table: str) -> None:
    """A table at home that was restored would be taken for the one of before, and an old epoch would end once more."""
    world = world_with("a")
    world.keep(table)
    for _ in range(2):
        world.lose("a", "recreated", Random(0))
        world.warm.clear()
        with suppress(Refused):
            scheduled_run(world, world.new_id("run"))
        for _ in range(5):
            world.mint("a")
        for name in ("layouts", "mirror"):
            world.lose(name, "restored" if name == table else "recreated", Random(0))


BY_HAND: dict[str, tuple[Callable[[], None], type[Exception]]] = {
    "WriteRecord: unchanged": (late_deployment, AssertionError),
    "WriteRegister: unchanged": (late_register, MintedTwice),
    "WriteCopy: unchanged": (late_copy, MintedTwice),
    "WriteRecordCopy: unchanged": (late_record_copy, AssertionError),
    "WriteRecordCopy check of layouts: unchanged": (late_copy_of_a_move, AssertionError),
    "WriteClaim: unchanged": (late_claim, AssertionError),
    "RecordHome: attribute_not_exists(term) OR term < :term OR term = :term AND home = :home": (
        two_first_homes,
        AssertionError,
    ),
    "HoldItem: that state": (late_hold, AssertionError),
    "HoldItem: unchanged": (late_first_hold, MintedTwice),
    "FenceItem: that state": (late_fence, MintedTwice),
    "FenceItem: issued <= :most": (lost_fence, MintedTwice),
    "RecordLayouts: attribute_not_exists(epoch) OR epoch < :epoch": (late_layouts, AssertionError),
    "WriteRegister check of mirror: unchanged": (late_first_deployment, Refused),
    "identity: of the layouts table": (partial(restored, "layouts"), MintedTwice),
    "identity: of the mirror": (partial(restored, "mirror"), MintedTwice),
    "RaiseItem: epoch = :epoch": (late_raise, MintedTwice),
    "RaiseItem: attribute_not_exists(fenced)": (late_raise_of_a_fence, MintedTwice),
    "RaiseItem: ceiling < :ceiling": (late_lower_raise, AssertionError),
}
"""Condition → a schedule, and what goes wrong in it without the condition."""
