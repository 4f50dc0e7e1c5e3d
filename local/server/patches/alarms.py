"""CloudWatch alarms: refused or stored as CloudWatch does it (CloudWatch API reference, "PutMetricAlarm").

ministack stores an alarm on metric math as one without a metric, a percentile beside another statistic, and whatever
else was put.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from . import ministack, replaces

CLOUDWATCH = ministack("services.cloudwatch")

OF_METRIC = ("MetricName", "Namespace", "Dimensions", "Statistic", "ExtendedStatistic", "Period", "Unit")
"""Of an alarm on one metric. One on `Metrics` has none of them."""


@replaces(CLOUDWATCH, "_put_metric_alarm", '"Statistic": cbor_data.get("Statistic", "Average"),')
def as_put(put: Callable[..., Any], params: Any, asked: dict[str, Any], is_cbor: bool, is_json: bool = False) -> Any:
    """Store what was put, and nothing else, or refuse it."""
    if wrong := next((rule for rule, broken in _rules(asked) if broken), ""):
        return CLOUDWATCH._error("ValidationError", wrong, 400, use_json=is_json, use_cbor=is_cbor)
    response = put(params, asked, is_cbor, is_json)
    name, alarms = asked["AlarmName"], CLOUDWATCH._alarms
    alarms[name] = {key: value for key, value in alarms[name].items() if key not in OF_METRIC} | asked
    return response


def _rules(asked: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """Yield each rule, and whether an alarm breaks it."""
    queries, count = asked.get("Metrics", []), asked["EvaluationPeriods"]
    yield "either Metrics or MetricName", bool(queries) == bool({*OF_METRIC} & asked.keys())
    metrics = [query["MetricStat"] for query in queries if "MetricStat" in query] if queries else [asked]
    returned, names = [query.get("ReturnData", True) for query in queries], {query["Id"] for query in queries}
    yield "one of Metrics returns data", bool(queries) and returned.count(True) != 1
    used = {name for query in queries for name in re.findall(r"\b[a-z]\w*", query.get("Expression", ""))}
    yield "expressions use Ids of Metrics", not names >= used
    yield "one statistic", not queries and ("Statistic" in asked) == ("ExtendedStatistic" in asked)
    yield "a percentile is p0 to p100", not re.fullmatch(r"p(100|\d\d?(\.\d+)?)", asked.get("ExtendedStatistic", "p99"))
    periods = [metric.get("Period", 0) for metric in metrics]
    yield "a Period is a multiple of 60", any(each not in (10, 20, 30) and (each < 60 or each % 60) for each in periods)
    longest = max(periods, default=0)
    days = 7 if longest >= 3600 else 1
    yield f"all periods are at most {days} days", count * longest > days * 86_400
    yield "M of N", asked.get("DatapointsToAlarm", 1) > count
    missing = asked.get("TreatMissingData", "ignore")
    yield "TreatMissingData", missing not in ("breaching", "notBreaching", "ignore", "missing")
    few = asked.get("EvaluateLowSampleCountPercentile", "ignore")
    yield "EvaluateLowSampleCountPercentile", few not in ("evaluate", "ignore")
