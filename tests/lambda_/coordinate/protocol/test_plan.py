"""The next step for one counter: one test a decision. Nothing is read or written."""

from dataclasses import replace
from typing import Any

import pytest
from coordinate.protocol.model import Absent, DeploymentRecord, Item, Register
from coordinate.protocol.plan import Apply, Asked, Change, End, Gone, Hold, Lost, Reconciled, Step, plan, used_by
from coordinate.protocol.plan import raised as with_a_higher_limit

from global_integers_core.lattice import MAX_INTEGER
from global_integers_core.names import DELETED
from tests.lambda_.coordinate.sample_records import NOW, WINDOW, ids_of, items_of, record, register

REGISTER = register("a", "b")
ASKED = record("a", "b")


def step(
    register: Register = REGISTER,
    record: DeploymentRecord = ASKED,
    items: dict[str, Any] | None = None,
    ids: dict[str, Any] | None = None,
    now: int = NOW,
    count: int = 0,
) -> Step:
    """Return the step where every region follows the register, except for these items and ids."""
    regions = (*register.regions, *record.desired.regions, *record.desired.leaving)
    nothing: dict[str, Any] = dict.fromkeys(regions)
    present = {**nothing, **(items_of(register) if register.regions else {}), **(items or {})}
    return plan(register, record, present, {**ids_of(*regions), **(ids or {})}, now, Asked(count=count))


def changed(item: str, register: Register = REGISTER, **changes: Any) -> dict[str, Item]:
    """Return a region's item with these changes."""
    return {item: replace(items_of(register)[item], **changes)}


def issued(used: int, register: Register = REGISTER) -> dict[str, Item]:
    """Return the items if region a has minted so many."""
    item = items_of(register)["a"]
    return {"a": replace(item, issued=item.issued + used * item.stride)}


