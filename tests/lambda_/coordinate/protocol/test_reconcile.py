"""One counter is reconciled step by step, on tables in memory: what is done before what, and what is refused."""

from dataclasses import replace
from typing import Any

import pytest
from coordinate.protocol.epochs import EPOCHS_SKIPPED
from coordinate.protocol.model import Absent, Copy, DeploymentRecord, Item, Refused, Register
from coordinate.protocol.operations import (
    AdoptItem,
    FenceItem,
    Observation,
    OpenItem,
    Operation,
    PutItem,
    RaiseItem,
    ReadCopy,
    ReadItem,
    ReadRegister,
    RecordLayouts,
    RenewItem,
    WriteArchive,
    WriteCopy,
    WriteRegister,
)
from coordinate.protocol.reconcile import Outcome, reconcile

from proof.simulation.coordinator import SimulatedCoordinator
from proof.simulation.world import Mirror, World
from tests.lambda_.coordinate.interrupted_runs import run_to, step_all
from tests.lambda_.coordinate.sample_records import NOW, WINDOW, record

HEADROOM = 10


class Scene:
    """A world in which deployments are admitted, and what was written in it."""

    def __init__(self, *regions: str, **settings: Any) -> None:
        self.world = World()
        self.writes: list[Operation] = []
        self.runs = 0
        for region in ("a", "b", "d"):
            self.world.make_table(region)
        self.ask_for(*regions, **settings)

    def ask_for(self, *regions: str, **settings: Any) -> DeploymentRecord:
        present = self.world.layouts.record
        number = present.number + 1 if present else 1
        self.world.layouts.record = record(*regions, number=number, **settings)
        return self.world.layouts.record

    def begin(self, now: int = NOW) -> SimulatedCoordinator:
        self.runs += 1
        self.world.now = now
        present = self.world.layouts.record
        assert present is not None
        return SimulatedCoordinator(reconcile("c", f"run {self.runs}", present))

    def reconcile(self, now: int = NOW) -> Outcome:
        return self.begin(now).finish(self.carry_out)

    def carry_out(self, operation: Operation) -> Any:
        if not type(operation).__name__.startswith(("Read", "Describe", "Clock")):
            self.writes.append(operation)
        return self.world.carry_out(operation)

    def written(self) -> list[str]:
        """Return the kinds of the writes since the last time, the region's name with them if there is one."""
        names = [" ".join([type(w).__name__, getattr(w, "region", "")]).strip() for w in self.writes]
        self.writes.clear()
        return names

    def register(self) -> Register:
        return self.world.layouts.registers["c"]

    def item(self, region: str) -> Item:
        item = self.world.carry_out(ReadItem(region, "c"))
        assert isinstance(item, Item)
        return item


def test_a_counter_is_created_step_by_step() -> None:
    scene = Scene("a", "b")

    outcome = scene.reconcile()

    assert outcome == Outcome(scene.register(), (), created=True)
    assert scene.written() == [
        "WriteRegister",
        "WriteCopy",
        *["PutItem a", "PutItem b"],
        "WriteRegister",
        "WriteCopy",
        *["RecordLayouts a", "RecordLayouts b"],
        *["OpenItem a", "OpenItem b"],
    ]
    assert (scene.register().epoch, scene.register().base, scene.register().limit) == (1, 1, 2 * WINDOW)
    assert scene.register().ids == tuple(scene.world.tables[region].id for region in "ab")
    assert [scene.item(region) for region in "ab"] == [
        Item(-1, 2, 2 * WINDOW - 1, 1),
        Item(0, 2, 2 * WINDOW, 1),
    ]


def test_a_reconciled_counter_is_left_alone() -> None:
    scene = Scene("a", "b")
    scene.reconcile()
    scene.written()

    assert scene.reconcile() == Outcome(scene.register(), ())
    assert scene.written() == []


