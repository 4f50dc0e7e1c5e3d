"""The dashboard of all regions, as a plain value (CloudWatch API reference, "Dashboard body structure and syntax").

The first row says whether all is healthy, the others say why not.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from .stack_metrics import Metric, StackMetrics

COLUMNS = 24
HEIGHT = 6


def body(metrics: StackMetrics) -> dict[str, Any]:
    """Return the dashboard as CloudWatch takes it: rows of graphs beside each other, each row under a heading."""
    widgets: list[dict[str, Any]] = []
    y = 0
    for heading, graphs in _rows(metrics).items():
        text = {"markdown": f"## {heading}"}
        widgets.append({"type": "text", "x": 0, "y": y, "width": COLUMNS, "height": 1, "properties": text})
        width = COLUMNS // len(graphs)
        for number, graph in enumerate(graphs):
            position = {"x": number * width, "y": y + 1, "width": width, "height": HEIGHT}
            widgets.append({"type": "metric", **position, "properties": graph})
        y += 1 + HEIGHT
    return {"widgets": widgets}


def _rows(metrics: StackMetrics) -> dict[str, list[dict[str, Any]]]:
    stack, between = metrics.stack, metrics.schedule_minutes * 60
    regions, limits, graph = metrics.regions, metrics.thresholds, partial(_graph, metrics.home)
    deployed = (*regions, *metrics.leaving)
    requests = [_line(*entry) for entry in _callers_metrics(metrics, deployed, "UrlRequestCount", "Count")]
    slow = [
        _line(metric, f"{label} {percentile}", percentile)
        for metric, label, _ in _callers_metrics(metrics, regions, "Duration", "Latency")
        for percentile in ("p50", "p99")
    ]
    if metrics.function_urls:  # with cold starts, which `Duration` is without; it may have no percentiles
        slow += [_line(metrics.url("UrlRequestLatency", region), f"{region} slowest", "Maximum") for region in regions]
    errors = [_line(*entry) for entry in _callers_metrics(metrics, regions, "Url5xxCount", "5xx")]
    refused = [_line(*entry) for entry in _callers_metrics(metrics, regions, "Url4xxCount", "4xx")]
    runs = [
        _line(stack("FailedRuns"), "runs", "SampleCount"),
        _line(stack("FailedRuns"), "failed"),
        _line(metrics.coordinator("Errors"), "errors of the function"),
    ]

    def rates(metric: str, statistic: str) -> list[Any]:
        return [_line(stack(metric, Region=region), region, statistic) for region in regions]

    def functions(metric: str, statistic: str = "Sum") -> list[Any]:
        return [_line(metrics.url(metric, region), region, statistic) for region in regions]

    def tables(metric: str, **dimensions: str) -> list[Any]:
        return [_line(metrics.table(metric, region, **dimensions), region) for region in regions]

    unfinished = _line(stack("UnfinishedSeconds"), "age", "Maximum")
    state = [_line(stack(name), name, "Maximum") for name in ("PendingRegions", "LostTables", "Repairs")]
    duration = _line(metrics.coordinator("Duration"), "duration", "Maximum")
    return {
        "Is it healthy?": [
            graph("Requests per minute", requests),
            graph("Responses 5xx in 5 minutes", errors, 300, errors=limits["errors"]),
            graph("Latency, ms", slow, latency=limits["latency"]),
            graph("Integers per second", rates("IntegersPerSecond", "Average"), between),
        ],
        "The coordinator: changes, repairs, limits": [
            graph("Unfinished change, seconds", [unfinished], between, unfinished=limits["unfinished"] * 60),
            graph("Percent of a window left", rates("WindowLeft", "Minimum"), between, ceiling=limits["ceiling"]),
            graph("Pending, lost, repaired", state, between, lostTables=limits["lostTables"]),
            graph("Runs of the coordinator", runs, between),
        ],
        "The functions": [
            graph("Throttled requests per minute", functions("Throttles")),
            graph("Concurrent executions", functions("ConcurrentExecutions", "Maximum")),
            graph("Responses 4xx per minute", refused),
            graph("The coordinator's run, ms", [duration]),
        ],
        "The counters tables": [
            graph("Write units per minute", tables("ConsumedWriteCapacityUnits")),
            graph("Throttled writes per minute", tables("WriteThrottleEvents")),
            graph("Throttled UpdateItem calls", tables("ThrottledRequests", Operation="UpdateItem")),
            graph("Failed conditions per minute", tables("ConditionalCheckFailedRequests")),
        ],
    }


def _callers_metrics(
    metrics: StackMetrics, regions: Iterable[str], of_url: str, of_domain: str
) -> Iterator[tuple[Metric, str, str]]:
    """Return metric, label and statistic of each way in for callers: the function or its URL, and the domain's API."""
    for region in regions:
        leaving = " (leaving)" if region in metrics.leaving else ""
        if metrics.function_urls:
            yield metrics.url(of_url, region), f"{region}{leaving}", "Sum"
        if region in metrics.apis:
            statistic = "SampleCount" if of_domain == "Count" else "Sum"
            yield metrics.domain(of_domain, region), f"{region} (domain){leaving}", statistic


def _line(metric: Metric, label: str, statistic: str = "Sum") -> list[Any]:
    dimensions = [part for dimension in metric.dimensions.items() for part in dimension]
    shown = {"label": label, "stat": statistic, "region": metric.region}
    return [metric.namespace, metric.name, *dimensions, shown]


def _graph(home: str, title: str, lines: list[Any], period: int = 60, **limits: float) -> dict[str, Any]:
    """Return a graph with a point every `period` seconds, and the threshold of an alarm that is switched on."""
    drawn = [
        {"label": f"alarm: {alarm}", "value": value, "fill": "below" if alarm == "ceiling" else "above"}
        for alarm, value in limits.items()
        if value
    ]
    return {
        "title": title,
        "view": "timeSeries",
        "region": home,
        "period": period,
        "metrics": lines,
        "yAxis": {"left": {"min": 0}},
        **({"annotations": {"horizontal": drawn}} if drawn else {}),
    }
