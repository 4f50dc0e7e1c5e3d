"""The process that stands for a stack's domain on this machine: its start, its end, and how to call it."""

from collections.abc import Mapping
from typing import Any

from ..paths import LocalError, command
from ..server.process import BackgroundService
from ..stack import State, stacks
from . import zone
from .zone import FROM, host_of

LOCAL = "localDomainUrl"
"""The output that is added here: the URL on this machine that stands for the output `domainUrl`."""

DOMAIN = BackgroundService("domain", "local.domain.domain_server", "the process that stands for the domain")
"""Recorded by the name of the output."""


def serve(stack: str, exported: Mapping[str, Any], endpoint: str) -> dict[str, Any]:
    """Start the domain's process, or end it if no deployment has a domain. Return the outputs with its URL."""
    outputs = dict(exported)
    if "domainUrl" in outputs and "records" not in outputs:  # without a zone, it would have no records to decide by
        outputs[LOCAL] = f"{DOMAIN.running(endpoint).endpoint}/"
        State(stack).finish(outputs)
    elif all(LOCAL not in State(other).outputs for other in stacks()):
        DOMAIN.stop()
    return outputs


def only_one(stack: str, domain: str) -> None:
    """Refuse a second stack with a domain: the process could not know which of them a caller means."""
    taken = [other for other in stacks() if other != stack and LOCAL in State(other).outputs]
    if domain and taken:
        raise LocalError(
            f"domain: the stack {taken[0]} has a domain on this machine, and only one stack can have one. Leave out "
            f"hostedZone (then nothing answers at {domain} here), or take its domain away: "
            f"{command(f'up --stack {taken[0]}')}"
        )


def how_to(outputs: Mapping[str, Any]) -> str:
    """Return how to call the domain here, in lines."""
    if "domainUrl" not in outputs:
        return ""
    if LOCAL not in outputs:
        again = command(f"up -c domain={host_of(outputs['domainUrl'])} -c hostedZone={host_of(outputs['domainUrl'])}")
        return f"domain: the records are made by hand, so nothing answers at it here. To try it: {again}\n"
    host, url, last = host_of(outputs["domainUrl"]), outputs[LOCAL], outputs["regions"][-1]
    signed = "  callers sign for execute-api; a signature can be checked here only for the name of one region\n"
    return (
        f"domain: a small process here stands for {outputs['domainUrl']}, without TLS\n"
        f"  the nearest region:    curl {url}    (Host: {host})\n"
        f"  one region:            curl -H 'Host: {last}.{host}' {url}\n"
        f"  seen from elsewhere:   curl -H '{FROM}: {last}' {url}\n"
        f"{signed if any(api.signed for api in zone.read('').apis.values()) else ''}"
    )
