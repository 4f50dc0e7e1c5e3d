"""The entry: a deployment's wish, or a request to create counters."""

import os
import secrets
from collections.abc import Mapping
from typing import Any

from integers.lattice import places

from .journal import journal
from .model import Refused, Register, Wish
from .operations import ReadStanding
from .protocol import settle
from .refusals import nothing_deployed, superseded
from .request import Request, request_of
from .run import settle_all
from .store import Store

RESERVE = 60_000
"""Milliseconds before the function's time-out at which no further counter is begun."""


class CoordinatorError(Exception):
    """What the deployment shows its user: one message, with all that was refused."""


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Settle what the event asks for (`request.py` says what it may be) and report how the counters stand.

    Raises:
        CoordinatorError: something was refused, or time ran out; running it again goes on where it stopped.
    """
    if event.get("tf", {}).get("action") == "delete":
        return {}
    try:
        return _coordinate(request_of(event), context)
    except Refused as refusal:
        raise CoordinatorError(str(refusal)) from None


def _coordinate(request: Request, context: Any) -> dict[str, Any]:
    store = Store(os.environ["AWS_REGION"], os.environ["LAYOUTS_TABLE"], os.environ["COUNTERS_TABLE"])
    token = secrets.token_hex(16)
    if request.regions is None:  # create: whatever layout stands
        if store.carry_out(ReadStanding()) is None:
            raise nothing_deployed(", ".join(request.counters))
        counters = list(request.counters)
    else:
        # From here on no coordinator with another wish can decide anything, and counters created
        # meanwhile get these regions: so one look at the registers sees all that must follow.
        store.stand(request.regions)
        counters = list(dict.fromkeys((*request.counters, *(register.counter for register in store.registered()))))
        unknown = sorted(set(request.floors) - set(counters))
        if unknown:
            raise Refused(f"floors: there is no counter {', '.join(unknown)}; add it to counters, or take it out here.")

    def settlings() -> Any:
        return (settle(name, Wish(request.regions, request.floors.get(name, 0)), token) for name in counters)

    stand, refused, all_begun = settle_all(
        settlings(),
        journal(store.carry_out),
        lambda: context.get_remaining_time_in_millis() > RESERVE,
    )
    if refused:
        raise Refused(_listed(refused))
    if not all_begun:
        raise Refused(f"{len(stand)} of {len(counters)} counters stand as wanted; time ran out. Deploy again to go on.")
    if request.regions is not None and (standing := store.carry_out(ReadStanding())) != request.regions:
        raise superseded(standing)
    reported = [register for register in stand if register.counter in request.counters]
    return {
        "counters": {register.counter: _report(register) for register in reported},
        "created": [register.counter for register in reported if register.born == token],
        "registered": len(stand),
    }


def _listed(refused: list[Refused], most: int = 10) -> str:
    lines = list(dict.fromkeys(str(refusal) for refusal in refused))
    more = [f"… and {len(lines) - most} more"] if len(lines) > most else []
    return "\n".join([*lines[:most], *more])


def _report(register: Register) -> dict[str, Any]:
    layout = {region: {"offset": p.offset, "stride": p.stride} for region, p in places(register.regions).items()}
    return {"epoch": register.epoch, "base": register.base, "regions": layout}
