"""Schedules that random ones seldom meet: what goes wrong with a rule taken out (`rules.py`), and doesn't with it."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Any

from coordinate.protocol import operations as op
from coordinate.protocol.admit import admit
from coordinate.protocol.model import Copy, Refused
from coordinate.protocol.run import Create, Grant, ScheduledRun

from proof.simulation.checks import CheckedWorld, MintedTwice
from proof.simulation.coordinator import Conflict, SimulatedCoordinator
from tests.lambda_.coordinate.interrupted_runs import run_to, step_all
from tests.lambda_.coordinate.simulated_runs import begun, deployed, deployment, scheduled_run
from tests.proof.simulation.by_hand import (
    answer,
    create,
    created,
    delete,
    finish,
    forget,
    go_on_without_a,
    mint,
    mint_all,
    minting,
    raise_in_a,
    settling,
    stopped_before,
    two_regions,
)


def an_old_answer() -> None:
    """A second loss, for which the number of the first one is too low, would go on by it."""
    world = minting("a")
    first = stopped_before(world, op.OpenItem, answer(world, "a", forget(world), 50))
    step_all(first, world.carry_out)  # it ends before all is reconciled, so its answer still counts
    mint_all(world, "a", most=5)
    world.lose("a", "recreated", Random(0))
    forget(world)
    finish(begun(ScheduledRun(), "schedule"), world=world)
    mint_all(world, "a", most=5)


def a_region_that_stops_answering() -> None:
    """It isn't fenced, so a raise from before the loss, which arrives late, lifts its ceiling above the answer."""
    world = minting("a", "b", most=1_000)
    late = stopped_before(world, op.RaiseItem, settling(world, "late"))
    answered = answer(world, "ba", forget(world), max(world.items(region)["c"].ceiling for region in "ab"))
    run_to(answered, op.TakeRunLock, world.carry_out)
    world.unreachable.add("b")
    finish(answered, world=world)
    world.unreachable.clear()
    step_all(late, world.carry_out)
    world.warm.clear()
    mint_all(world, "b", "a", most=1_000)


def a_fence_that_fails() -> None:
    """A raise from before the loss arrives late, and lifts the old ceiling."""
    world = minting("a", "b", most=1_000)
    late = stopped_before(world, op.RaiseItem, settling(world, "late"))
    recovering = stopped_before(world, op.FenceItem, answer(world, "ba", forget(world)))
    world.denied["b"] = "writes"
    finish(recovering, world=world)
    world.denied.clear()
    step_all(late, world.carry_out)
    mint_all(world, "b", "a")


def a_clock_that_was_set_back() -> None:
    """A register in an epoch before those of the items would be lost again and again."""
    world = minting("a")
    answer(world, "a", forget(world)).finish(world.carry_out)
    world.now -= 10_000
    answer(world, "a", forget(world)).finish(world.carry_out)
    mint_all(world, "a", most=1)


def a_loss_while_another_one_is_answered() -> None:
    """The record says that a loss was answered, and no copy says that a register was lost by it: so it asks again."""
    world = minting("a")
    for name in ("layouts", "mirror"):
        world.lose(name, "recreated", Random(0))
    run_to(deployment(world, "a", "finding"), op.WriteCopy, world.carry_out)
    for _ in range(2):  # what the first one was told isn't known
        with suppress(Refused):
            run_to(answer(world, "a", world.registers["c"].lost), op.TakeRunLock, world.carry_out)
    world.lose("layouts", "recreated", Random(0))
    scheduled_run(world)


def a_table_that_has_left() -> None:
    """A restored table of a region that leaves has minted what the present epoch would mint."""
    world = minting("a", "b")
    world.keep("b")
    deployed(world, "a", leaving="b")
    world.lose("b", "restored", Random(0))
    world.restart("b")
    mint_all(world, "b")
    scheduled_run(world)
    world.seen_to("b")
    mint_all(world, "a")


def a_deleted_counter_in_a_restored_table() -> None:
    """It mints above the limit of the deleted counter before a run holds it. Then the table is lost once more."""
    world = created("a", "b")
    world.keep("a")
    delete(world)
    top = max(integer for counter, integer in world.minted if counter == "e")
    answer(world, "ab", forget(world, "e"), top).finish(world.carry_out)
    world.lose("a", "restored", Random(0))
    world.restart("a")
    mint(world)
    for name in ("holds", "raises"):
        scheduled_run(world, name)
    world.seen_to("a")
    world.lose("a", "recreated", Random(0))
    create(world)
    mint(world)


