"""The process that stands for a stack's domain on this machine: its start, its end, and how to call it."""

from collections.abc import Mapping
from typing import Any

from ..paths import LocalError, command
from ..server.process import BackgroundService
from ..stack import State, stacks
from .zone import host_of

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
    host = host_of(outputs["domainUrl"])
    if LOCAL not in outputs:
        again = command(f"up -c domain={host} -c hostedZone={host}")
        return f"domain: the records are made by hand, so nothing answers at it here. To try it: {again}\n"
    return (
        f"domain: a small process here stands for {outputs['domainUrl']}, without TLS: curl {outputs[LOCAL]}\n"
        f"  one region: curl -H 'Host: {outputs['regions'][-1]}.{host}' {outputs[LOCAL]}   (more in docs/domain.md)\n"
    )