def test_a_change_fences_then_mirrors_then_gives() -> None:
    scene = Scene("a", "b")
    scene.reconcile()
    scene.world.mint("a")
    scene.written()
    scene.ask_for("b", "d")

    outcome = scene.reconcile()

    assert outcome.pending == ()
    assert scene.written() == [
        *["WriteRegister", "WriteCopy"],  # as they are: what can refuse refuses before the fences
        "WriteArchive",
        *["FenceItem a", "FenceItem b"],
        "WriteRegister",
        "WriteCopy",
        "PutItem d",
        "WriteRegister",
        "WriteCopy",
        *["RecordLayouts b", "RecordLayouts d"],
        *["RenewItem b", "OpenItem d"],
    ]
    assert outcome.register.base == 1 + 2 * HEADROOM + 1
    for region in "bd":
        layouts = scene.world.receipts[region].recorded["c"].layouts
        assert [layout.regions for layout in layouts] == [("a", "b"), ("b", "d")]


def test_the_next_base_lies_above_the_limit_if_a_region_is_unreachable() -> None:
    scene = Scene("a", "b")
    scene.reconcile()
    limit = scene.register().limit
    scene.world.unreachable = {"b"}
    scene.ask_for("a", "d")

    assert scene.reconcile().pending == ()
    assert scene.register().base == limit + 1


@pytest.mark.parametrize("when", [FenceItem, WriteRegister])
def test_the_base_lies_above_the_limit_of_a_recreated_table(when: type[Operation]) -> None:
    scene = Scene("a", "b")
    scene.reconcile()
    limit = scene.register().limit
    scene.ask_for("a", "d")
    run = scene.begin()
    run_to(run, when, scene.carry_out)
    scene.world.delete_table("b")
    scene.world.make_table("b")
    run.finish(scene.carry_out)

    base = scene.register().base
    assert base == (limit + 1 if when is FenceItem else HEADROOM * 2 + 1), "fenced and described before it was lost"


def test_a_fence_in_a_restored_table_is_none() -> None:
    scene = Scene("a", "b")
    scene.reconcile()
    limit = scene.register().limit
    scene.ask_for("a", "d")
    run = scene.begin()
    run_to(run, FenceItem, scene.carry_out)
    scene.world.tables["b"].id = "b restored"
    run.finish(scene.carry_out)

    assert scene.register().base == limit + 1


def test_fenced_regions_need_one_change_of_the_register() -> None:
    scene = Scene("a", "b")
    scene.reconcile()
    scene.written()
    scene.ask_for("b", "a")
    scene.reconcile()

    assert scene.written() == [
        *["WriteRegister", "WriteCopy"],  # as they are: what can refuse refuses before the fences
        "WriteArchive",
        *["FenceItem a", "FenceItem b"],
        "WriteRegister",
        "WriteCopy",
        *["RecordLayouts b", "RecordLayouts a"],
        *["RenewItem a", "RenewItem b"],
    ]


def test_nothing_is_given_where_the_layouts_were_not_recorded() -> None:
    scene = Scene("a", "b")
    silent = [True]

    def once_unreachable(operation: Operation) -> Any:
        if isinstance(operation, RecordLayouts) and operation.region == "b" and silent:
            silent.clear()
            return Absent.UNREACHABLE
        return scene.carry_out(operation)

    scene.begin().finish(once_unreachable)
    names = scene.written()
    assert names.index("RecordLayouts b") < names.index("OpenItem b")


def test_a_region_that_was_given_nothing_skips_nothing() -> None:
    scene = Scene("a")
    scene.reconcile()
    scene.world.unreachable = {"b"}
    scene.ask_for("a", "b")
    assert scene.reconcile().pending == ("b",)
    scene.ask_for("a", "b", "d")
    assert scene.reconcile().pending == ("b",)

    assert scene.register().base < WINDOW
    scene.world.unreachable = set()
    assert scene.reconcile().pending == ()


@pytest.mark.parametrize("at_once", [1, 5, 50])
def test_a_fence_lands_at_once_however_fast_the_region_mints(at_once: int) -> None:
    scene = Scene("a", "b")
    scene.reconcile()
    scene.ask_for("b", headroom=2)

    def minting(operation: Operation) -> Any:
        if isinstance(operation, FenceItem) and operation.region == "a":
            scene.world.mint_block("a", at_once)
        return scene.carry_out(operation)

    scene.begin().finish(minting)
    assert scene.written().count("FenceItem a") == 1
    assert scene.register().base == 2 * at_once - 1 + 2 * 2 + 1, "two more integers of a, which mints every second one"


