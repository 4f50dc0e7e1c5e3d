"""The entry: a deployment's wish, or a request by hand to create counters."""

import os
import secrets
from collections.abc import Mapping
from typing import Any, cast

from components.layout import places
from components.names import COUNTER_NAME

from .model import Refused, Register, Wish
from .operations import ReadStanding
from .protocol import settle
from .run import settle_all
from .store import Store

RESERVE = 60_000
"""Milliseconds before the function's time-out at which no further counter is begun."""


class CoordinatorError(Exception):
    """What the deployment shows its user: one message, with all that was refused."""


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Settle what the event asks for and report how every counter stands.

    Of a deployment: `{"regions": [...], "counters": [...]}`, with Terraform's `tf` beside it; its
    deletion does nothing. By hand: `{"create": ["invoices", ...]}`, under the layout that stands.

    Raises:
        CoordinatorError
    """
    if event.get("tf", {}).get("action") == "delete":
        return {}
    try:
        return _coordinate(event, context)
    except Refused as refusal:
        raise CoordinatorError(str(refusal)) from None


def _coordinate(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    store = Store(os.environ["AWS_REGION"], os.environ["LAYOUTS_TABLE"], os.environ["COUNTERS_TABLE"])
    standing = store.carry_out(ReadStanding())
    if "create" in event:
        if standing is None:
            raise Refused("create: nothing is deployed yet; deploy the stack first.")
        regions, wanted = standing, _names(event, "create")
    else:
        regions, wanted = _names(event, "regions"), _names(event, "counters")
        if standing is not None and standing != regions:
            raise Refused(
                f"regions: the layout is {', '.join(standing)}, and {', '.join(regions)} is wanted; the layout of a "
                f"running stack can't be changed yet. Set regions back to {', '.join(standing)}; nothing was changed."
            )
        store.stand(regions)
    for counter in wanted:
        if not COUNTER_NAME.fullmatch(counter):
            raise Refused(f"{counter!r} is not a counter's name; it must match {COUNTER_NAME.pattern}.")

    registered = [] if "create" in event else [register.counter for register in store.registered()]
    counters = list(dict.fromkeys((*wanted, *registered)))
    token = secrets.token_hex(16)
    stand, refused, begun = settle_all(
        (settle(counter, Wish(regions), token) for counter in counters),
        store.carry_out,
        lambda: context.get_remaining_time_in_millis() > RESERVE,
    )
    if refused:
        raise Refused("\n".join(dict.fromkeys(str(refusal) for refusal in refused)))
    if not begun:
        raise Refused(f"{len(stand)} of {len(counters)} counters stand as wanted; time ran out. Deploy again to go on.")
    return {"counters": {register.counter: _report(register) for register in stand}}


def _names(event: Mapping[str, Any], key: str) -> tuple[str, ...]:
    names: Any = event.get(key)
    if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in cast("list[Any]", names)):
        raise Refused(f"{key}: {names!r} is not a list of names.")
    return tuple(cast("list[str]", names))


def _report(register: Register) -> dict[str, Any]:
    layout = {region: {"offset": p.offset, "stride": p.stride} for region, p in places(register.regions).items()}
    return {"epoch": register.epoch, "base": register.base, "regions": layout}