def an_older_register() -> None:
    """Somebody has put back an older register. The copy knows the limit, which may have been minted up to."""
    world = minting("a", "b", most=1_000)
    old = world.registers["c"]
    raise_in_a(world)
    world.registers["c"] = old
    go_on_without_a(world)


def an_older_register_and_its_copy() -> None:
    """They are from before any item was opened. Their limit isn't the one that regions were given."""
    world = two_regions()
    first = stopped_before(world, op.HoldItem, deployment(world, "ab", "first"))
    old = world.registers["c"]
    first.finish(world.carry_out)
    mint_all(world, "a")
    scheduled_run(world)  # raises the limit
    mint_all(world, "a")
    world.registers["c"] = old
    world.copies["c"] = Copy(old, world.mirror.id)
    world.unreachable.add("a")
    finish(deployment(world, "b", "change"), world=world)
    mint_all(world, "b")


def a_mirror_that_is_lost_when_the_record_is_back() -> None:
    """It was the only one that knew what the layouts table lacked."""
    world = created("a")
    world.lose("layouts", "recreated", Random(0))
    SimulatedCoordinator(admit(None, "restoring")).finish(world.carry_out)
    for name in ("mirror", "a", "receipts a"):
        world.lose(name, "recreated", Random(0))
    world.warm.clear()
    for name in ("first", "second"):
        with suppress(Refused):
            scheduled_run(world, name)
    finish(begun(Create(("e",)), "creation"), world=world)
    mint(world)


def a_copy_that_is_deleted() -> None:
    """Somebody has deleted a counter's copy before the layouts table was lost, and its items, too. It isn't new."""
    world = minting("a")
    for name in ("layouts", "a", "receipts a"):
        world.lose(name, "recreated", Random(0))
    del world.copies["c"]
    world.warm.clear()
    finish(begun(ScheduledRun(), "schedule"), world=world)
    world.warm.clear()
    mint_all(world, "a")


def a_table_that_went_back() -> None:
    """Somebody has put back an older item, in place. What it shows as issued is too low."""
    world = minting("a")
    old = world.items("a")["c"]
    mint_all(world, "a", most=5)
    world.items("a")["c"] = replace(old)
    request = Grant("c", went_back=1)
    begun(request, "asking").finish(world.carry_out)
    world.restart("a")
    mint_all(world, "a", most=5)


def a_deleted_counter_without_its_tables() -> None:
    """Every table that had its items was lost and healed. Then its register and the copy are lost."""
    world = created("a", "b")
    delete(world)
    for region in "ab":
        for name in (region, f"receipts {region}"):
            world.lose(name, "recreated", Random(0))
        scheduled_run(world, world.new_id("healing"))
    forget(world, "e")
    mint(world)


def two_losses_in_one_run() -> None:
    """The first one is answered before the run finds the second one, by which more was minted."""
    world, counters = CheckedWorld(), ("c", "d")
    world.make_table("a")
    deployment(world, "a", "first", counters=counters).finish(world.carry_out)
    for counter in counters:
        world.mint_block("a", 9, counter)  # the next run raises both limits
    del world.registers["c"], world.copies["c"]

    def only_c(operation: op.Operation) -> Any:
        if getattr(operation, "counter", getattr(getattr(operation, "new", None), "counter", "c")) == "d":
            raise Conflict
        return world.carry_out(operation)

    late = begun(ScheduledRun(), "late")
    while "c" not in world.copies:
        late.step(only_c)
    tops = [item.ceiling for item in world.items("a").values()]
    recovery = {"loss": world.registers["c"].lost, "above": max(tops)}
    answered = deployment(world, "a", "answer", counters=counters, recovery=recovery)
    run_to(answered, op.TakeRunLock, world.carry_out)
    for number in range(4):
        begun(Grant("d", 20), f"grant {number}").finish(world.carry_out)
        world.mint_block("a", 20, "d")
    del world.registers["d"], world.copies["d"]
    world.lose("a", "recreated", Random(0))
    world.warm.clear()
    finish(late, world=world)
    finish(begun(ScheduledRun(), "schedule"), world=world)
    world.mint("a", "d")


