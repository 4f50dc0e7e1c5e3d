"""The thresholds of alarms: their names in the settings, defaults, ranges and checks."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from .args import Settings
from .values import Findings, did_you_mean, whole

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


TOPIC = re.compile(r"arn:[a-z-]+:sns:([a-z0-9-]+):[0-9]{12}:[A-Za-z0-9_-]{1,256}")
"""Service authorization reference, "Amazon SNS": the ARN of a standard topic, with its region."""


def check_alarms(settings: Settings, findings: Findings) -> None:
    """Check the thresholds that are set, by alarm. 0 switches it off; `*` stands for those that are not named."""
    for name, value in settings.alarms.items():
        entry, number = f"alarms.{name}", whole(value)
        if name == ALL_OTHERS:
            if number != 0:
                findings.wrong(entry, value, "is not 0; for all alarms, only 0 (off) is allowed")
        elif name not in THRESHOLDS:
            hint = did_you_mean(name, THRESHOLDS) or f"; there are {', '.join(THRESHOLDS)}"
            findings.add(entry, f"there is no such alarm{hint}")
        elif number is None or not 0 <= number <= THRESHOLDS[name].most:
            what = "is not an integer" if number is None else "is out of range"
            allowed = f"0 (off) to {THRESHOLDS[name].most} {THRESHOLDS[name].unit} are allowed"
            findings.wrong(entry, value, f"{what}; {allowed}")


def check_alarm_topics(settings: Settings, findings: Findings) -> None:
    """Check the topics that alarms are sent to, by the region of both."""
    topic = f"arn:aws:sns:{settings.home or 'us-east-1'}:123456789012:operators"
    with_alarms = list(dict.fromkeys([settings.home, *settings.regions]))
    for region, arn in cast("Mapping[str, object]", settings.alarm_topics).items():
        entry = f"alarm_topics.{region}"
        match = TOPIC.fullmatch(arn) if isinstance(arn, str) else None
        if region not in with_alarms:
            findings.add(entry, f"the stack has no alarms there; it has some in {', '.join(with_alarms)}")
        elif match is None:
            findings.wrong(entry, arn, f"is not the ARN of an SNS topic like {topic}")
        elif match[1] != region:
            findings.wrong(entry, arn, f"is in {match[1]}; an alarm can only notify a topic of its own region")
