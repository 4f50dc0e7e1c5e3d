"""The dashboard of a deployment, as a plain value: one for all regions. It is written through the home region.

CloudWatch API reference, "Dashboard body structure and syntax". The first row says whether all is healthy, the others
say why not.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from .watched import Metric, Watched

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
    limit: Mapping[str, Any] | None = None
    """The threshold of an alarm, as CloudWatch draws it into the graph."""
    period: int = PERIOD


def body(watched: Watched) -> dict[str, Any]:
    """Return the dashboard as CloudWatch takes it: rows of graphs beside each other, each row under a heading."""
    widgets: list[dict[str, Any]] = []
    y = 0
    for heading, graphs in {"Is it well?": _healthy(watched), **_why_not(watched)}.items():
        text = {"markdown": f"## {heading}"}
        widgets.append({"type": "text", "x": 0, "y": y, "width": COLUMNS, "height": 1, "properties": text})
        width = COLUMNS // len(graphs)
        for number, graph in enumerate(graphs):
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


def _why_not(watched: Watched) -> dict[str, list[Graph]]:
    settings, between = watched.settings, watched.settings.watch_minutes * 60
    regions, limits = settings.regions, settings.alarms
    unfinished = Line(watched.stack("UnfinishedSeconds"), "age", "Maximum")
    too_long = _limit("unfinished", limits["unfinished"] * 60)
    ceilings, too_near = _paces(watched, "HoursToCeiling", "Minimum"), _limit("ceiling", limits["ceiling"], "below")
    state = [Line(watched.stack(name), name, "Maximum") for name in ("PendingRegions", "LostTables", "Repairs")]
    runs = [
        Line(watched.stack("Failed"), "runs", "SampleCount"),
        Line(watched.stack("Failed"), "failed"),
        Line(watched.coordinator("Errors"), "errors of the function"),
    ]
    executions = [Line(watched.url("ConcurrentExecutions", region), region, "Maximum") for region in regions]
    return {
        "The coordinator: changes, repairs, limits": [
            Graph("Unfinished change, seconds", [unfinished], too_long, between),
            Graph("Hours to the nearest ceiling", ceilings, too_near, between),
            Graph("Pending, lost, repaired", state, _limit("lostTables", limits["lostTables"]), between),
            Graph("Runs of the coordinator", runs, period=between),
        ],
        "The functions": [
            Graph("Throttled requests per minute", [Line(watched.url("Throttles", each), each) for each in regions]),
            Graph("Concurrent executions", executions),
            Graph("Responses 4xx per minute", _fronts(watched, regions, "Url4xxCount", "4xx")),
            Graph("The coordinator's run, ms", [Line(watched.coordinator("Duration"), "duration", "Maximum")]),
        ],
        "The counters tables": [
            Graph("Write units per minute", _tables(watched, "ConsumedWriteCapacityUnits")),
            Graph("Throttled writes per minute", _tables(watched, "WriteThrottleEvents")),
            Graph(
                "Throttled UpdateItem calls",
                [Line(watched.updates("ThrottledRequests", region), region) for region in regions],
            ),
            Graph("Failed conditions per minute", _tables(watched, "ConditionalCheckFailedRequests")),
        ],
    }


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


def _tables(watched: Watched, metric: str) -> list[Line]:
    return [Line(watched.table(metric, region), region) for region in watched.settings.regions]


def _paces(watched: Watched, metric: str, statistic: str) -> list[Line]:
    return [Line(watched.stack(metric, Region=region), region, statistic) for region in watched.settings.regions]


def _limit(alarm: str, value: float, bad: Literal["above", "below"] = "above") -> Mapping[str, Any] | None:
    return {"label": f"alarm: {alarm}", "value": value, "fill": bad} if value else None


def _properties(graph: Graph, home: str) -> dict[str, Any]:
    return {
        "title": graph.title,
        "view": "timeSeries",
        "region": home,
        "period": graph.period,
        "metrics": [_entry(line) for line in graph.lines],
        "yAxis": {"left": {"min": 0}},
        **({"annotations": {"horizontal": [graph.limit]}} if graph.limit else {}),
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
