"""The recipe gives the client's events to OpenTelemetry: its SDK here, with exporters in memory."""

import runpy
from typing import Any

import pytest
from global_integers import Integers, Leased, Requested
from global_integers.testing import Stack
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from local.paths import ROOT


def points(reader: InMemoryMetricReader) -> dict[str, list[tuple[Any, dict[str, Any]]]]:
    """Return the values and the attributes of each metric's data points."""
    data: Any = reader.get_metrics_data()
    (scope,) = data.resource_metrics[0].scope_metrics
    return {
        metric.name.removeprefix("global_integers."): [
            (getattr(point, "value", None), dict(point.attributes)) for point in metric.data.data_points
        ]
        for metric in scope.metrics
    }


def test_events_are_spans_and_metrics(
    integers_stack: Stack, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spans, reader, provider = InMemorySpanExporter(), InMemoryMetricReader(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    monkeypatch.setattr(metrics, "get_meter", MeterProvider([reader]).get_meter)
    monkeypatch.setattr(Integers, "from_env", integers_stack.integers)
    integers_stack.regions[0].fail("response lost")
    observe = runpy.run_path(str(ROOT / "tests" / "recipes" / "telemetry.py"))["observe"]
    observe(Requested("us-west-2", "health", 0.5, None))
    observe(Requested("us-west-2", "counter 'slow'", 1.5, None))
    observe(Leased("orders", "us-east-1", 100))

    assert capsys.readouterr().out == "2\n"
    failed, minted, order, slow = spans.get_finished_spans()
    for span, region in ((failed, "us-east-1"), (minted, "eu-west-1")):
        assert (span.name, span.kind, span.parent) == ("counter 'orders'", SpanKind.CLIENT, order.context)
        assert dict(span.attributes or {}) == {"region": region}
    assert "disconnected" in (failed.status.description or "")
    assert minted.status.description is None
    assert order.name == "order"
    assert (slow.end_time or 0) - (slow.start_time or 0) == 1_500_000_000

    measured = points(reader)
    requests = [attributes for _, attributes in measured["request.duration"]]
    assert {"region": "us-east-1", "subject": "counter 'orders'", "failed": True} in requests
    assert {"region": "eu-west-1", "subject": "counter 'orders'", "failed": False} in requests
    assert {"region": "us-west-2", "subject": "health", "failed": False} in requests
    assert measured["failovers"] == [(1, {"failed": "us-east-1", "following": "eu-west-1"})]
    assert measured["leased"] == [(100, {"counter": "orders", "region": "us-east-1"})]
