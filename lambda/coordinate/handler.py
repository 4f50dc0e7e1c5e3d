"""The function's entry point: carries out a deployment's request, or creates counters."""

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
"""Milliseconds before the function's timeout in which no further counter is begun."""


class CoordinatorError(Exception):
    """What the deployment shows its user: one message with everything that was refused."""


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Carry out what the event asks for (`request.py` says what it may be), and report the counters' layouts.

    Returns:
        `counters`, the layout of each counter that was asked for; `created`, which of them are new, both in
        the order of the request; and `registered`, how many counters were settled.

    Raises:
        CoordinatorError: something was refused, or time ran out. The next run continues where this one stopped.
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
    if request.regions is None:  # create
        if store.carry_out(ReadStanding()) is None:
            raise nothing_deployed(", ".join(request.counters))
        counters = list(request.counters)
    else:
        # From here on, no coordinator that was asked for other regions can decide a change, and a counter that
        # is created gets these regions. So one scan of the registers finds every counter that must change.
        store.stand(request.regions)
        counters = list(dict.fromkeys((*request.counters, *(register.counter for register in store.registered()))))
        unknown = sorted(set(request.floors) - set(counters))
        if unknown:
            raise Refused(
                f"floors: there is no counter {', '.join(unknown)}; add it to counters, or remove it from floors."
            )

    def settlings() -> Any:
        return (settle(name, Wish(request.regions, request.floors.get(name, 0)), token) for name in counters)

    settled, refused, all_begun = settle_all(
        settlings(),
        journal(store.carry_out),
        lambda: context.get_remaining_time_in_millis() > RESERVE,
    )
    if refused:
        raise Refused(_listed(refused))
    if not all_begun:
        again = "Send the request again" if request.regions is None else "Deploy again"
        raise Refused(f"{len(settled)} of {len(counters)} counters are done; time ran out. {again} to continue.")
    if request.regions is not None and (standing := store.carry_out(ReadStanding())) != request.regions:
        raise superseded(standing)
    registers = {register.counter: register for register in settled}
    reported = [registers[counter] for counter in request.counters]
    return {
        "counters": {register.counter: _report(register) for register in reported},
        "created": [register.counter for register in reported if register.born == token],
        "registered": len(settled),
    }


def _listed(refused: list[Refused], most: int = 10) -> str:
    lines = list(dict.fromkeys(str(refusal) for refusal in refused))
    more = [f"… and {len(lines) - most} more"] if len(lines) > most else []
    return "\n".join([*lines[:most], *more])


def _report(register: Register) -> dict[str, Any]:
    layout = {region: {"offset": p.offset, "stride": p.stride} for region, p in places(register.regions).items()}
    return {"epoch": register.epoch, "base": register.base, "regions": layout}
