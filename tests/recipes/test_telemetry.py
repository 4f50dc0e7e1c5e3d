"""The recipe gives the client's events to OpenTelemetry: its SDK here, with exporters in memory."""

import runpy
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import httpx
import pytest
from global_integers import Integers, Leased, Requested
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from local.paths import ROOT

RECIPE = ROOT / "tests" / "recipes" / "telemetry.py"


def respond(request: httpx.Request) -> httpx.Response:
    """Mint in us-east-1; eu-west-1 is healthy and mints nothing."""
    region = request.url.host.removesuffix(".test")
    if request.method == "GET":
        return httpx.Response(200, json={"status": "ok", "region": region})
    if region == "eu-west-1":
        return httpx.Response(503, headers={"Content-Type": "application/problem+json"}, content=b'{"detail": "busy"}')
    count = int(request.url.params["count"])
    block = {"counter": "orders", "region": region, "first": 1, "last": 2 * count - 1, "stride": 2, "count": count}
    return httpx.Response(200, json=block)


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """What the service's tracers have exported."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    return exporter


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> InMemoryMetricReader:
    """What the service's meters have measured."""
    reader = InMemoryMetricReader()
    monkeypatch.setattr(metrics, "get_meter", MeterProvider([reader]).get_meter)
    return reader


def points(reader: InMemoryMetricReader) -> dict[str, list[Any]]:
    """Return each metric's data points."""
    data: Any = reader.get_metrics_data()
    (scope,) = data.resource_metrics[0].scope_metrics
    return {metric.name: list(metric.data.data_points) for metric in scope.metrics}


def shown(finished: Iterable[ReadableSpan]) -> list[tuple[str, SpanKind, Any, str | None]]:
    return [(span.name, span.kind, (span.attributes or {}).get("region"), span.status.description) for span in finished]


def test_events_are_spans_and_metrics(
    spans: InMemorySpanExporter,
    reader: InMemoryMetricReader,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    original: Callable[..., Integers] = Integers.from_env
    http = partial(httpx.Client, transport=httpx.MockTransport(respond))
    monkeypatch.setenv(
        "GLOBAL_INTEGERS_URLS", '{"eu-west-1": "http://eu-west-1.test/", "us-east-1": "http://us-east-1.test/"}'
    )
    monkeypatch.setattr(Integers, "from_env", partial(original, http=http, prefer="eu-west-1"))
    observe = runpy.run_path(str(RECIPE))["observe"]
    observe(Requested("us-west-2", "health", 0.5, None))
    observe(Requested("us-west-2", "counter 'slow'", 1.5, None))
    observe(Leased("orders", "us-east-1", 100))

    assert capsys.readouterr().out == "1\n"
    *asked, order, slow = spans.get_finished_spans()
    failed, minted = shown(asked)
    assert failed[:3] == ("counter 'orders'", SpanKind.CLIENT, "eu-west-1")
    assert "busy" in (failed[3] or "")
    assert minted == ("counter 'orders'", SpanKind.CLIENT, "us-east-1", None)
    assert order.name == "order"
    assert [span.parent for span in asked] == [order.context] * 2
    assert (slow.end_time or 0) - (slow.start_time or 0) == 1_500_000_000

    measured = points(reader)
    requests = [dict(point.attributes) for point in measured["global_integers.request.duration"]]
    assert {"region": "eu-west-1", "subject": "counter 'orders'", "failed": True} in requests
    assert {"region": "us-east-1", "subject": "counter 'orders'", "failed": False} in requests
    assert {"region": "us-west-2", "subject": "health", "failed": False} in requests
    (failover,) = measured["global_integers.failovers"]
    assert (failover.value, dict(failover.attributes)) == (1, {"failed": "eu-west-1", "following": "us-east-1"})
    (leased,) = measured["global_integers.leased"]
    assert (leased.value, dict(leased.attributes)) == (100, {"counter": "orders", "region": "us-east-1"})