def test_a_fence_near_the_ceiling_leaves_it() -> None:
    scene = Scene("a", "b")
    scene.reconcile()
    limit, ceiling = scene.register().limit, scene.item("a").ceiling
    scene.world.mint_block("a", WINDOW - 1)
    scene.ask_for("b", headroom=2)
    run = scene.begin()
    run_to(run, WriteRegister, scene.carry_out)

    assert (scene.item("a").fenced, scene.item("a").ceiling) == (True, ceiling)
    run.finish(scene.carry_out)
    assert scene.register().base <= limit + 1


def test_a_region_that_mints_past_what_was_read_is_fenced_the_second_time() -> None:
    scene = Scene("a", "b")
    scene.reconcile()
    scene.ask_for("b", headroom=2)
    run = scene.begin()
    run_to(run, FenceItem, scene.carry_out)
    scene.world.mint_block("a", WINDOW - 1)
    run.finish(scene.carry_out)

    assert scene.written().count("FenceItem a") == 2
    assert scene.item("a").fenced


def test_the_limit_is_raised_in_register_and_copy_first() -> None:
    scene = Scene("a", "b")
    scene.reconcile()
    scene.written()
    scene.world.mint_block("a", 900)

    scene.reconcile(NOW + 86_400)

    assert scene.written() == ["WriteRegister", "WriteCopy", "RaiseItem a", "RaiseItem b"]
    assert scene.item("a").ceiling == scene.register().limit == 1799 + 2 * WINDOW


def test_the_clock_is_looked_at_when_the_register_was_read() -> None:
    """Another run may have raised the limit since this one began. A rate since then is no rate of one second."""
    scene = Scene("a", "b")
    scene.reconcile()
    late = scene.begin()
    scene.world.now = NOW + 86_400
    scene.world.mint_block("a", 900)
    scene.reconcile(NOW + 86_400)
    scene.world.now = NOW + 2 * 86_400
    scene.world.mint_block("a", 900)
    late.finish(scene.carry_out)

    assert (scene.register().granted, scene.register().window) == (NOW + 2 * 86_400, WINDOW)


def test_what_a_scan_has_found_needs_no_second_look() -> None:
    scene = Scene("a", "b")
    scene.reconcile()
    asked = scene.ask_for("b", "a")
    items = {region: scene.item(region) for region in "ab"}
    known = Observation(scene.register(), items, {region: scene.world.tables[region].id for region in "ab"})
    reads: list[Operation] = []

    def listen(operation: Operation) -> Any:
        if isinstance(operation, ReadItem):
            reads.append(operation)
        return scene.carry_out(operation)

    outcome = SimulatedCoordinator(reconcile("c", "run", asked, known)).finish(listen)
    assert (outcome.register.regions, outcome.pending, reads) == (("b", "a"), (), [])


def test_what_a_scan_has_found_of_another_register_is_looked_at_again() -> None:
    scene = Scene("a", "b")
    scene.reconcile()
    stale = Observation(replace(scene.register(), limit=5), {"a": None, "b": None}, {"a": "a 9", "b": "b 9"})
    present = scene.world.layouts.record
    assert present is not None

    assert SimulatedCoordinator(reconcile("c", "run", present, stale)).finish(scene.carry_out) == Outcome(
        scene.register(), ()
    )


@pytest.mark.parametrize("table", ["the layouts table", "the mirror"])
def test_a_register_that_cannot_be_read_is_refused(table: str) -> None:
    scene = Scene("a", "b")
    scene.reconcile()

    def unreadable(operation: Operation) -> Any:
        kind = ReadRegister if table == "the layouts table" else ReadCopy
        return Absent.STRAY if isinstance(operation, kind) else scene.carry_out(operation)

    with pytest.raises(Refused, match=f"c: the item of this counter in {table} can't be read"):
        scene.begin().finish(unreadable)


def test_an_item_that_cannot_be_read_is_pending() -> None:
    scene = Scene("a", "b")
    scene.reconcile()

    def unreadable(operation: Operation) -> Any:
        return Absent.STRAY if operation == ReadItem("b", "c") else scene.carry_out(operation)

    assert scene.begin().finish(unreadable).pending == ("b",)


