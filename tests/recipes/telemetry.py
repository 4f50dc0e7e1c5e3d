"""The client's events as spans and metrics of OpenTelemetry. Copy it into your service."""

import time

from global_integers import FailedOver, Integers, Leased, Requested
from opentelemetry import metrics, trace
from opentelemetry.trace import SpanKind, StatusCode

tracer = trace.get_tracer("global_integers")
meter = metrics.get_meter("global_integers")
duration = meter.create_histogram("global_integers.request.duration", unit="s")
failovers = meter.create_counter("global_integers.failovers")
leased = meter.create_counter("global_integers.leased", unit="{integer}")


def observe(event: Requested | FailedOver | Leased) -> None:
    match event:
        case Requested(region, subject, seconds, failure):
            duration.record(seconds, {"region": region, "subject": subject, "failed": failure is not None})
            if subject == "health":  # in the background, for no caller
                return
            end = time.time_ns()
            start = end - int(seconds * 1e9)
            span = tracer.start_span(subject, kind=SpanKind.CLIENT, start_time=start)
            span.set_attribute("region", region)
            if failure is not None:
                span.set_status(StatusCode.ERROR, failure)
            span.end(end)
        case FailedOver(failed, following, _):
            failovers.add(1, {"failed": failed, "following": following})
        case Leased(counter, region, size):
            leased.add(size, {"counter": counter, "region": region})


with Integers.from_env(observer=observe) as integers, tracer.start_as_current_span("order"):
    print(integers["orders"].next())
