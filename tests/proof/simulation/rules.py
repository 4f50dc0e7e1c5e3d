"""Rules of the protocol that are no condition of a write. Each can be taken out, to see that it is needed.

Without one of `PROTOCOL`, the protocol's own functions are others. Without one of `WORLD`, the tables or the program
that deploys don't do what the protocol relies on. Without one of `ALIVE`, a simpler program is at work, and in the end
something is stuck.
"""

from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

from coordinate.protocol import admit, epochs, plan, reconcile, run, scan
from coordinate.protocol import operations as op
from coordinate.protocol.model import (
    Absent,
    Copy,
    DeploymentRecord,
    DesiredState,
    Item,
    ItemState,
    Refused,
    Register,
    Scanned,
)

from global_integers_core.lattice import MAX_INTEGER
from global_integers_core.records import RECORD_KEY
from proof.simulation import deployments
from proof.simulation.checks import CheckedWorld
from proof.simulation.deployments import SimulatedPulumi
from proof.simulation.network import Network
from proof.simulation.world import LAYOUTS, MIRROR, RECEIPTS, World, kind_of

Function = Callable[..., Any]
Patches = dict[str, tuple[tuple[Any, ...], str, Callable[[Any], Any]]]
"""Each rule: where a function is another one without it, the function's name, and what makes the other one of it."""


def _always(value: Any) -> Callable[[Function], Function]:
    return lambda _: lambda *_args, **_named: copy(value)  # a rule may write into its answer


def _changed(items: Mapping[str, Any], change: Callable[[str, Item], Mapping[str, Any]]) -> dict[str, Any]:
    return {name: replace(it, **change(name, it)) if isinstance(it, Item) else it for name, it in items.items()}


def _seeing(change: Callable[[Register, str, Item], Mapping[str, Any]]) -> Callable[[Function], Function]:
    """Return what lets the plan see items that are changed."""

    def patched(plan: Function) -> Function:
        def planned(register: Register, record: DeploymentRecord, items: Any, *args: Any) -> Any:
            return plan(register, record, _changed(items, partial(change, register)), *args)

        return planned

    return patched


def _older_ones_stay(register: Register, region: str, item: Item) -> Mapping[str, Any]:
    older = item.epoch < register.epoch or region not in register.regions
    return {"ceiling": min(item.ceiling, register.base - 1)} if older else {}


def _limit_stays(register: Register, _region: str, item: Item) -> Mapping[str, Any]:
    return {} if register.lost else {"ceiling": min(item.ceiling, register.limit)}


def _joined(register: Register, region: str, _item: Item) -> Mapping[str, Any]:
    known = dict(zip(register.regions, register.ids, strict=True))
    return {} if known.get(region) else {"held": "?"}


def _any_answer(step: Function) -> Function:
    def stepped(self: Any, token: str) -> Any:
        if self._record.answered and self._observation.register.lost:
            self._record = replace(self._record, answered=self._observation.register.lost)
        return step(self, token)

    return stepped


def _answered(**otherwise: Any) -> Callable[[Function], Function]:
    return lambda answer: lambda *args: replace(answer(*args), **otherwise)


def _first(**otherwise: Any) -> Callable[[Function], Function]:
    def patched(first: Function) -> Function:
        def begun(*args: Any) -> op.Steps[Any]:
            steps: op.Steps[Any] = first(*args)
            found = yield from steps
            return replace(found, **otherwise) if isinstance(found, DeploymentRecord) else found

        return begun

    return patched


def _scan_those_that_answer(_: Function) -> Function:
    def scanned(desired: DesiredState) -> op.Steps[dict[str, Scanned]]:
        regions = (*desired.regions, *desired.leaving)
        found = yield [op.ScanItems(region) for region in regions]
        return {name: {} if it is Absent.UNREACHABLE else it for name, it in zip(regions, found, strict=True)}

    return scanned


