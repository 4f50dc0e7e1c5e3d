"""The thresholds of alarms: their names in the settings, defaults and ranges."""

from collections.abc import Mapping
from dataclasses import dataclass

ALL_OTHERS = "*"
"""In the setting: all alarms that are not named. It may only be 0."""

EVERY_REGION = ("errors", "throttles", "tableThrottles", "latency")
"""The alarms that each region has, in that region. All others are in the home region."""


@dataclass(frozen=True)
class Threshold:
    """One alarm's threshold. 0 switches the alarm off."""

    default: int
    most: int
    unit: str


THRESHOLDS: Mapping[str, Threshold] = {
    "errors": Threshold(10, 10**6, "responses 5xx in 5 minutes"),
    "throttles": Threshold(10, 10**6, "throttled requests in 5 minutes"),
    "tableThrottles": Threshold(10, 10**6, "throttled writes in 5 minutes"),
    "latency": Threshold(1000, 30_000, "milliseconds, of the slowest 1 %"),
    "unfinished": Threshold(15, 1440, "minutes"),
    "ceiling": Threshold(6, 9999, "hours"),
    "lostTables": Threshold(1, 100, "tables"),
    "failedRuns": Threshold(2, 10, "failed runs in a row or nearly so"),
    "noRun": Threshold(0, 1440, "minutes"),
}
"""Alarm → its threshold. The default of `noRun` depends on the schedule: `silence`."""


def thresholds(given: Mapping[str, int], watch_minutes: int) -> dict[str, int]:
    """Return the threshold of every alarm: what is given, or its default."""
    defaults = {name: threshold.default for name, threshold in THRESHOLDS.items()}
    defaults["noRun"] = silence(watch_minutes)
    if given.get(ALL_OTHERS) == 0:
        defaults = dict.fromkeys(defaults, 0)
    return {name: given.get(name, default) for name, default in defaults.items()}


def silence(watch_minutes: int) -> int:
    """Return after how many minutes without a run something is wrong: after three that didn't come."""
    return 3 * watch_minutes + 5
