"""Schedules that random ones seldom meet: what goes wrong with a condition taken out, and doesn't with it."""

from collections.abc import Callable, Sequence
from random import Random

from coordinate.protocol.admit import admit
from coordinate.protocol.model import Deploy
from coordinate.protocol.operations import (
    AdoptItem,
    FenceItem,
    OpenItem,
    Operation,
    PutItem,
    RaiseItem,
    RecordLayouts,
    RenewItem,
    WriteArchive,
    WriteCopy,
    WriteRecord,
    WriteRecordCopy,
    WriteRegister,
)
from coordinate.protocol.reconcile import reconcile
from coordinate.protocol.run import RunResult, ScheduledRun, run

from proof.simulation.checks import CheckedWorld, MintedTwice
from proof.simulation.coordinator import SimulatedCoordinator
from proof.simulation.deployments import WINDOW, decoded, desired
from proof.simulation.world import SimulatedReceipts
from tests.lambda_.coordinate.interrupted_runs import run_to, step_all


def deployment(
    world: CheckedWorld,
    regions: Sequence[str],
    name: str,
    leaving: str = "",
    counters: Sequence[str] = ("c",),
    floor: int | None = None,
    window: int = WINDOW,
) -> SimulatedCoordinator:
    """Return the run of a deployment whose preview reads what is admitted now."""
    follows = world.layouts.record.token if world.layouts.record else ""
    floors = {} if floor is None else {"*": floor}
    label = world.layouts.id
    asked = decoded(desired(regions, leaving, counters=counters, floors=floors, layouts_label=label, window=window))
    return SimulatedCoordinator(run(Deploy(asked, follows, world.now), name, RunResult()))


def deployed(world: CheckedWorld, *regions: str, leaving: str = "") -> RunResult:
    for region in regions:
        world.make_table(region)
    return deployment(world, regions, world.new_id("deployment"), leaving).finish(world.carry_out)


def scheduled_run(world: CheckedWorld, name: str = "schedule") -> RunResult:
    return SimulatedCoordinator(run(ScheduledRun(), name, RunResult())).finish(world.carry_out)


def stopped_before(world: CheckedWorld, kind: type[Operation], token: str) -> SimulatedCoordinator:
    late = settling(world, token)
    run_to(late, kind, world.carry_out)
    return late


def settling(world: CheckedWorld, token: str) -> SimulatedCoordinator:
    assert world.layouts.record is not None
    return SimulatedCoordinator(reconcile("c", token, world.layouts.record))


def first_deployed(world: CheckedWorld, kind: type[Operation]) -> list[Operation]:
    """Deploy a and b for the first time. Return the operations of this kind."""
    seen: list[Operation] = []

    def listen(operation: Operation) -> object:
        if isinstance(operation, kind):
            seen.append(operation)
        return world.carry_out(operation)

    for region in "ab":
        world.make_table(region)
    deployment(world, "ab", "first").finish(listen)
    return seen


def mint_all(world: CheckedWorld, *regions: str, most: int = 1_000) -> None:
    for region in regions:
        for _ in range(most):
            if world.mint(region) is None:
                break


def late_deployment(without: str | None) -> None:
    """A deployment whose preview is outdated would overrule a newer one."""
    world = CheckedWorld(without)
    deployed(world, "a", "b")
    late = deployment(world, "ba", "late")
    run_to(late, WriteRecord, world.carry_out)
    deployed(world, "a")
    step_all(late, world.carry_out)
    record = world.layouts.record
    assert record is not None
    assert record.desired.regions == ("a",), "the outdated deployment has won"


def late_register(without: str | None) -> None:
    """A register that arrives late would take back a limit that was raised since, and so would the mirror, if lost."""
    world = CheckedWorld(without)
    deployed(world, "a", "b")
    late = deployment(world, "ba", "late")
    run_to(late, WriteRegister, world.carry_out)
    scheduled_run(world)  # makes the same change
    mint_all(world, "a")
    scheduled_run(world)  # raises the limit
    mint_all(world, "a")
    step_all(late, world.carry_out)
    world.lose("mirror", "recreated", Random(0))
    world.unreachable.add("a")
    deployed(world, "b")
    mint_all(world, "b")


