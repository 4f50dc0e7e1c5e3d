"""What callers reach: a version is checked, then a region's alias moves to it, or back.

An alias moves forward only to a version that has passed its check, unless its region is leaving. Where it already leads
to it, nothing is done twice: a deployment that was interrupted sends the same again.
"""

import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from global_integers_core.names import LIVE_ALIAS

from .check import PATIENCE, PAUSE, problem_of
from .events import Check, Release
from .functions import Alias, AliasError, Functions, described, described_back, in_each
from .log import write
from .protocol.model import DeploymentRecord
from .protocol.operations import CarryOut, ReadRecord
from .protocol.refusals import (
    nothing_deployed,
    nothing_released,
    paused_from_the_start,
    unhealthy,
    unhealthy_for_callers,
    unmovable,
    unmoved,
)

T = TypeVar("T")


def check_version(asked: Check, carry_out: CarryOut, functions: Functions) -> dict[str, str]:
    """Check a new version by its number, and return its region as `checked`.

    Where the region is paused, nothing can run. The alias stays where it is until it is paused no longer; the region is
    returned as `paused`.

    Raises:
        Refused: the version doesn't work. Its alias hasn't moved. Or the region is paused and has no alias yet: what is
            created now would be what callers reach as soon as it is paused no longer.
    """
    if asked.paused:
        try:
            alias = functions.alias(asked.region)
        except AliasError:
            return {"paused": asked.region}
        if alias is None:
            raise paused_from_the_start(asked.region)
        return {"paused": asked.region}
    _check(asked, carry_out, functions)
    return {"checked": asked.region}


def _check(asked: Check, carry_out: CarryOut, functions: Functions) -> None:
    problem = problem_of(asked, carry_out, functions.ask(asked.region, asked.version))
    if problem is not None:
        aliases = _moved(asked, carry_out, functions)
        raise unhealthy(asked.region, asked.version, asked.code, problem.text, problem.log, aliases)


def release(asked: Release, carry_out: CarryOut, functions: Functions) -> dict[str, str]:
    """Let callers of a region reach a version, and check once more what they reach. Return the region as `released`.

    It is returned as `paused` if it is, and as `unmoved` if it leaves and doesn't answer.

    Raises:
        Refused: what callers reach doesn't work, the alias can't be moved, or the version doesn't work. In the last
            case, the alias hasn't moved.
    """
    check, region = asked.check, asked.check.region
    if asked.leaving:
        try:
            _move(check, functions.alias(region), functions)
        except AliasError:
            return {"unmoved": region}
        return {"released": region}
    if check.paused:
        return {"paused": region}
    alias = _patiently(region, lambda: functions.alias(region))
    if alias is None or alias.version != check.version:  # time may have passed since its check
        _check(check, carry_out, functions)
    _patiently(region, lambda: _move(check, functions.alias(region), functions))
    way, problem = "alias", problem_of(check, carry_out, functions.ask(region, LIVE_ALIAS))
    if problem is None and asked.url:
        # No caller may mint of the check's counter, so by the URL only the health can be asked for.
        way, problem = "URL", problem_of(check, carry_out, functions.ask_url(region, asked.url), only_health=True)
    if problem is not None:
        aliases = _moved(check, carry_out, functions)
        raise unhealthy_for_callers(region, way, check.version, problem.text, problem.log, aliases)
    return {"released": region}


def _move(check: Check, alias: Alias | None, functions: Functions) -> None:
    if alias is None:
        raise AliasError(f"there is no alias {LIVE_ALIAS!r}")
    if alias.version == check.version and alias.build == check.build:
        return
    before = alias.before if alias.version == check.version else alias.version
    functions.move(check.region, alias, check.version, described(check.build, before))
    write("INFO", phase="moved", region=check.region, version=check.version, before=before, build=check.build)


def _patiently(region: str, act: Callable[[], T]) -> T:
    """Return what it returns. AWS needs some seconds to accept a new policy, and a busy alias is read again."""
    ends = time.monotonic() + PATIENCE
    while True:
        try:
            return act()
        except AliasError as error:
            if time.monotonic() >= ends:
                raise unmovable(region, str(error)) from error
        time.sleep(PAUSE)


def _regions(record: DeploymentRecord | None) -> list[str]:
    return [*record.desired.regions, *record.desired.leaving] if record else []


def _moved(check: Check, carry_out: CarryOut, functions: Functions) -> dict[str, bool | None]:
    """Return of each region whether its alias has moved to this build; None if it doesn't answer."""
    found = functions.aliases([*_regions(carry_out(ReadRecord())), check.region])
    return {
        region: None if isinstance(alias, AliasError) else alias is not None and alias.build == check.build
        for region, alias in found.items()
    }


def back(carry_out: CarryOut, functions: Functions) -> dict[str, Mapping[str, str]]:
    """Move the aliases of the newest build back to the versions that they led to before.

    A second call finds nothing to move. Return the regions that were moved `back`, with their versions.

    Raises:
        Refused: nothing was ever released, or a region doesn't answer. All others have been moved.
    """
    record: DeploymentRecord | None = carry_out(ReadRecord())
    if record is None:
        raise nothing_deployed("back")
    found = functions.aliases(_regions(record))
    aliases = {region: alias for region, alias in found.items() if isinstance(alias, Alias)}
    newest = max(aliases.values(), key=lambda alias: alias.since, default=Alias("")).newest
    if not newest:
        raise nothing_released()
    back = {region: alias for region, alias in aliases.items() if alias.build == newest and alias.before}

    def move(region: str) -> Alias | None:
        alias = back[region]
        functions.move(region, alias, alias.before, described_back(newest))
        write("INFO", phase="moved", region=region, version=alias.before, before=alias.version, build="")
        return alias

    results = {**found, **in_each(back, move)}
    failed = {region: str(error) for region, error in results.items() if isinstance(error, AliasError)}
    moved = {region: alias.before for region, alias in back.items() if region not in failed}
    if failed:
        raise unmoved(moved, failed)
    return {"back": moved}
