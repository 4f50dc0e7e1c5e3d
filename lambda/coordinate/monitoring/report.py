"""How a run stands: what the coordinator replies, and what it leaves for the next preview."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from integers.lattice import places
from integers.names import CHECK_COUNTER

from ..protocol.model import DeploymentRecord, Register
from ..protocol.reconcile import Outcome


@dataclass
class RunResult:
    """How a run stands: it fills this while it goes on, and returns it in the end."""

    record: DeploymentRecord | None = None
    """What it carries out; None if nothing is deployed."""
    outcomes: dict[str, Outcome] = field(default_factory=dict[str, Outcome])
    """The counters that have what was asked for, as far as their regions answer."""
    asked: tuple[str, ...] = ()
    """The counters that the reply is about."""
    unknown: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    stray: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    unfinished: int = 0
    """How many counters weren't begun, since time ran out or another run has taken over."""
    skipped: str | None = None
    """Why nothing was done."""


def pending_regions(outcomes: Iterable[Outcome]) -> list[str]:
    """Return the regions in which some counter has yet to follow."""
    return sorted({region for outcome in outcomes for region in outcome.pending})


def reply(result: RunResult) -> dict[str, Any]:
    """Return how the counters that were asked for stand, and how many there are in all, without `CHECK_COUNTER`."""
    if result.skipped is not None:
        return {"skipped": result.skipped}
    reported = {counter: result.outcomes[counter] for counter in result.asked if counter != CHECK_COUNTER}
    found = {
        "unfinished": result.unfinished,
        "unknown": {counter: list(regions) for counter, regions in result.unknown.items()},
        "stray": {key: list(tables) for key, tables in result.stray.items()},
    }
    return {
        "counters": {counter: _layout(outcome) for counter, outcome in reported.items()},
        "created": [counter for counter, outcome in reported.items() if outcome.created],
        "pending": pending_regions(result.outcomes.values()),
        "registered": len(result.outcomes.keys() - {CHECK_COUNTER}),
        **{name: what for name, what in found.items() if what},
    }


def note(outcomes: Mapping[str, Outcome], record: DeploymentRecord) -> str:
    """Return what the record keeps for the next preview, as JSON."""
    shown = [counter for counter in record.desired.counters if counter in outcomes and counter != CHECK_COUNTER]
    named = {counter: outcomes[counter].register for counter in shown}
    counters = {counter: {"epoch": register.epoch, "base": register.base} for counter, register in named.items()}
    return json.dumps({"counters": counters, "pending": pending_regions(outcomes.values())}, sort_keys=True)


def nowhere(outcomes: Iterable[Outcome]) -> Register | None:
    """Return a register whose counter can't be minted in any region that answers, if there is one.

    As long as there is, a deployment isn't reconciled, and nothing that has left may be deleted.
    """
    registers = (outcome.register for outcome in outcomes if {*outcome.register.regions} <= {*outcome.pending})
    return next(registers, None)


def _layout(outcome: Outcome) -> dict[str, Any]:
    register = outcome.register
    layout = {region: {"offset": p.offset, "stride": p.stride} for region, p in places(register.regions).items()}
    return {
        "epoch": register.epoch,
        "base": register.base,
        "limit": register.limit,
        "regions": layout,
        "pending": list(outcome.pending),
    }