def test_a_run_of_a_past_record_writes_no_register() -> None:
    scene = Scene("a", "b")
    scene.reconcile()
    scene.ask_for("a")
    run = scene.begin()
    run_to(run, WriteRegister, scene.carry_out)
    scene.ask_for("a", "b")
    run.finish(scene.carry_out)

    assert scene.register().regions == ("a", "b")


def test_two_runs_carry_out_the_same_change() -> None:
    scene = Scene("a", "b")
    scene.reconcile()
    scene.ask_for("b", "d")
    runs = [scene.begin(), scene.begin()]
    while not all(run.ended for run in runs):
        for run in runs:
            if not run.ended:
                run.step(scene.carry_out)

    assert runs[0].result.register == runs[1].result.register == scene.register()
    assert scene.register().epoch == 2


def test_two_runs_create_the_same_counter() -> None:
    for steps in range(30):
        scene = Scene("a", "b")
        slow = scene.begin()
        for _ in range(steps):
            if not slow.ended:
                slow.step(scene.carry_out)
        scene.reconcile()

        assert slow.finish(scene.carry_out).register == scene.register()
        assert scene.register().epoch == 1


@pytest.mark.parametrize(
    "kind",
    [WriteArchive, PutItem, OpenItem, RecordLayouts, RenewItem, FenceItem, WriteRegister, WriteCopy],
    ids=lambda k: k.__name__,
)
def test_another_run_takes_over_wherever_one_ends(kind: type[Operation]) -> None:
    scene = Scene("a", "b")
    scene.reconcile()
    scene.ask_for("b", "d")
    run = scene.begin()
    run_to(run, kind, scene.carry_out)

    assert scene.reconcile().pending == ()
    assert scene.register().regions == ("b", "d")
    for _ in range(3):
        step_all(run, scene.carry_out)  # what was under way arrives late
    assert scene.reconcile().pending == ()


def test_a_leaving_region_is_closed_at_what_it_has_issued() -> None:
    scene = Scene("a", "b")
    scene.reconcile()
    scene.ask_for("a", leaving=["b"])
    outcome = scene.reconcile()
    item = scene.item("b")

    assert outcome.pending == ()
    assert (item.fenced, item.ceiling, item.epoch) == (True, item.issued, 2)
    assert scene.world.mint("b") is None


def test_a_register_is_put_back_from_the_mirror() -> None:
    scene = Scene("a", "b")
    scene.reconcile()
    lost = scene.register()
    scene.world.layouts = replace(scene.world.layouts, id="layouts 2", registers={})
    scene.world.layouts.record = replace(record("a", "b"), layouts_id="layouts 2")

    assert scene.reconcile().register == replace(lost, layouts_id="layouts 2")


def test_nothing_is_begun_without_a_record() -> None:
    scene = Scene("a")
    run = scene.begin()
    scene.world.layouts.record = None
    with pytest.raises(Refused, match="c: nothing is deployed yet"):
        run.finish(scene.carry_out)
    scene.world.layouts.record = record("a", layouts_id="layouts 0")
    with pytest.raises(Refused, match=r"Neither the layouts table \(layouts 1\) nor its mirror"):
        scene.reconcile()
    assert scene.written() == []


@pytest.mark.parametrize("whole", [True, False])
def test_a_counter_is_new_only_if_the_mirror_is_whole(whole: bool) -> None:
    scene = Scene("a")
    present = replace(record("a"), restored=True)
    scene.world.layouts.record = present
    if whole:
        scene.world.mirror.record = Copy(present, scene.world.mirror.id)
        assert scene.reconcile().created
    else:
        with pytest.raises(Refused, match="c: there was a register of this counter"):
            scene.reconcile()


def test_what_no_register_knows_needs_a_floor() -> None:
    scene = Scene("a", "b")
    scene.reconcile()
    scene.world.mint_block("b", 30)
    scene.world.layouts.registers.clear()
    scene.world.mirror = Mirror("mirror 2")
    before = scene.item("b")

    with pytest.raises(Refused, match="c: a, b already have an item of this counter"):
        scene.reconcile()
    assert scene.item("b") == before
    scene.ask_for("a", "b", floors={"c": 5})
    outcome = scene.reconcile()
    assert outcome.created
    assert outcome.register.base > 60 + 2 * HEADROOM
    assert outcome.register.epoch == NOW + 1, "past all epochs that anybody has seen; the items were adopted at NOW"


