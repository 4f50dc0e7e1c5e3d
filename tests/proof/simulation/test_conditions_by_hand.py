"""Schedules that random ones seldom meet: what goes wrong with a condition taken out, and doesn't with it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from random import Random
from typing import Any

from coordinate.protocol import operations as op
from coordinate.protocol.model import Deploy, Refused
from coordinate.protocol.operations import (
    AtHome,
    CarryOut,
    FenceItem,
    HoldItem,
    OpenItem,
    Operation,
    RaiseItem,
    RecordHome,
    RecordLayouts,
    WriteClaim,
    WriteCopy,
    WriteRecord,
    WriteRecordCopy,
    WriteRegister,
)
from coordinate.protocol.reconcile import reconcile
from coordinate.protocol.run import Create, Delete, RunResult, ScheduledRun

from global_integers_core.records import RECORD_KEY
from proof.simulation.checks import CheckedWorld, MintedTwice
from proof.simulation.coordinator import Conflict, SimulatedCoordinator
from proof.simulation.deployments import WINDOW, decoded, desired
from proof.simulation.world import LAYOUTS, RECORD, Decoded, at_its_home
from tests.lambda_.coordinate.interrupted_runs import run_to, step_all
from tests.lambda_.coordinate.simulated_runs import begun, scheduled_run


def deployment(
    world: CheckedWorld,
    regions: Sequence[str],
    name: str,
    leaving: str = "",
    counters: Sequence[str] = ("c",),
    floor: int | None = None,
    window: int = WINDOW,
    recovery: Mapping[str, Any] | None = None,
    home: str = "",
    first: str = "home layouts 1",
    follows: str | None = None,
) -> SimulatedCoordinator:
    """Return the run of a deployment whose preview reads what is admitted now, unless it `follows` something else."""
    record, copy = world.record, world.record_copy
    if copy and (record is None or record.layouts_id != world.layouts.id):
        record = copy.original
    admitted = record.token if record else ""
    floors = {} if floor is None else {"*": floor}
    home = home or world.home
    world.make_home(home)
    label = f"{home} {world.database.tables[home, LAYOUTS].id}"
    asked = desired(
        regions,
        leaving,
        counters=counters,
        floors=floors,
        layouts_label=label,
        first=first,
        window=window,
        recovery=recovery,
    )
    return begun(Deploy(decoded(asked), admitted if follows is None else follows, world.now), name)


def deployed(world: CheckedWorld, *regions: str, leaving: str = "") -> RunResult:
    for region in regions:
        world.make_table(region)
    return deployment(world, regions, world.new_id("deployment"), leaving).finish(world.carry_out)


def at(world: CheckedWorld, home: str) -> CarryOut:
    """Return what carries out the operations of a run in this home region."""

    def carry_out(operation: Operation) -> object:
        world.at = home
        try:
            return world.carry_out(operation)
        finally:
            world.at = "home"

    return carry_out


def stopped_before(world: CheckedWorld, kind: type[Operation], token: str) -> SimulatedCoordinator:
    late = settling(world, token)
    run_to(late, kind, world.carry_out)
    return late


def settling(world: CheckedWorld, token: str) -> SimulatedCoordinator:
    assert world.record is not None
    return SimulatedCoordinator(reconcile("c", token, world.record))


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
    world.now += 1_000  # so a fence is near
    for region in regions:
        for _ in range(most):
            if world.mint(region) is None:
                break


def raise_in_a(world: CheckedWorld) -> None:
    """Raise the limit while only a answers, so that no ceiling elsewhere shows it, and let a mint up to it."""
    world.unreachable = {"b"}
    scheduled_run(world)
    mint_all(world, "a")


def go_on_without_a(world: CheckedWorld) -> None:
    """Deploy b alone, while a doesn't answer, and let both mint."""
    world.unreachable = {"a"}
    deployed(world, "b")
    mint_all(world, "a", "b")


