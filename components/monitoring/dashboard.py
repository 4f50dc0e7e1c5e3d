"""The dashboard of a deployment, as a plain value: one for all regions. It is written through the home region.

CloudWatch API reference, "Dashboard body structure and syntax". The first row says whether all is healthy, the others
say why not.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from .metrics import Metric, Watched

COLUMNS = 24
HEIGHT = 6
PERIOD = 60
"""Seconds of a point in a graph."""


@dataclass(frozen=True)
class Line:
    """One metric in a graph."""

    metric: Metric
    label: str
    statistic: str = "Sum"


@dataclass(frozen=True)
class Graph:
    """A graph with a line for each region, or for each of a few metrics."""

    title: str
    lines: Sequence[Line]
    limit: "Limit | None" = None
    period: int = PERIOD


@dataclass(frozen=True)
class Limit:
    """The threshold of an alarm, drawn into its graph."""

    alarm: str
    """What the settings call it."""
    value: float
    bad: Literal["above", "below"] = "above"


@dataclass(frozen=True)
class Row:
    """Graphs beside each other, under a heading."""

    heading: str
    graphs: Sequence[Graph]


def rows(watched: Watched) -> list[Row]:
    """Return what the dashboard shows, from the top."""
    return [Row("Is it well?", _healthy(watched)), *_why_not(watched)]


def body(watched: Watched) -> dict[str, Any]:
    """Return the dashboard as CloudWatch takes it."""
    widgets: list[dict[str, Any]] = []
    y = 0
    for row in rows(watched):
        text = {"markdown": f"## {row.heading}"}
        widgets.append({"type": "text", "x": 0, "y": y, "width": COLUMNS, "height": 1, "properties": text})
        width = COLUMNS // len(row.graphs)
        for number, graph in enumerate(row.graphs):
            place = {"x": number * width, "y": y + 1, "width": width, "height": HEIGHT}
            widgets.append({"type": "metric", **place, "properties": _properties(graph, watched.settings.home)})
        y += 1 + HEIGHT
    return {"widgets": widgets}


def _healthy(watched: Watched) -> list[Graph]:
    limits = watched.settings.alarms
    slow = [
        replace(line, label=f"{line.label} {percentile}", statistic=percentile)
        for line in _fronts(watched, watched.settings.regions, "UrlRequestLatency", "Latency")
        for percentile in ("p50", "p99")
    ]
    leaving = _fronts(watched, watched.settings.leaving, "UrlRequestCount", "Count", "SampleCount")
    requests = [
        *_fronts(watched, watched.settings.regions, "UrlRequestCount", "Count", "SampleCount"),
        *(replace(line, label=f"{line.label} (leaving)") for line in leaving),
    ]
    errors = _fronts(watched, watched.settings.regions, "Url5xxCount", "5xx")
    paces = _paces(watched, "IntegersPerSecond", "Average")
    return [
        Graph("Requests per minute", requests),
        Graph("Responses 5xx in 5 minutes", errors, _limit("errors", limits["errors"]), period=300),
        Graph("Latency, ms", slow, _limit("latency", limits["latency"])),
        Graph("Integers per second", paces, period=watched.settings.watch_minutes * 60),
    ]


def _why_not(watched: Watched) -> list[Row]:
    limits, between = watched.settings.alarms, watched.settings.watch_minutes * 60
    state = [Line(watched.stack(name), name, "Maximum") for name in ("PendingRegions", "LostTables", "Repairs")]
    runs = [
        Line(watched.stack("Failed"), "runs", "SampleCount"),
        Line(watched.stack("Failed"), "failed"),
        Line(watched.coordinator("Errors"), "errors of the function"),
    ]
    return [
        Row(
            "The coordinator: changes, repairs, limits",
            [
                Graph(
                    "Unfinished change, seconds",
                    [Line(watched.stack("UnfinishedSeconds"), "age", "Maximum")],
                    _limit("unfinished", limits["unfinished"] * 60),
                    period=between,
                ),
                Graph(
                    "Hours to the nearest ceiling",
                    _paces(watched, "HoursToCeiling", "Minimum"),
                    _limit("ceiling", limits["ceiling"], "below"),
                    period=between,
                ),
                Graph("Pending, lost, repaired", state, _limit("lostTables", limits["lostTables"]), period=between),
                Graph("Runs of the coordinator", runs, period=between),
            ],
        ),
        Row(
            "The functions",
            [
                Graph("Throttled requests per minute", _functions(watched, "Throttles")),
                Graph("Concurrent executions", _functions(watched, "ConcurrentExecutions", "Maximum")),
                Graph("Responses 4xx per minute", _fronts(watched, watched.settings.regions, "Url4xxCount", "4xx")),
                Graph("The coordinator's run, ms", [Line(watched.coordinator("Duration"), "duration", "Maximum")]),
            ],
        ),
        Row(
            "The counters tables",
            [
                Graph("Write units per minute", _tables(watched, "ConsumedWriteCapacityUnits")),
                Graph("Throttled writes per minute", _tables(watched, "WriteThrottleEvents")),
                Graph(
                    "Throttled UpdateItem calls",
                    _each(watched.settings.regions, lambda region: watched.updates("ThrottledRequests", region)),
                ),
                Graph("Failed conditions per minute", _tables(watched, "ConditionalCheckFailedRequests")),
            ],
        ),
    ]


def _fronts(
    watched: Watched, regions: Iterable[str], of_url: str, of_domain: str, statistic: str = "Sum"
) -> list[Line]:
    """Return a line for each way by which callers come: a region's Function URL, and its API of the domain.

    The statistic is that of the API's metric.
    """
    lines: list[Line] = []
    for region in regions:
        if watched.settings.function_urls:
            lines.append(Line(watched.url(of_url, region), region))
        if region in watched.apis:
            lines.append(Line(watched.domain(of_domain, region), f"{region} (address)", statistic))
    return lines


def _functions(watched: Watched, metric: str, statistic: str = "Sum") -> list[Line]:
    return _each(watched.settings.regions, lambda region: watched.url(metric, region), statistic)


def _tables(watched: Watched, metric: str) -> list[Line]:
    return _each(watched.settings.regions, lambda region: watched.table(metric, region))


def _paces(watched: Watched, metric: str, statistic: str) -> list[Line]:
    return _each(watched.settings.regions, lambda region: watched.stack(metric, Region=region), statistic)


def _each(regions: Iterable[str], metric: Callable[[str], Metric], statistic: str = "Sum") -> list[Line]:
    return [Line(metric(region), region, statistic) for region in regions]


def _limit(alarm: str, value: float, bad: Literal["above", "below"] = "above") -> Limit | None:
    return Limit(alarm, value, bad) if value else None


def _properties(graph: Graph, home: str) -> dict[str, Any]:
    annotations: dict[str, Any] = {}
    if graph.limit is not None:
        line = {"label": f"alarm: {graph.limit.alarm}", "value": graph.limit.value, "fill": graph.limit.bad}
        annotations = {"annotations": {"horizontal": [line]}}
    return {
        "title": graph.title,
        "view": "timeSeries",
        "region": home,
        "period": graph.period,
        "metrics": [_entry(line) for line in graph.lines],
        "yAxis": {"left": {"min": 0}},
        **annotations,
    }


def _entry(line: Line) -> list[Any]:
    metric = line.metric
    dimensions = [part for dimension in metric.dimensions.items() for part in dimension]
    return [
        metric.namespace,
        metric.name,
        *dimensions,
        {"label": line.label, "stat": line.statistic, "region": metric.region},
    ]