def late_copy(without: str | None) -> None:
    """A copy that arrives late would put back a limit that was raised since."""
    world = CheckedWorld(without)
    copies = first_deployed(world, WriteCopy)
    mint_all(world, "a", "b")
    scheduled_run(world)  # raises the limit
    mint_all(world, "a")
    for copy in copies:
        world.carry_out(copy)
    world.lose("layouts", "recreated", Random(0))
    world.unreachable.add("a")
    deployed(world, "b")
    mint_all(world, "a", "b")


def late_record_copy(without: str | None) -> None:
    """A copy of the record that arrives late would put back a deployment that was followed by another."""
    world = CheckedWorld(without)
    copies = first_deployed(world, WriteRecordCopy)
    deployed(world, "b")
    for copy in copies:
        world.carry_out(copy)
    world.lose("layouts", "recreated", Random(0))
    scheduled_run(world)
    record = world.layouts.record
    assert record is not None
    assert record.desired.regions == ("b",), "the last deployment is forgotten"


def late_renewal(without: str | None) -> None:
    """Two late runs would open an item of an epoch that the lost table has already minted from."""
    world = CheckedWorld(without)
    for region in "xy":
        world.make_table(region)
    run_to(deployment(world, "xy", "killed"), PutItem, world.carry_out)
    placing = stopped_before(world, PutItem, "late 1")
    scheduled_run(world)
    for region in "yx":
        world.make_table(region)
    changing = deployment(world, "yx", "changing")
    run_to(changing, RenewItem, world.carry_out)
    renewing = stopped_before(world, RenewItem, "late 2")
    changing.finish(world.carry_out)
    mint_all(world, "x", most=3)
    world.lose("x", "recreated", Random(0))
    step_all(placing, world.carry_out)
    step_all(renewing, world.carry_out)
    mint_all(world, "x", most=3)


def late_raise(without: str | None) -> None:
    """A raise of the epoch before would lift a ceiling above the present limit."""
    world = CheckedWorld(without)
    deployed(world, "a", "b")
    mint_all(world, "a", most=2 * WINDOW)
    until_raise = stopped_before(world, RaiseItem, "late")
    for _ in range(20):
        world.now += 10_000
    deployed(world, "b", "a")
    step_all(until_raise, world.carry_out)
    world.unreachable.add("a")
    deployed(world, "b")
    mint_all(world, "a", "b")


def late_raise_of_a_fence(without: str | None) -> None:
    """A raise that arrives after the fence would lift it, and the next epoch has begun right above."""
    world = CheckedWorld(without)
    deployed(world, "a", "b")
    mint_all(world, "a", most=WINDOW - 1)
    late = stopped_before(world, RaiseItem, "late")
    run_to(deployment(world, "ba", "changing"), RenewItem, world.carry_out)
    step_all(late, world.carry_out)
    world.unreachable.add("a")
    scheduled_run(world)
    mint_all(world, "a", "b")


def late_lower_raise(without: str | None) -> None:
    """A raise that was overtaken by a higher one would lower the ceiling, and the region would stop minting."""
    world = CheckedWorld(without)
    deployed(world, "a", "b")
    world.now += 1_000_000  # so long that the window needn't grow
    mint_all(world, "a")
    late = stopped_before(world, RaiseItem, "late")
    scheduled_run(world)
    world.now += 1_000_000
    mint_all(world, "a")
    scheduled_run(world)
    mint_all(world, "a", most=3)
    step_all(late, world.carry_out)
    assert world.mint("a") is not None, "the region has stopped"