def late_deployment(without: str | None) -> None:
    """A deployment whose preview is outdated would overrule a newer one."""
    world = CheckedWorld(without)
    deployed(world, "a", "b")
    late = deployment(world, "ba", "late")
    run_to(late, WriteRecord, world.carry_out)
    deployed(world, "a")
    step_all(late, world.carry_out)
    record = world.record
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
    raise_in_a(world)
    for copy in copies:
        world.carry_out(copy)
    world.lose("layouts", "recreated", Random(0))
    go_on_without_a(world)


def late_record_copy(without: str | None) -> None:
    """The copy of a record that another one was faster than would be put back in its place."""
    world = CheckedWorld(without)
    for region in "ab":
        world.make_table(region)
    faster, late = deployment(world, "b", "faster"), deployment(world, "a", "late")
    run_to(late, WriteRecordCopy, world.carry_out)
    run_to(faster, WriteRecord, world.carry_out)
    step_all(late, world.carry_out)
    step_all(faster, world.carry_out)
    world.lose("layouts", "recreated", Random(0))
    scheduled_run(world)
    record = world.record
    assert record is not None
    assert record.desired.regions == ("b",), "the deployment that was admitted is forgotten"


def late_copy_of_a_move(without: str | None) -> None:
    """A home region that was claimed by the next one, before it had a record, would be a second one all the same."""
    world = CheckedWorld(without)
    deployed(world, "a", "b")
    late = deployment(world, "ab", "late", home="h2")
    run_to(late, WriteRecordCopy, at(world, "h2"))
    deployment(world, "ab", "third", home="h3").finish(at(world, "h3"))
    step_all(late, at(world, "h2"))
    world.lose("layouts h2", "recreated", Random(0))
    with suppress(Refused):
        begun(ScheduledRun(), "second").finish(at(world, "h2"))
    assert Decoded(world.database.tables["h2", LAYOUTS], RECORD).get(RECORD_KEY) is None, "there are two home regions"


def late_claim(without: str | None) -> None:
    """A claim that arrives late would stop the home region, and nobody would know a later one."""
    world = CheckedWorld(without)
    deployed(world, "a", "b")
    late = deployment(world, "ab", "late", home="h2")
    run_to(late, AtHome, at(world, "h2"))
    while not any(isinstance(at_its_home(operation), WriteClaim) for *_, operation in late.todo):
        late.step(at(world, "h2"))
    deployed(world, "a")
    deployment(world, "ab", "there", home="h3").finish(at(world, "h3"))
    deployment(world, "ab", "and back", home="home").finish(at(world, "home"))
    step_all(late, at(world, "h2"))
    assert scheduled_run(world).skipped is None, "the home region has stopped"


def two_first_homes(without: str | None) -> None:
    """Two first deployments in two home regions would both begin, and know nothing of each other."""
    world = CheckedWorld(without)
    for region in "ab":
        world.make_table(region)
    world.make_home("h2")
    label = f"h2 {world.database.tables['h2', LAYOUTS].id}"
    late = deployment(world, "ba", "late", home="h2", first=label)  # another state of Pulumi
    run_to(late, RecordHome, at(world, "h2"))
    first = deployment(world, "ab", "first", home="home")
    run_to(first, RecordHome, at(world, "home"))
    first.finish(at(world, "home"))
    with suppress(Refused):
        late.finish(at(world, "h2"))
    assert Decoded(world.database.tables["h2", LAYOUTS], RECORD).get(RECORD_KEY) is None, "there are two home regions"


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
    run_to(deployment(world, "ba", "changing"), OpenItem, world.carry_out)
    (raising,) = [each for *_, each in late.todo if isinstance(each, RaiseItem) and each.region == "a"]
    world.carry_out(raising)
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


def late_layouts(without: str | None) -> None:
    """Layouts that arrive late would make a region forget the present one, and so who owns its integers."""
    world = CheckedWorld(without)
    layouts_told = first_deployed(world, RecordLayouts)
    deployed(world, "b", "a")
    for layouts in layouts_told:
        world.carry_out(layouts)
    recorded = [world.recorded(region)["c"].layouts for region in "ab"]
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
    world.restart("a")
    mint_all(world, "a")
    world.unreachable.add("a")
    deployed(world, "b")
    mint_all(world, "b")


