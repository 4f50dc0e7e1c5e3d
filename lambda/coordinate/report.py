"""What the coordinator replies, and what it leaves for the next preview."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from integers.lattice import places
from integers.names import CHECK_COUNTER

from .model import Record, Register
from .protocol import Outcome


def pending_regions(outcomes: Iterable[Outcome]) -> list[str]:
    """Return the regions in which some counter has yet to follow."""
    return sorted({region for outcome in outcomes for region in outcome.pending})


def reply(outcomes: Mapping[str, Outcome], counters: Iterable[str]) -> dict[str, Any]:
    """Return how the counters that were asked for stand, and how many there are in all, without `CHECK_COUNTER`."""
    reported = {counter: outcomes[counter] for counter in counters if counter != CHECK_COUNTER}
    return {
        "counters": {counter: _layout(outcome) for counter, outcome in reported.items()},
        "created": [counter for counter, outcome in reported.items() if outcome.created],
        "pending": pending_regions(outcomes.values()),
        "registered": len(outcomes.keys() - {CHECK_COUNTER}),
    }


def note(outcomes: Mapping[str, Outcome], record: Record) -> str:
    """Return what the record keeps for the next preview, as JSON."""
    shown = [counter for counter in record.wish.counters if counter in outcomes and counter != CHECK_COUNTER]
    named = {counter: outcomes[counter].register for counter in shown}
    counters = {counter: {"epoch": register.epoch, "base": register.base} for counter, register in named.items()}
    return json.dumps({"counters": counters, "pending": pending_regions(outcomes.values())}, sort_keys=True)


def nowhere(outcomes: Iterable[Outcome]) -> Register | None:
    """Return a register whose counter can't be minted in any region that answers, if there is one.

    As long as there is, a deployment isn't settled, and nothing that has left may be deleted.
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