def _some_fenced(fence: Function) -> Function:
    def fenced(*args: Any, into: bool = False) -> op.Steps[dict[str, Item]]:
        steps: op.Steps[dict[str, Item]] = fence(*args, into=into)
        done = yield from steps
        return {**(args[1] if into else {}), **done}

    return fenced


def _lost_in(epoch: Callable[[int, int], int]) -> Callable[[Function], Function]:
    """Return what puts a lost register into another epoch, by the latest that is left of it, and by the time."""

    def patched(lost_register: Function) -> Function:
        def lost(new: Register, loss: str, left: Any, now: int) -> Register:
            known = [*left]
            latest = max((each.epoch for each in known), default=0)
            return replace(lost_register(new, loss, known, now), epoch=epoch(latest, now))

        return lost

    return patched


def _only_where_it_was(plan_deleted: Function) -> Function:
    def seen(register: Register, record: DeploymentRecord, items: Any, *args: Any, wanted: bool) -> Any:
        there = {region: item for region, item in items.items() if item is not None}
        return plan_deleted(register, record, there, *args, wanted=wanted)

    return seen


def _without_copy(is_lost: Function) -> Function:
    def lost(register: Any, _copy: Any, layouts_id: str, mirror_id: str) -> Any:
        return register is not None and is_lost(register, Copy(register, mirror_id), layouts_id, mirror_id)

    return lost


def _not_doubted(begin: Function) -> Function:
    return lambda *args, **_: begin(*args, doubted=False)


def _same_loss(_: Function) -> Function:
    def loss_id(run: str, _: DeploymentRecord) -> str:
        return f"loss-{run}"

    return loss_id


def _nothing_scanned(reconcile: Function) -> Function:
    return lambda *args: reconcile(*args[:-1])


def _nothing_to_put_back(*_: Any) -> op.Steps[bool]:
    yield from ()
    return True


STATE = reconcile._State  # pyright: ignore[reportPrivateUsage]

PROTOCOL: Patches = {
    "answer: only of its own loss": ((STATE,), "step", _any_answer),
    "answer: the base lies above it": ((admit,), "_answer", _answered(above=0)),
    "answer: what begins later begins above": ((admit,), "_first", _first(first_base=1)),
    "answer: what begins later has an epoch of its own": ((admit,), "_first", _first(first_epoch=1)),
    "first: every region has answered": ((admit,), "_scan_items", _scan_those_that_answer),
    "first: what is left": ((admit,), "where", _always(dict[str, Any]())),
    "loss: an id of its own": ((admit, reconcile), "loss_id", _always("loss")),
    "loss: another id after an answer": ((admit, reconcile), "loss_id", _same_loss),
    "loss: every region answers": ((plan,), "unanswering", _always(())),
    "loss: every item is fenced": ((epochs,), "fence", _some_fenced),
    "loss: an epoch above the clock": ((admit, reconcile), "lost_register", _lost_in(lambda latest, _: 1 + latest)),
    "loss: an epoch above all that is left": ((admit, reconcile), "lost_register", _lost_in(lambda _, now: now)),
    "loss: its copy before the record": ((admit,), "_is_lost", _without_copy),
    "older item: ends the epoch": ((reconcile, scan), "plan", _seeing(_older_ones_stay)),
    "open item: only where the register names its table": ((reconcile, scan), "plan", _seeing(_joined)),
    "limit: raised to what is found": ((reconcile, scan), "plan", _seeing(_limit_stays)),
    "deleted: in every table": ((plan,), "_plan_deleted", _only_where_it_was),
    "copy: put back if it is ahead": ((Register,), "is_ahead_of", _always(False)),
    "put back: registers before the record": ((admit,), "_put_back", lambda _: _nothing_to_put_back),
    "find: only what is fresh begins again": ((Register,), "is_fresh", _always(True)),
    "new: nothing is where another counter still is": ((run,), "reconcile", _nothing_scanned),
    "new: only if it wasn't reported": ((DeploymentRecord,), "has_reported", _always(False)),
    "went back: above the limit": ((reconcile,), "begin_next_epoch", _not_doubted),
}


