"""Reads what the coordinator is asked for, and checks it before anything is written."""

import json
import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, cast

from global_integers_core.lattice import MAX_FLOOR, MAX_INTEGER, MAX_REGIONS
from global_integers_core.names import (
    CHECK_COUNTER,
    COUNTER_NAME,
    DEPLOYMENTS_ALIAS,
    MAX_BLOCK,
    MINTING_ALIAS,
    RESERVED,
    reserved,
)

from .protocol.model import Deploy, Frozen, Refused, desired_state_of
from .protocol.run import Create, Delete, Grant, Run, ScheduledRun

ASKED = ("desired", "schedule", "create", "delete", "grant", "check", "release", "self", "back", "counters")
"""What an event may ask for: one of these."""

OF_OPERATORS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("schedule", "create", "delete", "back"), ()),
    "counters": ("after", "rate"),
}
"""What operators ask for, and the keys beside it. There are no others: a misspelt one would change what is done."""

KEYS = (*ASKED, "after", "count", "follows", "rate", "requested", "wentBack")
CHECK_KEYS = ("build", "code", "counter", "digest", "leaving", "paused", "region", "url", "version")
DESIRED_KEYS = (
    "authorization", "counters", "defaultCounter", "firstLayoutsLabel", "floors", "layoutsLabel", "leaving",
    "memorySize", "recovery", "regions", "scheduleMinutes", "tableLabels", "window",
)  # fmt: skip


YEAR_9999 = 253_370_764_800
"""Seconds from 1970 to the last year that has a date."""


class Check(Frozen):
    """A new version of a region's minting function, which must work before callers reach it."""

    region: str
    counter: str
    """The default counter: what `/` mints from."""
    version: str
    """Its number."""
    code: str
    """The version of its code, as its status says it."""
    build: str
    """What tells it from others in all regions: its code and its settings."""
    paused: bool = False
    """Whether nothing may run there now, so that it can't be checked."""


class Release(Frozen):
    """A version that callers are to reach, since all regions of its wave have passed their checks."""

    check: Check
    url: str = ""
    """The region's Function URL; "" if it has none."""
    leaving: bool = False
    """Whether the region leaves, so that nobody waits for it."""


class CheckSelf(Frozen):
    """The version of the coordinator that gets this: it checks what it needs, and its aliases move to it."""

    build: str
    """What it must be."""


class Back(Frozen):
    """The way back: callers reach what they reached before the newest build."""


class Listing(Frozen):
    """A question about all counters, which changes nothing."""

    seconds: int = 0
    """How long their rates are measured; 0: not at all."""
    after: str = ""
    """Only counters whose names come after this one."""


MOST_SECONDS = 50
"""For a rate: the AWS CLI waits 60 seconds for an answer."""

Request = Run | Check | Release | CheckSelf | Back | Listing


def request_of(event: Mapping[str, Any]) -> Request:
    """Read an event of a deployment, of the schedule, of a region, or of an operator.

    A deployment sends `{"self": {"build": "...", "digest": "..."}}` to a new version of the coordinator. It sends
    `{"check": {"region": "us-east-1", "version": "12", "build": "...", "code": "...", "counter": "integers", "digest":
    "..."}}` for a new version of a minting function, the same with `url` as `{"release": {...}}` when its wave has
    passed, and `{"desired": {...}, "follows": "8f14e45f/0", "requested": 1795000000}` at its end. The schedule sends
    `{"schedule": true}`, an operator `{"create": ["invoices", ...]}`, `{"delete": ["invoices", ...]}`, `{"back":
    true}` or `{"counters": true}` (with `"rate": 10`, their integers per second too, measured for ten seconds; with
    `"after": "orders"`, the names after it), a region without integers `{"grant": "orders", "count": 1}`.

    Raises:
        Refused: the event is none of these, a key is misspelt, or a value is wrong.
    """
    _check_keys(event, KEYS, "")
    asked = [key for key in ASKED if key in event]
    if len(asked) != 1:
        raise Refused(
            f"the event has {' and '.join(asked) or 'no schedule, create, delete, back or counters'}; it must have "
            'one. To create counters, send {"create": ["invoices"]}; to delete some, {"delete": ["invoices"]}; to let '
            'the coordinator check and repair everything, {"schedule": true}; to let callers reach what they reached '
            'before the newest build, {"back": true}; to list all counters, {"counters": true}. Only a deployment '
            "sends anything else."
        )
    (what,) = asked
    strays = sorted({*event} - {what, *OF_OPERATORS.get(what, event)})
    if strays:
        known = f"only {' and '.join(OF_OPERATORS[what])}" if OF_OPERATORS[what] else "and no other"
        raise Refused(f"{strays[0]}: there is no such key beside {what}, {known}. Nothing was changed.")
    if "create" in event:
        created = _counters(event, "create")
        for counter in RESERVED.intersection(created):
            raise Refused(f"create: {reserved(counter)}.")
        return Create(created)
    if "delete" in event:
        return Delete(_counters(event, "delete"))
    if "grant" in event:
        count = _integer(event, "count", least=1, most=MAX_BLOCK) if "count" in event else 1
        went_back = _integer(event, "wentBack") if "wentBack" in event else 0
        return Grant(_counter(event["grant"], "grant", also=CHECK_COUNTER), count, went_back)
    if "check" in event:
        return _check(_object(event, "check"), "check")
    if "release" in event:
        return _release(_object(event, "release"))
    if "self" in event:
        return CheckSelf(str(_object(event, "self").get("build")))  # the digest isn't read: it makes another event
    if what == "desired":
        return _deployment(event)
    if event[what] is not True:
        raise Refused(f"{what}: {event[what]!r} is not true.")
    if what == "counters":
        return _listing(event)
    return Back() if what == "back" else ScheduledRun()


