"""The metrics of a deployment that the alarms and the dashboard use, by its names."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi

from ..names import ResourceNames

COORDINATOR = "GlobalIntegers"
"""The namespace of the coordinator's metrics, which are all in the home region (coordinate/metrics.py)."""

OF_REST_APIS = {"4xx": "4XXError", "5xx": "5XXError"}
"""What REST APIs call metrics of HTTP APIs. The others are called the same."""


@dataclass(frozen=True)
class StackMetrics:
    """The metrics of a deployment, and what decides which of them are shown, and from when on there is an alarm."""

    names: ResourceNames
    home: str
    regions: Sequence[str]
    """Those of the layout."""
    leaving: Sequence[str]
    paused: Sequence[str]
    function_urls: bool
    """Whether there are any."""
    signed: bool
    """Whether callers sign. Then a domain's APIs are REST APIs."""
    schedule_minutes: int
    """Minutes between two runs of the coordinator."""
    thresholds: Mapping[str, int]
    """Of every alarm; 0 if it is off."""
    apis: Mapping[str, pulumi.Input[str]]
    """With `domain`: region → the id of the domain's API there. Leaving regions have one too."""

    def domain(self, metric: str, region: str) -> "Metric":
        """Return a metric of the domain's API in a region, by its name for HTTP APIs.

        API Gateway guide, "Working with metrics for HTTP APIs" and "Amazon API Gateway dimensions and metrics" (REST).
        """
        if self.signed:
            name = OF_REST_APIS.get(metric, metric)
            return Metric(region, "AWS/ApiGateway", name, {"ApiName": self.names.domain_api})
        return Metric(region, "AWS/ApiGateway", metric, {"ApiId": self.apis[region]})

    def url(self, metric: str, region: str) -> "Metric":
        """Return a metric of a minting function, or of its URL (Lambda guide, "Monitoring Lambda function URLs")."""
        return Metric(region, "AWS/Lambda", metric, {"FunctionName": self.names.mint_function})

    def table(self, metric: str, region: str, **dimensions: str) -> "Metric":
        """Return a metric of a counters table (DynamoDB guide, "DynamoDB metrics and dimensions")."""
        return Metric(region, "AWS/DynamoDB", metric, {"TableName": self.names.counters_table, **dimensions})

    def coordinator(self, metric: str) -> "Metric":
        """Return a metric of the coordinator's function."""
        return Metric(self.home, "AWS/Lambda", metric, {"FunctionName": self.names.coordinate_function})

    def stack(self, metric: str, **dimensions: str) -> "Metric":
        """Return a metric that the coordinator's runs write, of the stack or of a `Region`."""
        return Metric(self.home, COORDINATOR, metric, {"Stack": self.names.prefix, **dimensions})


@dataclass(frozen=True)
class Metric:
    """A metric of CloudWatch."""

    region: str
    """Where it is kept."""
    namespace: str
    name: str
    dimensions: Mapping[str, pulumi.Input[str]]