def _otherwise(do: Callable[[CheckedWorld, op.Operation, Function], Any]) -> Callable[[Function], Function]:
    """Return what makes a world carry out operations otherwise, by the function that carries them out."""

    def patched(carry_out: Function) -> Function:
        def carried_out(world: CheckedWorld, operation: op.Operation) -> Any:
            return do(world, operation, partial(carry_out, world))

        return carried_out

    return patched


def _open_without_a_limit(_: CheckedWorld, operation: op.Operation, carry_out: Function) -> Any:
    if isinstance(operation, op.OpenItem):
        item = operation.item
        most = MAX_INTEGER - (MAX_INTEGER - item.ceiling) % item.stride
        operation = replace(operation, item=replace(item, ceiling=most))
    return carry_out(operation)


def _grow_by_any_time(_: CheckedWorld, operation: op.Operation, carry_out: Function) -> Any:
    """Let a window grow by the rate of whatever time has passed, as if that were a run a minute."""
    match operation:
        case op.WriteRegister(Register() as old, new) if new.epoch == old.epoch and new.limit > old.limit:
            grown = old.window * 180 // max(new.granted - old.granted, 1)
            if grown > new.window:
                wider = replace(new, window=grown, limit=new.limit + grown * len(new.regions))
                operation = replace(operation, new=wider)
        case _:
            pass
    return carry_out(operation)


def _first_id(kind: type[op.Operation]) -> Callable[[Function], Function]:
    def described(_: CheckedWorld, operation: op.Operation, carry_out: Function) -> Any:
        found = carry_out(operation)
        return found.split()[0] if isinstance(operation, kind) and isinstance(found, str) else found

    return _otherwise(described)


def _refuse_stray(_: CheckedWorld, operation: op.Operation, carry_out: Function) -> Any:
    found = carry_out(operation)
    scans = isinstance(operation, op.ScanItems | op.ScanRegisters | op.ScanCopies)
    if scans and not isinstance(found, Absent) and Absent.STRAY in found.values():
        raise Refused("an item can't be read")
    return found


def _refuse_unreachable(_: CheckedWorld, operation: op.Operation, carry_out: Function) -> Any:
    found = carry_out(operation)
    if isinstance(operation, op.ScanItems) and found is Absent.UNREACHABLE:
        raise Refused(f"{operation.region}: DynamoDB refused a call")
    return found


def _nothing_on_record(_: CheckedWorld, operation: op.Operation, carry_out: Function) -> Any:
    return None if isinstance(operation, op.ReadRecorded) else carry_out(operation)


def _no_first_copy(world: CheckedWorld, operation: op.Operation, carry_out: Function) -> Any:
    return True if isinstance(operation, op.WriteRecordCopy) and world.record is None else carry_out(operation)


def _copy_untried(_: CheckedWorld, operation: op.Operation, carry_out: Function) -> Any:
    return (isinstance(operation, op.WriteCopy) and operation.old == operation.new) or carry_out(operation)


def _held_when_fenced(world: CheckedWorld, operation: op.Operation, carry_out: Function) -> Any:
    """Let an item that is held when it is fenced be held on, by another token."""
    match operation:
        case op.FenceItem(region, counter, over, epoch) if over.held:
            held = carry_out(op.HoldItem(region, counter, ItemState(epoch, "fence"), over))
            item = world.item(region, counter)
            return item.ceiling if held is True and item else held
        case _:
            return carry_out(operation)


def _absolute_fences(carry_out: Function) -> Function:
    """Let a fence be at what the item had issued when it was read, plus a distance: here, none at all."""
    read: dict[tuple[str, str], int] = {}

    def fence(world: CheckedWorld, operation: op.Operation) -> Any:
        match operation:
            case op.ReadItem(region) | op.OpenItem(region) | op.ScanItems(region):
                read.update({(region, counter): item.issued for counter, item in world.items(region).items()})
            case op.FenceItem(region, counter):
                item = world.item(region, counter)
                if item is None or read.get((region, counter)) != item.issued:
                    return False
            case _:
                pass
        return carry_out(world, operation)

    return fence