def admissible(request: Request, qualifier: str, max_counters: int) -> Request:
    """Return the request as it may be made through this version or alias of the coordinator, or refuse it.

    IAM can limit which alias a role may use, but not what it sends. A minting function's role may only use
    `MINTING_ALIAS`, so whoever has that role can't send a deployment's event. A version that isn't checked yet, and
    `$LATEST`, do nothing but check themselves. A version that was asks itself by `DEPLOYMENTS_ALIAS` who answers there.

    Raises:
        Refused: it is another qualifier, or the alias doesn't take this. `MINTING_ALIAS` takes grants and, if
            `max_counters` isn't 0, creations up to so many counters.
    """
    if qualifier == DEPLOYMENTS_ALIAS:
        return request
    if is_version(qualifier) and isinstance(request, CheckSelf):
        return request
    if isinstance(request, CheckSelf):
        raise Refused("self: only a deployment sends this, to a version of the coordinator.")
    if qualifier != MINTING_ALIAS:
        by = f"by the qualifier {qualifier!r}" if qualifier else "without an alias"
        raise Refused(
            f"the coordinator doesn't take this {by}; call it by its alias {DEPLOYMENTS_ALIAS!r}, for example as "
            f'"$(pulumi stack output coordinator):{DEPLOYMENTS_ALIAS}".'
        )
    if isinstance(request, Grant):
        return request
    if isinstance(request, Create) and max_counters:
        return Create(request.counters, max_counters)
    create = ' and {"create": ["invoices"]}' if max_counters else ""
    raise Refused(
        f'through its alias {MINTING_ALIAS!r}, the coordinator takes only {{"grant": "orders"}}{create}; operators '
        f"call it by its alias {DEPLOYMENTS_ALIAS!r}."
    )


def is_version(qualifier: str) -> bool:
    """Return whether this names a version, or `$LATEST`, rather than an alias. Lambda numbers versions."""
    return qualifier in ("", "$LATEST") or qualifier.isdigit()


def _listing(event: Mapping[str, Any]) -> Listing:
    seconds = _integer(event, "rate", least=1, most=MOST_SECONDS) if "rate" in event else 0
    return Listing(seconds, _counter(event["after"], "after") if "after" in event else "")


def _object(event: Mapping[str, Any], key: str) -> dict[str, Any]:
    asked: Any = event[key]
    if not isinstance(asked, dict):
        raise Refused(f"{key}: {asked!r} is not an object.")
    return cast("dict[str, Any]", asked)


def _check(asked: dict[str, Any], key: str) -> Check:
    """Read what is to be checked. The digest isn't read: it makes another event when the function has changed."""
    _check_keys(asked, CHECK_KEYS, f"{key}.")
    texts = {name: asked.get(name) for name in ("region", "version", "code", "build")}
    for name, text in texts.items():
        if not isinstance(text, str) or not text or (name == "version" and not text.isdigit()):
            raise Refused(f"{key}.{name}: {text!r} is not a {'version' if name == 'code' else name}.")
    counter = _counter(asked.get("counter"), f"{key}.counter")
    return Check(counter=counter, paused=bool(asked.get("paused")), **cast("dict[str, Any]", texts))


