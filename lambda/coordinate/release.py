"""What callers reach: a version is checked, then a region's alias moves to it, or back.

An alias moves forward only to a version that has passed its check, unless its region is leaving. Where it already leads
to it, nothing is done twice: a deployment that was interrupted sends the same again.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from global_integers_core.names import LIVE_ALIAS

from . import refusals
from .check import PATIENCE, PAUSE, problem_of
from .events import Check, Release
from .functions import Alias, AliasError, Functions, described, described_back, in_each
from .log import warn, write
from .protocol.model import DeploymentRecord
from .protocol.moves import stays
from .protocol.operations import CarryOut, ReadAdmitted, ReadRecord
from .protocol.refusals import nothing_deployed

T = TypeVar("T")


def check_version(asked: Check, carry_out: CarryOut, functions: Functions) -> dict[str, str]:
    """Check a new version by its number, and return its region as `checked`.

    Where the region is paused, nothing can run. The alias stays where it is until it is paused no longer; the region is
    returned as `paused`.

    Raises:
        Refused: the version doesn't work; its alias hasn't moved. Or the region is paused and has no alias yet: what is
            created now would be what callers reach as soon as it is paused no longer.
    """
    if asked.paused:
        if functions.aliases([asked.region])[asked.region] is None:
            raise refusals.paused_from_the_start(asked.region)
        return {"paused": asked.region}
    _check(asked, carry_out, functions)
    return {"checked": asked.region}


def _check(asked: Check, carry_out: CarryOut, functions: Functions) -> None:
    problem = problem_of(asked, carry_out, functions.ask(asked.region, asked.version))
    if problem is not None:
        raise refusals.unhealthy(asked, problem, _moved(asked, carry_out, functions))


def release(asked: Release, carry_out: CarryOut, functions: Functions) -> dict[str, str]:
    """Let callers of a region reach a version, and check once more what they reach. Return the region as `released`.

    It is returned as `paused` if it is, as `unmoved` if it leaves and doesn't answer, and as `back` if callers were
    taken back from this build: then only another one is released.

    Raises:
        Refused: what callers reach doesn't work, or the alias can't be moved. Or the version doesn't work; then the
            alias hasn't moved.
    """
    check, region = asked.check, asked.check.region
    if asked.leaving:
        try:
            _move(check, functions.alias(region), functions)
            _prove(check, functions.alias(region), functions)
        except AliasError:
            return {"unmoved": region}
        return {"released": region}
    if check.paused:
        return {"paused": region}
    unmovable = partial(refusals.unmovable, region)
    alias = patiently(lambda: functions.alias(region), unmovable)
    if _newest(_aliases(check, carry_out, functions)).back_from == check.build:
        warn("left", region=region, version=alias.version if alias else "", build=check.build)
        return {"back": region}
    if alias is None or alias.version != check.version:  # time may have passed since its check
        _check(check, carry_out, functions)
    before = patiently(lambda: _move_on(check, alias, functions), unmovable).before
    way, problem = "alias", problem_of(check, carry_out, functions.ask(region, LIVE_ALIAS), moved=True)
    if problem is None and asked.url:
        # No caller may mint of the check's counter, so by the URL only the health can be asked for.
        ask = functions.ask_url(region, asked.url)
        way, problem = "URL", problem_of(check, carry_out, ask, moved=True, only_health=True)
    if problem is not None:
        moved = _moved(check, carry_out, functions)
        raise refusals.unhealthy_for_callers(check, way, problem, moved, before)
    patiently(lambda: _prove(check, functions.alias(region), functions), unmovable)
    return {"released": region}


def _move_on(check: Check, alias: Alias | None, functions: Functions) -> Alias:
    """Move an alias as `_move` does, if it is still as it was before the check: what somebody has done since stays."""
    present = functions.alias(check.region)
    if present != alias and not (present and _is_there(check, present)):  # it is there if only the answer was lost
        raise refusals.unmovable(check.region, "somebody else has changed it meanwhile")
    return _move(check, present, functions)


def _move(check: Check, alias: Alias | None, functions: Functions) -> Alias:
    """Move an alias to the version, unless it is there already, and return it as it was, with the version before.

    That is one that has passed both checks: the way back doesn't lead to one that callers couldn't use.
    """
    if alias is None:
        raise AliasError(
            f"there is no alias {LIVE_ALIAS!r}. AWS deletes its URL, too, perhaps later: if the URL answers 403 after "
            "--refresh, refresh once more. Callers need the next URL, which is another one"
        )
    if is_later(alias.version, check.version):  # this release is an old one, which was slow or was sent again
        raise refusals.outdated_release(check.region, check.version, alias.version)
    if _is_there(check, alias):
        return alias
    before = alias.version if alias.proven and alias.version != check.version else alias.before
    functions.move(check.region, alias, check.version, described(check.version, check.build, before, proven=False))
    write("INFO", phase="moved", region=check.region, version=check.version, before=before, build=check.build)
    return replace(alias, before=before)


def _prove(check: Check, alias: Alias | None, functions: Functions) -> None:
    """Note that what callers reach was checked, if it is still this version."""
    if alias is not None and _is_there(check, alias) and not alias.proven:
        description = described(check.version, check.build, alias.before, proven=True)
        functions.move(check.region, alias, check.version, description)


def _is_there(check: Check, alias: Alias) -> bool:
    return alias.version == check.version and alias.build == check.build


def patiently(act: Callable[[], T], refusal: Callable[[str], refusals.Refused]) -> T:
    """Return what it returns, once it raises no `AliasError`: AWS needs some seconds to accept a new policy.

    Each time, it is to read the alias again: its revision changes also with its policy. In the end, the `refusal` is
    raised that the error's text makes.
    """
    ends = time.monotonic() + PATIENCE
    while True:
        try:
            return act()
        except AliasError as error:
            if time.monotonic() >= ends:
                raise refusal(str(error)) from error
        time.sleep(PAUSE)


def _moved(check: Check, carry_out: CarryOut, functions: Functions) -> refusals.Moved:
    """Return of each region whether its alias has moved to this build; None if it doesn't answer."""
    return {
        region: None if isinstance(alias, AliasError) else alias is not None and alias.build == check.build
        for region, alias in _aliases(check, carry_out, functions).items()
    }