def a_copy_of_an_older_register_that_is_deleted() -> None:
    """The layouts table is an older one, with a register. Somebody has deleted the copy, and the items are lost."""
    world = created("a", most=9)
    world.keep("layouts")
    scheduled_run(world, "raising")
    mint(world, 9)
    world.lose("layouts", "restored", Random(0))
    del world.copies["e"]
    for name in ("a", "receipts a"):
        world.lose(name, "recreated", Random(0))
    finish(begun(ScheduledRun(), "schedule"), world=world)
    world.warm.clear()
    mint(world, 20)


def a_counter_that_is_only_on_record() -> None:
    """A caller's counter: its register, the copy and its only table are lost. Another counter's loss was answered."""
    world = created("a")
    answer(world, "a", forget(world)).finish(world.carry_out)
    world.lose("a", "recreated", Random(0))
    forget(world, "e")
    mint(world)


def a_region_that_is_dropped_at_once() -> None:
    """A caller's counter: its register and the copy are lost. Other registers name the region that is replaced."""
    world = created("b")
    del world.registers["e"], world.copies["e"]
    world.make_table("a")
    finish(deployment(world, "a", "replacing"), world=world)
    for name in ("b", "receipts b"):
        world.delete(name)
    world.warm.clear()
    finish(begun(Create(("e",)), "creation"), world=world)
    mint(world)


def a_copy_that_is_written_too_late() -> None:
    """The mirror lacks a limit up to which a region has minted. The layouts table is lost, and this region is away."""
    world = minting("a", "b", most=1_000)
    raise_in_a(world)
    world.lose("layouts", "recreated", Random(0))
    go_on_without_a(world)


def an_opening_of_what_was_fenced_meanwhile() -> None:
    """A run reads an item that is still held just after it was fenced, and opens it after the next epoch has begun."""
    world = two_regions()
    first = stopped_before(world, op.OpenItem, deployment(world, "ab", "first"))
    world.carry_out(_openings(first)["a"])
    mint_all(world, "a", most=2)
    late = stopped_before(world, op.ReadItem, begun(Grant("c", 1), "late"))
    late.step(world.carry_out)  # it reads a's item
    second = stopped_before(world, op.OpenItem, deployment(world, "ba", "second"))
    world.carry_out(_openings(second)["a"])
    run_to(late, op.OpenItem, world.carry_out)
    world.carry_out(_openings(late)["b"])
    mint_all(world, "b", "a")


def _openings(coordinator: SimulatedCoordinator) -> dict[str, op.Operation]:
    return {opening.region: opening for *_, opening in coordinator.todo if isinstance(opening, op.OpenItem)}


BY_HAND: dict[str, tuple[Callable[[], None], type[Exception]]] = {
    "answer: only of its own loss": (an_old_answer, MintedTwice),
    "loss: an id of its own": (an_old_answer, MintedTwice),
    "loss: another id after an answer": (two_losses_in_one_run, MintedTwice),
    "new: nothing is on record": (a_counter_that_is_only_on_record, MintedTwice),
    "loss: every region answers": (a_region_that_stops_answering, MintedTwice),
    "loss: every item is fenced": (a_fence_that_fails, MintedTwice),
    "loss: an epoch above all that is left": (a_clock_that_was_set_back, Refused),
    "loss: its copy before the record": (a_loss_while_another_one_is_answered, Refused),
    "older item: ends the epoch": (a_table_that_has_left, MintedTwice),
    "limit: raised to what is found": (a_deleted_counter_in_a_restored_table, MintedTwice),
    "deleted: in every table": (a_deleted_counter_without_its_tables, MintedTwice),
    "copy: put back if it is ahead": (an_older_register, MintedTwice),
    "open item: only where the register names its table": (an_older_register_and_its_copy, MintedTwice),
    "put back: registers before the record": (a_mirror_that_is_lost_when_the_record_is_back, MintedTwice),
    "find: only what is fresh begins again": (a_copy_of_an_older_register_that_is_deleted, MintedTwice),
    "new: nothing is where another counter still is": (a_region_that_is_dropped_at_once, MintedTwice),
    "new: only if it wasn't reported": (a_copy_that_is_deleted, MintedTwice),
    "mirror: written before anything is done": (a_copy_that_is_written_too_late, MintedTwice),
    "fence: held by nobody": (an_opening_of_what_was_fenced_meanwhile, MintedTwice),
    "went back: above the limit": (a_table_that_went_back, MintedTwice),
}
"""Rule → a schedule, and what goes wrong in it without the rule."""