def _release(asked: dict[str, Any]) -> Release:
    url = asked.get("url", "")
    if not isinstance(url, str) or (url and not re.match(r"https?://", url)):
        raise Refused(f"release.url: {url!r} is not a URL.")
    return Release(_check(asked, "release"), url, bool(asked.get("leaving")))


def _deployment(event: Mapping[str, Any]) -> Deploy:
    desired = _object(event, "desired")
    _check_keys(desired, DESIRED_KEYS, "desired.")
    missing = [key for key in DESIRED_KEYS if key not in desired]
    if missing:
        raise Refused(f"desired: there is no {', '.join(missing)}.")
    regions = _names(desired, "regions")
    leaving = _names(desired, "leaving", least=0)
    if len(set(regions)) != len(regions) or len(regions) > MAX_REGIONS:
        raise Refused(f"regions: {list(regions)} is not a list of 1 to {MAX_REGIONS} different regions.")
    if set(regions) & set(leaving):
        raise Refused(f"leaving: {', '.join(sorted(set(regions) & set(leaving)))} can't be in regions too.")
    _counters(desired, "counters", also=CHECK_COUNTER)
    _check_floors(desired["floors"])
    _check_recovery(desired["recovery"])
    _counter(desired["defaultCounter"], "defaultCounter")
    for key in ("layoutsLabel", "firstLayoutsLabel"):
        if not isinstance(desired[key], str):
            raise Refused(f"desired.{key}: {desired[key]!r} is not a label.")
    for key, most in (("window", 10**12), ("scheduleMinutes", 60), ("memorySize", 10_240)):
        _integer(desired, key, least=1, most=most)
    text = json.dumps(desired, sort_keys=True, separators=(",", ":"))
    return Deploy(desired_state_of(text), _follows(event), _integer(event, "requested", most=YEAR_9999))


def _check_keys(event: Mapping[str, Any], keys: tuple[str, ...], where: str) -> None:
    for key in event:
        near = get_close_matches(key, keys, n=1, cutoff=0.75) if key not in keys else []
        if near:
            raise Refused(f"{where}{key}: there is no such key; did you mean {near[0]}?")


def _counters(event: Mapping[str, Any], key: str, also: str | None = None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_counter(counter, key, also) for counter in _names(event, key)))


def _counter(name: Any, key: str, also: str | None = None) -> str:
    if not isinstance(name, str) or (name != also and not COUNTER_NAME.fullmatch(name)):
        raise Refused(f"{key}: {name!r} is not a counter's name; it must match {COUNTER_NAME.pattern}.")
    return name


def _names(event: Mapping[str, Any], key: str, least: int = 1) -> tuple[str, ...]:
    names: Any = event.get(key)
    found = cast("list[Any]", names) if isinstance(names, list) else None
    if found is None or len(found) < least or not all(isinstance(name, str) for name in found):
        raise Refused(f"{key}: {names!r} is not a list of names.")
    return tuple(found)


def _integer(event: Mapping[str, Any], key: str, least: int = 0, most: int = 2**53, where: str = "") -> int:
    value: Any = event.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise Refused(f"{where}{key}: {value!r} is not an integer from {least} to {most}.")
    return value


def _follows(event: Mapping[str, Any]) -> str:
    token: Any = event.get("follows")
    if not isinstance(token, str):
        raise Refused(f'follows: {token!r} is not the token of a deployment record, nor "".')
    return token


def _check_floors(floors: Any) -> None:
    if not isinstance(floors, dict):
        raise Refused(f"floors: {floors!r} is not an object of counters and integers.")
    for counter, floor in cast("dict[str, Any]", floors).items():
        if not isinstance(floor, int) or isinstance(floor, bool) or not 1 <= floor <= MAX_FLOOR:
            raise Refused(f"floors: {counter}: {floor!r} is not an integer from 1 to {MAX_FLOOR} (2^52).")


def _check_recovery(recovery: Any) -> None:
    answer = cast("dict[str, Any]", recovery) if isinstance(recovery, dict) else {"": recovery}
    _check_keys(answer, ("loss", "above"), "recovery.")
    if answer and (not isinstance(answer.get("loss"), str) or "above" not in answer):
        raise Refused(
            f"recovery: {recovery!r} is neither {{}} nor the answer to a loss: its id as loss, and above what nothing "
            "was minted as above."
        )
    if answer:
        _integer(answer, "above", most=MAX_INTEGER, where="recovery.")