def late_first_deployment(without: str | None) -> None:
    """A first deployment that another one overtakes takes its items for traces, and would say that d is lost.

    Only the mirror still shows the other one's record.
    """
    world = CheckedWorld(without)
    world.make_table("a")
    late = deployment(world, "a", "late", counters=("c", "d"))
    run_to(late, op.ScanItems, world.carry_out)
    first = deployment(world, "a", "first", counters=("c", "d"))

    def c_before_d(operation: op.Operation) -> Any:
        if isinstance(operation, op.WriteRegister) and operation.new.counter == "d":
            raise Conflict
        return world.carry_out(operation)

    while world.item("a", "c") is None:
        first.step(c_before_d)
    world.lose("layouts", "recreated", Random(0))
    late.finish(world.carry_out)


def late_hold(without: str | None) -> None:
    """A hold that is late would close an item of a counter that was created again."""
    world = CheckedWorld(without)
    deployed(world, "a")
    begun(Create(("e",)), "creation").finish(world.carry_out)
    late = begun(Delete(("e",)), "late")
    run_to(late, HoldItem, world.carry_out)
    begun(Create(("e",)), "another creation").finish(world.carry_out)
    step_all(late, world.carry_out)
    assert world.mint("a", "e") is not None, "the region has stopped"


def late_first_hold(without: str | None) -> None:
    """A hold that is late would take the place of an item that mints."""
    world = CheckedWorld(without)
    world.make_table("a")
    late = deployment(world, "a", "late")
    run_to(late, HoldItem, world.carry_out)
    deployed(world, "a")
    mint_all(world, "a", most=3)
    step_all(late, world.carry_out)
    world.restart("a")
    scheduled_run(world)
    mint_all(world, "a")


def _restored(without: str | None, table: str) -> None:
    """A table at home that was restored would be taken for the one of before, and an old epoch would end once more."""
    world = CheckedWorld(without)
    deployed(world, "a")
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


def restored_layouts(without: str | None) -> None:
    """As `_restored`."""
    _restored(without, "layouts")


def restored_mirror(without: str | None) -> None:
    """As `_restored`."""
    _restored(without, "mirror")


BY_HAND: dict[str, tuple[Callable[[str | None], None], type[Exception]]] = {
    "WriteRecord: unchanged": (late_deployment, AssertionError),
    "WriteRegister: unchanged": (late_register, MintedTwice),
    "WriteCopy: unchanged": (late_copy, MintedTwice),
    "WriteRecordCopy: unchanged": (late_record_copy, AssertionError),
    "WriteRecordCopy check of layouts: unchanged": (late_copy_of_a_move, AssertionError),
    "WriteClaim: unchanged": (late_claim, AssertionError),
    "RecordHome: attribute_not_exists(term) OR term < :term OR (term = :term AND home = :home)": (
        two_first_homes,
        AssertionError,
    ),
    "HoldItem: that state": (late_hold, AssertionError),
    "HoldItem: unchanged": (late_first_hold, MintedTwice),
    "FenceItem: that state": (late_fence, MintedTwice),
    "FenceItem: issued <= :most": (lost_fence, MintedTwice),
    "RecordLayouts: attribute_not_exists(epoch) OR epoch < :epoch": (late_layouts, AssertionError),
    "WriteRegister check of mirror: unchanged": (late_first_deployment, Refused),
    "identity: of the layouts table": (restored_layouts, MintedTwice),
    "identity: of the mirror": (restored_mirror, MintedTwice),
    "RaiseItem: epoch = :epoch": (late_raise, MintedTwice),
    "RaiseItem: attribute_not_exists(fenced)": (late_raise_of_a_fence, MintedTwice),
    "RaiseItem: ceiling < :ceiling": (late_lower_raise, AssertionError),
}