def test_a_region_that_is_ahead_needs_a_floor() -> None:
    scene = Scene("a", "b")
    scene.reconcile()
    ahead = Item(700, 2, 900, 5)
    scene.world.tables["b"].items["c"] = ahead

    with pytest.raises(Refused, match=r"c: b has an item of epoch 5, but the register is in epoch 1.* at least 701"):
        scene.reconcile()
    assert scene.item("b") == ahead
    scene.ask_for("a", "b", floors={"c": 800})
    outcome = scene.reconcile()
    assert (outcome.register.epoch, outcome.pending) == (NOW + 1, ())
    assert outcome.register.base > 700 + 2 * HEADROOM


def test_what_a_joining_region_has_is_fenced_beyond_a_floor() -> None:
    scene = Scene("a")
    scene.reconcile()
    scene.world.tables["d"].items["c"] = Item(700, 2, 900, 5)
    scene.ask_for("a", "d")
    with pytest.raises(Refused, match="c: d has an item of epoch 5"):
        scene.reconcile()

    scene.ask_for("a", "d", floors={"c": 100})
    scene.reconcile()
    scene.world.mint("d")
    assert scene.register().base > 700 + 2 * HEADROOM
    assert scene.item("d").issued >= scene.register().base


def test_a_change_waits_if_no_region_of_the_next_layout_answers() -> None:
    scene = Scene("a")
    scene.reconcile()
    scene.world.unreachable = {"b"}
    scene.ask_for("b")
    scene.written()

    with pytest.raises(Refused, match="c: none of b answers"):
        scene.reconcile()
    assert scene.written() == []
    assert scene.world.mint("a") == 1


def test_no_run_goes_on_for_ever() -> None:
    scene = Scene("a")

    def always_late(operation: Operation) -> Any:
        return False if isinstance(operation, WriteRegister) else scene.world.carry_out(operation)

    with pytest.raises(Refused, match="c: other runs were faster 100 times"):
        scene.begin().finish(always_late)


def test_a_copy_is_compared_with_the_mirrors_table() -> None:
    scene = Scene("a")
    scene.reconcile()
    scene.world.mirror = Mirror("mirror 2", copies={"c": Copy(scene.register(), "mirror 1")})
    scene.written()

    scene.reconcile()
    assert scene.written() == ["WriteCopy"]
    assert scene.world.mirror.copies["c"] == Copy(scene.register(), "mirror 2")
    assert scene.world.carry_out(ReadRegister("c")) == scene.register()


def test_a_region_that_fails_in_the_middle_is_pending() -> None:
    scene = Scene("a", "b")
    run = scene.begin()
    run_to(run, RecordLayouts, scene.carry_out)
    scene.world.unreachable = {"b"}
    outcome = run.finish(scene.carry_out)

    assert outcome.pending == ("b",)
    assert scene.item("a").opening is None
    assert scene.world.carry_out(ReadItem("b", "c")) is Absent.UNREACHABLE
    assert RaiseItem not in {type(write) for write in scene.writes}


def lost_register(*regions: str, **settings: Any) -> Scene:
    """Return a scene in which the register and its copy are lost, and a floor is set."""
    scene = Scene(*regions)
    scene.reconcile()
    scene.world.layouts.registers.clear()
    scene.world.mirror.copies.clear()
    scene.ask_for(*regions, floors={"c": 5}, **settings)
    scene.written()
    return scene


