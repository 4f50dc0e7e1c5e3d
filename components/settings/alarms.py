"""The thresholds of alarms: their names in the settings, defaults, ranges and checks."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from .values import ValueChecks, did_you_mean, whole

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


ADDRESS = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")

TOPIC = re.compile(r"arn:[a-z-]+:sns:([a-z0-9-]+):[0-9]{12}:[A-Za-z0-9_-]{1,256}")
"""Service authorization reference, "Amazon SNS": the ARN of a standard topic, with its region."""


class AlarmChecks(ValueChecks):
    """Checks the settings of alarms and returns their values. Each error adds a line to `errors`."""

    def alarms(self) -> dict[str, int]:
        """Return the thresholds that are set, by alarm. 0 switches it off; `*` stands for those that are not named."""
        found: dict[str, int] = {}
        for name, value in self._entries("alarms", {"latency": 500}, "alarms and integers").items():
            number = whole(value)
            if name == ALL_OTHERS:
                if number != 0:
                    self.errors.append(
                        f"{self._key('alarms')}.*: {value!r} is not 0; for all alarms, only 0 (off) is allowed"
                    )
                found[name] = 0
            elif name not in THRESHOLDS:
                hint = did_you_mean(name, THRESHOLDS) or f"; there are {', '.join(THRESHOLDS)}"
                self.errors.append(f"{self._key('alarms')}.{name}: there is no such alarm{hint}")
            elif number is None or not 0 <= number <= THRESHOLDS[name].most:
                what = "is not an integer" if number is None else "is out of range"
                allowed = f"0 (off) to {THRESHOLDS[name].most} {THRESHOLDS[name].unit} are allowed"
                self.errors.append(f"{self._key('alarms')}.{name}: {value!r} {what}; {allowed}")
            else:
                found[name] = number
        return found

    def alarm_emails(self) -> tuple[str, ...]:
        """Return the addresses that alarms are sent to."""
        addresses = self.strings("alarm_emails", (), ["operator@shop.example"], may_be_empty=True)
        for address in dict.fromkeys(addresses):
            if not ADDRESS.fullmatch(address):
                self.wrong("alarm_emails", address, "is not an e-mail address like operator@shop.example")
        return addresses

    def alarm_topics(self, home: str, regions: Sequence[str]) -> dict[str, str]:
        """Return the topics that alarms are sent to, by the region of both."""
        topic = f"arn:aws:sns:{home or 'us-east-1'}:123456789012:operators"
        found: dict[str, str] = {}
        with_alarms = list(dict.fromkeys([home, *regions]))
        for region, arn in self._entries("alarm_topics", {home: topic}, "regions and ARNs").items():
            key = f"{self._key('alarm_topics')}.{region}"
            match = TOPIC.fullmatch(arn) if isinstance(arn, str) else None
            if region not in with_alarms:
                self.errors.append(f"{key}: the stack has no alarms there; it has some in {', '.join(with_alarms)}")
            elif match is None:
                self.errors.append(f"{key}: {arn!r} is not the ARN of an SNS topic like {topic}")
            elif match[1] != region:
                self.errors.append(
                    f"{key}: {arn!r} is in {match[1]}; an alarm can only notify a topic of its own region"
                )
            else:
                found[region] = arn
        return found

    def _entries(self, name: str, example: Mapping[str, object], what: str) -> Mapping[str, Any]:
        value = self._values.get(name)
        if value is None:
            return {}
        if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in cast("Mapping[Any, Any]", value)):
            self.wrong(name, cast("object", value), f"is not an object of {what}: {self._example(name, example)}")
            return {}
        return cast("Mapping[str, Any]", value)
