"""Rules of the protocol that are no condition of a write. Each can be taken out, to see that it is needed."""

from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from coordinate.protocol import admit, epochs, reconcile, scan
from coordinate.protocol import operations as op
from coordinate.protocol.model import Absent, Copy, DeploymentRecord, DesiredState, Item, Register, Scanned

Function = Callable[..., Any]


def _always(value: Any) -> Callable[[Function], Function]:
    return lambda _: lambda *_args, **_named: value


def _changed(items: Mapping[str, Any], change: Callable[[str, Item], Mapping[str, Any]]) -> dict[str, Any]:
    return {name: replace(it, **change(name, it)) if isinstance(it, Item) else it for name, it in items.items()}


def _unchanged(_region: str, _item: Item) -> Mapping[str, Any]:
    return {}


def _any_answer(step: Function) -> Function:
    def stepped(self: Any, token: str) -> Any:
        if self._record.answered and self._observation.register.lost:
            self._record = replace(self._record, answered=self._observation.register.lost)
        return step(self, token)

    return stepped


def _answered(**otherwise: int) -> Callable[[Function], Function]:
    def patched(answer: Function) -> Function:
        def answered(*args: Any) -> op.Steps[DeploymentRecord]:
            steps: op.Steps[DeploymentRecord] = answer(*args)
            found = yield from steps
            return replace(found, **otherwise)

        return answered

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
        return {**(_changed(args[1], _unchanged) if into else {}), **done}

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


def _older_ones_stay(plan: Function) -> Function:
    def planned(register: Register, record: DeploymentRecord, items: Any, *args: Any) -> Any:
        def below(region: str, item: Item) -> dict[str, int]:
            older = item.epoch < register.epoch or region not in register.regions
            return {"ceiling": min(item.ceiling, register.base - 1)} if older else {}

        return plan(register, record, _changed(items, below), *args)

    return planned


def _traces(change: Callable[[str | None], Mapping[str, Any]]) -> Callable[[Function], Function]:
    """Return what looks at other items than are there, by the ids of their tables."""

    def patched(shows_no_trace: Function) -> Function:
        def shown(regions: Any, items: Any, ids: Any) -> Any:
            return shows_no_trace(regions, _changed(items, lambda region, _: change(ids.get(region))), ids)

        return shown

    return patched


def _limit_stays(deleted: Function) -> Function:
    def kept(self: Any, register: Register, items: Any, found: Any) -> Any:
        low = found if register.lost else _changed(found, lambda _, it: {"ceiling": min(it.ceiling, register.limit)})
        return deleted(self, register, items, low)

    return kept


def _without_copy(is_lost: Function) -> Function:
    def lost(register: Any, _copy: Any, layouts_id: str, mirror_id: str) -> Any:
        return is_lost(register, Copy(register, mirror_id), layouts_id, mirror_id)

    return lost


def _not_doubted(begin: Function) -> Function:
    return lambda *args, **_: begin(*args, doubted=False)


def _joined(plan: Function) -> Function:
    def planned(register: Register, record: DeploymentRecord, items: Any, *args: Any) -> Any:
        known = dict(zip(register.regions, register.ids, strict=True))
        return plan(register, record, _changed(items, lambda name, _: {} if known.get(name) else {"held": "?"}), *args)

    return planned


def _same_token(ending: Function) -> Function:
    def ended(region: str, counter: str, item: Item, epoch: int, token: str, *headroom: int) -> Any:
        return ending(region, counter, item, epoch, item.held or token, *headroom)

    return ended


def _is_whole(_: DeploymentRecord) -> op.Steps[bool]:
    yield from ()
    return True


STATE = reconcile._State  # pyright: ignore[reportPrivateUsage]

PATCHES: dict[str, tuple[tuple[Any, ...], str, Callable[[Function], Function]]] = {
    "answer: only of its own loss": ((STATE,), "step", _any_answer),
    "answer: the base lies above it": ((admit,), "_answer", _answered(above=0)),
    "answer: what begins later begins above": ((admit,), "_answer", _answered(first_base=1)),
    "answer: what begins later has an epoch of its own": ((admit,), "_answer", _answered(first_epoch=1)),
    "first: every region has answered": ((admit,), "_scan_items", _scan_those_that_answer),
    "first: what is left": ((admit,), "where", lambda _: lambda *_: {}),
    "loss: an id of its own": ((admit, reconcile), "loss_id", _always("loss")),
    "loss: every region answers": ((epochs, reconcile), "check_answers", _always(None)),
    "loss: every item is fenced": ((epochs,), "fence", _some_fenced),
    "loss: an epoch above the clock": ((admit, reconcile), "lost_register", _lost_in(lambda latest, _: 1 + latest)),
    "loss: an epoch above all that is left": ((admit, reconcile), "lost_register", _lost_in(lambda _, now: now)),
    "loss: its copy before the record": ((admit,), "_is_lost", _without_copy),
    "older item: ends the epoch": ((reconcile, scan), "plan", _older_ones_stay),
    "open item: only where the register names its table": ((reconcile, scan), "plan", _joined),
    "held item: another token when it ends": ((epochs,), "ending", _same_token),
    "trace: in the table where it was opened": (
        (admit, reconcile),
        "shows_no_trace",
        _traces(lambda id_: {"table": id_}),
    ),
    "trace: as many as the layout has regions": (
        (admit, reconcile),
        "shows_no_trace",
        _traces(lambda _: {"stride": 1}),
    ),
    "deleted: the limit is raised": ((STATE,), "_deleted", _limit_stays),
    "copy: put back if it is ahead": ((Register,), "is_ahead_of", _always(False)),
    "new: only if the mirror is whole": ((reconcile,), "_whole", lambda _: _is_whole),
    "new: only if it wasn't reported": ((DeploymentRecord,), "has_reported", _always(False)),
    "went back: above the limit": ((reconcile,), "begin_next_epoch", _not_doubted),
}
"""Each rule: where a function is another one without it, the function's name, and what makes the other one of it."""


@contextmanager
def taken_out(rule: str | None) -> Generator[None]:
    """Run the protocol without this rule. What isn't among `PATCHES` changes nothing here."""
    with ExitStack() as stack:
        owners, name, change = PATCHES.get(rule or "", ((), "", _always(None)))
        for owner in owners:
            stack.enter_context(patch.object(owner, name, change(getattr(owner, name))))
        yield