def test_what_no_register_knows_is_adopted_before_it_is_fenced() -> None:
    scene = lost_register("a", "b")
    ceilings = [scene.item(region).ceiling for region in "ab"]
    run = scene.begin()
    run_to(run, FenceItem, scene.carry_out)

    adopted = scene.register()
    assert scene.written() == [
        *["AdoptItem a", "AdoptItem b"],
        *["WriteRegister", "WriteCopy"],
        *["WriteRegister", "WriteCopy"],  # as they are
    ]
    assert [scene.item(region) for region in "ab"] == [
        Item(-1, 2, ceilings[0], NOW),
        Item(0, 2, ceilings[1], NOW),
    ]
    assert (adopted.epoch, adopted.window, adopted.limit, adopted.ids) == (NOW, 0, max(ceilings), ("a 2", "b 3"))
    run.finish(scene.carry_out)
    assert (scene.register().epoch, scene.register().base) == (NOW + 1, 1 + 2 * HEADROOM)
    recorded = [scene.world.receipts[region].recorded["c"].layouts for region in "ab"]
    assert recorded == [(scene.register().layout,)] * 2, "nobody knows by what layout the items minted"


def test_what_is_adopted_is_bounded_though_a_region_is_gone_then() -> None:
    scene = lost_register("a", "b")
    run = scene.begin()
    run_to(run, FenceItem, scene.carry_out)
    scene.world.unreachable = {"b"}
    run.finish(scene.carry_out)

    assert scene.register().base == 2 * WINDOW + 1, "above all that it may mint"


def test_a_region_unreachable_before_it_is_adopted_stops_nobody() -> None:
    scene = lost_register("a", "b")
    run = scene.begin()
    run_to(run, AdoptItem, scene.carry_out)
    scene.world.unreachable = {"b"}

    with pytest.raises(Refused, match="c: b must answer, with an item that can be read: a floor"):
        run.finish(scene.carry_out)
    assert scene.world.layouts.registers == {}
    assert scene.world.mint("a") is not None
    assert scene.world.mint("b") is not None
    scene.world.unreachable = set()
    assert scene.reconcile(NOW + 60).pending == ()


def test_an_item_that_was_never_opened_is_adopted_below_its_epoch() -> None:
    scene = lost_register("a", "b")
    token = "a killed run's"  # noqa: S105
    scene.world.tables["b"].items["c"] = Item(0, 2, 0, 1, fenced=True, opening=token)

    assert scene.reconcile().pending == ()
    assert not scene.world.carry_out(OpenItem("b", "c", token, 9_999))


def test_an_item_that_changes_meanwhile_is_adopted_all_the_same() -> None:
    scene = lost_register("a", "b")
    run = scene.begin()
    run_to(run, AdoptItem, scene.carry_out)
    scene.world.tables["b"].items["c"] = replace(scene.item("b"), epoch=7, ceiling=5_001)
    run.finish(scene.carry_out)

    assert scene.written().count("AdoptItem b") == 2
    assert scene.item("b").epoch == scene.register().epoch == NOW + 1


def test_a_later_epoch_though_the_clock_was_set_back() -> None:
    scene = lost_register("a", "b")
    scene.world.tables["b"].items["c"] = replace(scene.item("b"), epoch=700)

    assert scene.reconcile(now=5).register.epoch == 700 + EPOCHS_SKIPPED + 1


def test_a_counter_without_a_trace_begins_where_the_record_says() -> None:
    """After a loss of everything, a new counter may be an old one."""
    scene = Scene("a", "b")
    assert scene.world.layouts.record is not None
    scene.world.layouts.record = replace(scene.world.layouts.record, first_epoch=NOW, first_base=5_000)

    outcome = scene.reconcile(NOW + 60)
    assert outcome.created
    assert (outcome.register.epoch, outcome.register.base, outcome.register.limit) == (NOW, 5_000, 4_999 + 2 * WINDOW)


@pytest.mark.parametrize("kind", [WriteRegister, WriteCopy])
def test_where_the_next_register_cannot_be_written_nobody_is_fenced(kind: type[Operation]) -> None:
    scene = Scene("a", "b")
    scene.reconcile()
    scene.ask_for("b", "d")
    scene.written()

    def refuse(operation: Operation) -> Any:
        if isinstance(operation, kind):
            raise Refused("home: AccessDeniedException")
        return scene.carry_out(operation)

    with pytest.raises(Refused, match="AccessDenied"):
        scene.begin().finish(refuse)
    assert [scene.item(region).fenced for region in "ab"] == [False, False]
    assert not {"FenceItem a", "FenceItem b"} & {*scene.written()}