def _older_mirror(lose: Function) -> Function:
    """When the layouts table is lost, the mirror is as it was before the last writes, but for the record."""

    def lost(world: Any, name: str, *how: Any) -> None:
        lose(world, name, *how)
        if name == LAYOUTS:
            before, record = world.backups.get(MIRROR, [{}])[-2:][0], world.mirror.items.get(RECORD_KEY)
            world.mirror.items = {**before, **({RECORD_KEY: record} if record else {})}

    return lost


def _forgetful(up: Function) -> Function:
    def deployed(pulumi: Any, *args: Any, **options: Any) -> Any:
        pulumi.first = ""
        return up(pulumi, *args, **options)

    return deployed


def _by_the_record_before(event: Function) -> Function:
    def sent(asked: Any, record: Any, copy: Any, now: int, former: Any) -> str:
        return event(asked, *((None, record) if record else (record, copy)), now, former)

    return sent


def _gives_up(throttled: Function) -> Function:
    def gave_up(network: Any, region: str, operation: op.Operation, run: object) -> bool:
        if throttled(network, region, operation, run):
            network._given_up.add((run, region))
        return (run, region) in network._given_up

    return gave_up


def _receipts_stop_regions(denied: Function) -> Function:
    def stops(network: Any, region: str, operation: op.Operation) -> bool:
        receipts = network._world.denied.get(f"{RECEIPTS} {region}") if isinstance(operation, op.OnRecord) else None
        return denied(network, region, operation) or receipts == kind_of(operation)

    return stops


CARRY_OUT = (CheckedWorld,), "carry_out"

WORLD: Patches = {
    "fence: held by nobody": (*CARRY_OUT, _otherwise(_held_when_fenced)),
    "limit: no ceiling above it": (*CARRY_OUT, _otherwise(_open_without_a_limit)),
    "new: nothing is on record": (*CARRY_OUT, _otherwise(_nothing_on_record)),
    "identity: of a counters table": (*CARRY_OUT, _first_id(op.DescribeTable)),
    "identity: of the layouts table": (*CARRY_OUT, _first_id(op.DescribeLayouts)),
    "identity: of the mirror": (*CARRY_OUT, _first_id(op.DescribeMirror)),
    "mirror: written before anything is done": ((CheckedWorld,), "lose", _older_mirror),
    "first: what Pulumi remembers": ((SimulatedPulumi,), "up", _forgetful),
}

ALIVE: Patches = {
    "event: the record's own": ((deployments,), "event", _by_the_record_before),
    "throttled: only that item": ((Network,), "_is_throttled", _gives_up),
    "fence: relative": (*CARRY_OUT, _absolute_fences),
    "stray: stops nobody": (*CARRY_OUT, _otherwise(_refuse_stray)),
    "unreachable: stops nobody": (*CARRY_OUT, _otherwise(_refuse_unreachable)),
    "mirror: has the first record": (*CARRY_OUT, _otherwise(_no_first_copy)),
    "fence: only if the next register can be written": (*CARRY_OUT, _otherwise(_copy_untried)),
    "window: no rate by a short time": (*CARRY_OUT, _otherwise(_grow_by_any_time)),
    "receipts: stop no region": ((Network,), "_is_denied", _receipts_stop_regions),
}

RULES = PROTOCOL | WORLD | ALIVE


@contextmanager
def taken_out(rule: str) -> Generator[None]:
    """Run the simulation without this rule, or without this condition of a write."""
    with ExitStack() as stack:
        owners, name, change = RULES.get(rule, ((World,), "without", lambda _: rule))
        for owner in owners:
            stack.enter_context(patch.object(owner, name, change(getattr(owner, name))))
        yield