ALONE: dict[str, Any] = {"register": register("a"), "record": record("a"), "items": {"a": Absent.UNREACHABLE}}
TWICE = replace(register("a"), limit=500 + 2 * (WINDOW + 1), window=2 * (WINDOW + 1))
HELD = Item(500, 2, 500, 3, fenced=True, held=DELETED)
GONE = replace(register(limit=500), counter="deleted")
LOST = replace(GONE, limit=0, lost="loss-1")
UNJOINED = replace(REGISTER, ids=("a 1", None))
LEAVING = record("a", "b", leaving=["d"])
OLD = Item(40, 3, 400, 2)
BEFORE = [
    changed("b", ceiling=400, issued=400, epoch=2),
    changed("b", ceiling=400, issued=400, held="another run", fenced=True),
]
QUARTER = issued(WINDOW // 4 + 1)["a"].issued
RAISED = replace(REGISTER, limit=QUARTER + 2 * WINDOW, granted=NOW + 86_400, lately=WINDOW // 4 + 1)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        *[({"items": {"b": absent}}, Reconciled(("b",))) for absent in Absent],
        *[({"ids": {"b": absent}}, Reconciled(("b",))) for absent in Absent],  # it became unreachable in between
        # An item of a later epoch, or of no register, shows a loss.
        ({"items": changed("b", epoch=4)}, Lost()),
        ({"register": UNJOINED, "items": changed("b", epoch=4)}, Lost()),
        ({"register": UNJOINED}, Lost()),
        # An item that is held or of the past is opened, once the register names its table.
        *[({"items": item}, Apply(open=("b",))) for item in BEFORE],
        *[({"register": UNJOINED, "items": item}, Change(REGISTER)) for item in BEFORE],
        ({"register": UNJOINED, "items": {"b": None}}, Hold(("b",))),
        ({"items": {"b": None}}, End()),  # it had one, and may have minted
        # A floor ends the epoch if it lies above where the epoch began.
        ({"record": record("a", "b", floors={"c": REGISTER.base})}, Reconciled(())),
        ({"record": record("a", "b", floors={"c": REGISTER.base + 1})}, End()),
        # The limit is raised when a quarter is used.
        ({"items": issued(WINDOW // 4 - 1)}, Reconciled(())),
        ({"items": issued(WINDOW // 4 + 1), "now": NOW + 86_400}, Change(RAISED)),
        # While no region can be seen, nothing counts as used.
        ({**ALONE, "count": WINDOW}, Reconciled(("a",))),
        ({**ALONE, "count": WINDOW + 1}, Change(TWICE)),
        # A deleted counter is no work once its items are held. Of a lost one, nothing is asked for.
        ({"register": GONE, "items": {"a": HELD, "b": HELD}}, Gone()),
        ({"register": GONE, "items": {"a": HELD, "b": replace(HELD, held="")}}, Apply(hold=("b",))),
        ({"register": GONE, "items": {"a": HELD, "b": replace(HELD, held="a run's")}}, Apply(hold=("b",))),
        ({"register": GONE, "items": {"a": HELD, "b": None}}, Apply(hold=("b",))),  # this table shows no limit
        ({"register": GONE, "items": {"a": HELD, "b": replace(HELD, ceiling=501)}}, Change(replace(GONE, limit=501))),
        ({"register": LOST, "items": {"a": HELD, "b": HELD}}, Gone()),
        ({"register": LOST, "items": {"a": HELD, "b": None}}, Gone()),
        # Answered, it gets its limit: whoever creates it again may not see the items any more.
        *[
            (
                {
                    "register": LOST,
                    "record": replace(ASKED, answered="loss-1", above=above),
                    "items": dict.fromkeys("ab", HELD),
                },
                Change(replace(LOST, epoch=4, limit=max(500, above), lost="")),
            )
            for above in (7, 9_999)
        ],
        # A leaving region is closed at this epoch.
        ({"record": LEAVING, "items": {"d": OLD}}, Apply(close=("d",))),
        ({"record": LEAVING, "items": {"d": replace(OLD, fenced=True)}}, Apply(close=("d",))),
        ({"record": LEAVING, "items": {"d": replace(OLD, ceiling=40, fenced=True)}}, Apply(close=("d",))),
        ({"record": LEAVING, "items": {"d": replace(OLD, ceiling=40, fenced=True, epoch=3)}}, Reconciled(())),
        # An item outside of the layout may lie above: restored, or another stack's.
        *[
            ({"record": asked, "items": {"d": Item(40, 3, ceiling, epoch)}}, expected)
            for asked, below in ((LEAVING, Apply(close=("d",))), (record("a", "b", "d"), End()))
            for ceiling, epoch, expected in (
                (400, 4, Lost()),
                (REGISTER.base, 2, End()),
                (REGISTER.base, 3, End()),
                (REGISTER.base - 1, 2, below),
            )
        ],
    ],
)
def test_what_is_found_decides_the_next_step(found: dict[str, Any], expected: Step) -> None:
    assert step(**found) == expected


@pytest.mark.parametrize("count", [0, WINDOW - 100, WINDOW, 50 * WINDOW])
def test_twice_the_block_is_granted_that_was_asked_for(count: int) -> None:
    top = issued(100)["a"].issued

    higher = with_a_higher_limit(REGISTER, ASKED, top, NOW + 86_400, count)

    if count <= WINDOW - 100:
        assert higher is None
    else:
        window = max(WINDOW, 2 * count)
        assert higher is not None
        assert higher == replace(REGISTER, limit=top + 2 * window, window=window, granted=NOW + 86_400, lately=100)
        assert with_a_higher_limit(higher, ASKED, top, NOW + 86_400, count) is None


@pytest.mark.parametrize(
    ("seconds", "window"),
    [
        (-(10**9), 12 * 900),  # the clock was set back
        (0, 12 * 900),
        (5, 12 * 900),
        (10, 6 * 900),  # a minute's use
        (30, 2 * 900),
        (86_400, 600 // 2 + 900),  # what was used a day ago counts half
        (2 * 86_400, 600 // 4 + 900),
        (10 * 86_400, WINDOW),
    ],
)
def test_a_window_lasts_for_a_day_or_a_minute_of_a_burst(seconds: int, window: int) -> None:
    raised = step(replace(REGISTER, lately=600), items=issued(900), now=NOW + seconds)

    assert isinstance(raised, Change)
    assert raised.register.window == window


def test_where_less_is_used_nobody_asks_in_vain() -> None:
    """Every region that finds half of its window used gets more. So no run is begun for nothing."""
    use = (1_000_000,) * 7 + (50_000,) * 21  # a day
    present, top = replace(register("a"), base=1, limit=WINDOW, window=WINDOW), 0.0
    for minute in range(2 * len(use) * 1440):
        top += use[minute // 1440 % len(use)] / 1440
        now = NOW + 60 * minute
        if minute % 5 == 0:
            present = with_a_higher_limit(present, record("a"), int(top), now) or present
        if int(top) > items_of(present)["a"].low:
            higher = with_a_higher_limit(present, record("a"), int(top), now)
            assert higher is not None
            present = higher
            assert int(top) <= items_of(present)["a"].low


def test_the_limit_ends_at_the_largest_integer() -> None:
    high = replace(REGISTER, base=MAX_INTEGER - 2000, limit=MAX_INTEGER - 200)
    raised = step(high, items=issued(999, high), now=NOW + 86_400)
    assert isinstance(raised, Change)
    assert raised.register.limit == MAX_INTEGER
    top = max(item.issued for item in issued(999, high).values())
    assert used_by(raised.register, top) == 0, "what can't be granted any more counts as used"

    assert step(raised.register, items=issued(999, raised.register)) == Reconciled(())