Found = Mapping[str, Alias | AliasError | None]


def _aliases(check: Check, carry_out: CarryOut, functions: Functions) -> Found:
    record: DeploymentRecord | None = carry_out(ReadRecord())
    return functions.aliases([*(record.desired.everywhere if record else ()), check.region])


def _newest(found: Found) -> Alias:
    """Return the alias that was moved last."""
    return max((a for a in found.values() if isinstance(a, Alias)), key=lambda alias: alias.since, default=Alias(""))


def is_later(version: str, other: str) -> bool:
    """Return whether a version was published after the other. `$LATEST` has no place in the order."""
    return version.isdigit() and other.isdigit() and int(version) > int(other)


def back(carry_out: CarryOut, functions: Functions) -> dict[str, Any]:
    """Move the aliases of the newest build back to the versions that they led to before.

    A second call finds nothing to move. Return the regions that were moved `back`, and those where callers `stay`, with
    their versions; if none was moved, also the `reason`.

    Raises:
        Refused: nothing was ever released, or a region doesn't answer. All others have been moved.
    """
    stays(carry_out(ReadAdmitted()))
    record: DeploymentRecord | None = carry_out(ReadRecord())
    if record is None:
        raise nothing_deployed("back")
    found = functions.aliases(record.desired.everywhere)
    aliases = {region: alias for region, alias in found.items() if isinstance(alias, Alias)}
    newest = _newest(aliases).newest
    if not newest:
        raise refusals.nothing_released()
    back = {region: alias for region, alias in aliases.items() if alias.build == newest and alias.before}

    def move(region: str) -> Alias | None:
        alias = back[region]
        functions.move(region, alias, alias.before, described_back(alias.before, newest))
        write("INFO", phase="moved", region=region, version=alias.before, before=alias.version, build="")
        return alias

    results = {**found, **in_each(back, move)}
    failed = {region: str(error) for region, error in results.items() if isinstance(error, AliasError)}
    for region, alias in functions.aliases(failed).items():  # the same may have been sent twice
        if isinstance(alias, Alias) and alias.back_from == newest:
            del failed[region]
    moved = {region: alias.before for region, alias in back.items() if region not in failed}
    if failed:
        raise refusals.unmoved(moved, failed)
    stay = {region: alias.version if isinstance(alias, Alias) else "" for region, alias in found.items()}
    result = {"back": moved, "stay": {region: version for region, version in stay.items() if region not in moved}}
    if moved:
        return result
    return {**result, "reason": refusals.not_moved(gone_back=any(a.back_from == newest for a in aliases.values()))}