def lost_fence(without: str | None) -> None:
    """A fence near the ceiling would raise it above the limit, with which a region counts that is unreachable."""
    world = CheckedWorld(without)
    deployed(world, "a", "b")
    mint_all(world, "a", most=WINDOW // 2)
    changing = deployment(world, "ba", "changing")
    run_to(changing, FenceItem, world.carry_out)
    mint_all(world, "a", most=WINDOW)
    step_all(changing, world.carry_out)  # and then it crashes: nobody learns where the fence is
    world.unreachable.add("a")
    deployed(world, "b")
    mint_all(world, "a", "b")


def lose_registers(world: CheckedWorld) -> None:
    """Delete all registers and their copies."""
    world.layouts.registers.clear()
    world.mirror.copies.clear()


def late_adoption(without: str | None) -> None:
    """An adoption that arrives late would put an item back to an epoch before, and it would be renewed once more."""
    world = CheckedWorld(without)
    deployed(world, "a", "b")
    lose_registers(world)
    late = deployment(world, "ab", "killed", floor=100)
    run_to(late, AdoptItem, world.carry_out)
    world.now += 60
    scheduled_run(world)
    mint_all(world, "a", "b", most=3)
    step_all(late, world.carry_out)
    scheduled_run(world)
    mint_all(world, "a", "b", most=3)


def late_opening(without: str | None) -> None:
    """An item that is being opened would be adopted. Then its late opening would let it mint from the beginning."""
    world = CheckedWorld(without)
    world.make_table("x")
    opening = deployment(world, "x", "killed")
    run_to(opening, PutItem, world.carry_out)
    ((_, _, put),) = opening.todo
    run_to(opening, OpenItem, world.carry_out)
    scheduled_run(world)  # opens it
    mint_all(world, "x", most=3)
    lose_registers(world)
    changing = deployment(world, "x", "changing", floor=100)
    run_to(changing, AdoptItem, world.carry_out)
    world.lose("x", "recreated", Random(0))
    world.carry_out(put)  # once more
    run_to(changing, WriteRegister, world.carry_out)
    step_all(opening, world.carry_out)
    mint_all(world, "x", most=3)


def late_layouts(without: str | None) -> None:
    """Layouts that arrive late would make a region forget the present one, and so who owns its integers."""
    world = CheckedWorld(without)
    layouts_told = first_deployed(world, RecordLayouts)
    deployed(world, "b", "a")
    for layouts in layouts_told:
        world.carry_out(layouts)
    recorded = [world.receipts[region].recorded["c"].layouts for region in "ab"]
    assert recorded == [world.lineages["c"]] * 2, "a region has forgotten a layout"


def late_archive(without: str | None) -> None:
    """A past that arrives late would make the archive forget later layouts. So nobody knows them if copies are lost."""
    world = CheckedWorld(without)
    deployed(world, "a", "b")
    late = WriteArchive("c", (world.layouts.registers["c"].layout,))
    deployed(world, "b", "a")
    deployed(world, "a", "b")
    world.carry_out(late)
    world.receipts |= {region: SimulatedReceipts() for region in "ab"}
    deployed(world, "b", "a")
    recorded = [world.receipts[region].recorded["c"].layouts for region in "ab"]
    assert recorded == [world.lineages["c"]] * 2, "a region has forgotten a layout"


def late_fence(without: str | None) -> None:
    """A fence that is late would raise the ceiling of a later epoch, whose window is smaller."""
    world = CheckedWorld(without)
    for region in "ab":
        world.make_table(region)
    deployment(world, "ab", "first", window=100).finish(world.carry_out)
    late = deployment(world, "ba", "late")
    run_to(late, FenceItem, world.carry_out)
    fences = [fence for _, _, fence in late.todo if isinstance(fence, FenceItem)]
    deployment(world, "ba", "second").finish(world.carry_out)
    mint_all(world, "a")
    for fence in fences:
        world.carry_out(fence)
    mint_all(world, "a")
    world.unreachable.add("a")
    deployed(world, "b")
    mint_all(world, "b")


BY_HAND: dict[str, tuple[Callable[[str | None], None], type[AssertionError]]] = {
    "record: unchanged": (late_deployment, AssertionError),
    "register: unchanged": (late_register, MintedTwice),
    "copy: unchanged": (late_copy, MintedTwice),
    "record copy: unchanged": (late_record_copy, AssertionError),
    "renew: not being opened": (late_renewal, MintedTwice),
    "fence: this epoch": (late_fence, MintedTwice),
    "fence: issued within": (lost_fence, MintedTwice),
    "adopt: that epoch": (late_adoption, MintedTwice),
    "adopt: not being opened": (late_opening, MintedTwice),
    "layouts: newer": (late_layouts, AssertionError),
    "archive: newer": (late_archive, AssertionError),
    "raise: this epoch": (late_raise, MintedTwice),
    "raise: not fenced": (late_raise_of_a_fence, MintedTwice),
    "raise: upwards": (late_lower_raise, AssertionError),
}


def test_a_copy_that_was_read_before_the_loss_is_not_put_back() -> None:
    world = CheckedWorld()
    deployed(world, "a", "b")
    late = settling(world, "late")
    late.step(world.carry_out)  # reads the copy
    deployed(world, "b", "a")
    world.lose("layouts", "recreated", Random(0))
    SimulatedCoordinator(admit(None, "restoring")).finish(world.carry_out)  # puts the record back

    late.finish(world.carry_out)

    assert world.layouts.registers["c"].epoch >= 2
    assert world.mirror.copies["c"].original == world.layouts.registers["c"]
