"""Waves: the order in which the regions' minting functions are updated, so that a bad build stops at the first wave."""

from collections import Counter
from collections.abc import Sequence
from typing import cast

from .checks import Checks
from .values import did_you_mean

FIRST = "first"
"""In a wave: the first region of the layout."""

REST = "rest"
"""In a wave: the regions that no wave names. If no wave has it, they join the last wave."""

DEFAULT = ((FIRST,), (REST,))


def waves(checks: Checks, regions: Sequence[str], leaving: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return every region of `regions` and `leaving` in its wave; all in one wave if the setting is an empty list.

    Adds what is wrong with the setting `waves` to the errors of `checks`.
    """
    first = regions[0] if regions else FIRST
    given = [[first if region == FIRST else region for region in wave] for wave in _given(checks)]
    _check(checks, given, (*regions, *leaving))
    named = {region for wave in given for region in wave}
    rest = [region for region in (*regions, *leaving) if region not in named]
    if REST not in named:
        given = [*given[:-1], [*(given[-1] if given else ()), REST]]
    return tuple(filter(None, (_with_rest(wave, rest) for wave in given)))


def _with_rest(wave: Sequence[str], rest: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for region in wave for name in (rest if region == REST else [region]))


def _given(checks: Checks) -> Sequence[Sequence[str]]:
    """Return what is set, or the default if it isn't set or has another type."""
    value = checks.value("waves")
    if value is None:
        return DEFAULT
    if not _is_lists_of_strings(value):
        example = checks.example("waves", [["eu-west-1"], [REST]])
        checks.wrong("waves", value, f"is not a list of lists of regions: {example}")
        return DEFAULT
    return cast("Sequence[Sequence[str]]", value)


def _check(checks: Checks, given: Sequence[Sequence[str]], regions: Sequence[str]) -> None:
    for number, wave in enumerate(given, 1):
        if not wave:
            checks.wrong("waves", given, f"has no region in wave {number}; name one, or remove the wave")
    for region, times in Counter(region for wave in given for region in wave).items():
        if region not in (*regions, FIRST, REST):  # without regions, FIRST is not replaced by a name
            where = f"neither in {checks.key('regions')} nor in {checks.key('leaving')}"
            checks.wrong("waves", region, f"is {where}{did_you_mean(region, (*regions, FIRST, REST))}")
        elif times > 1:
            checks.wrong("waves", region, f"is listed {times} times; each may be listed once")


def _is_lists_of_strings(value: object) -> bool:
    return _is_list(value) and all(
        _is_list(wave) and all(isinstance(region, str) for region in cast("Sequence[object]", wave))
        for wave in cast("Sequence[object]", value)
    )


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)
