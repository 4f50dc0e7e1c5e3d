"""How to call a deployment's address on this machine."""

from collections.abc import Mapping
from typing import Any

from ..engine.configuration import stacks
from ..engine.state import State
from ..paths import command
from . import zone
from .process import ADDRESS, running
from .server import FROM
from .zone import host_of

LOCAL = "localAddress"
"""The output that is added here: the URL on this machine that stands for the output `address`."""


def serve(stack: str, exported: Mapping[str, Any], endpoint: str) -> dict[str, Any]:
    """Start the address's process, or end it if no deployment has an address. Return the outputs with its URL.

    Without a hosted zone it isn't started: it decides by the zone's records, and there are none.
    """
    outputs = dict(exported)
    if "address" in outputs and "records" not in outputs:
        outputs[LOCAL] = running(endpoint)
        State(stack).finish(outputs)
    elif all(LOCAL not in State(other).outputs for other in stacks()):
        ADDRESS.stop()
    return outputs


def how_to(outputs: Mapping[str, Any]) -> str:
    """Return how to call the address here, in lines."""
    if "address" not in outputs:
        return ""
    if LOCAL not in outputs:
        again = command(f"up -c domain={host_of(outputs['address'])} -c hostedZone={host_of(outputs['address'])}")
        return f"address: the records are made by hand, so nothing answers at it here. To try it: {again}\n"
    host, url, last = host_of(outputs["address"]), outputs[LOCAL], outputs["regions"][-1]
    if any(api.signed for api in zone.apis("").values()):
        signed = "  callers sign for execute-api; a signature can be checked here only for the name of one region\n"
    else:
        signed = ""
    return (
        f"address: a small process here stands for {outputs['address']}, without TLS\n"
        f"  the nearest region:    curl {url}    (Host: {host})\n"
        f"  one region:            curl -H 'Host: {last}.{host}' {url}\n"
        f"  seen from elsewhere:   curl -H '{FROM}: {last}' {url}\n"
        f"{signed}"
    )


def moving(outputs: Mapping[str, Any]) -> str:
    """Return how to see the address move to another region, in lines."""
    first = outputs["regions"][0]
    return (
        f"take a region down:  run `up` again as before, with -c 'paused=[\"{first}\"]' added. Within seconds,\n"
        f"                     the address answers from the next region: curl {outputs[LOCAL]}"
    )


def plain(urls: Mapping[str, str]) -> dict[str, str]:
    """Return URLs without TLS, which the address doesn't have here."""
    return {region: url.replace("https://", "http://", 1) for region, url in urls.items()}
