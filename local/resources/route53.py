"""Zones, records and health checks of Route 53.

The local server would answer no DNS queries and ask no region for its health. `local/domain/` does both, by what is
registered; so the server gets neither records nor health checks, and every zone is there.
"""

from collections.abc import Mapping
from typing import Any

from ..aws_clients import Aws
from .kind import Kind, NotMade


def zone(_aws: Aws, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the public zone of a name, as the provider's function does."""
    name = arguments["name"]
    return {"id": f"Z{name}", "zoneId": f"Z{name}", "name": name, "privateZone": False}


KINDS: dict[str, Kind] = {
    # It has no name of its own: what it asks tells it from others.
    "aws:route53/healthCheck:HealthCheck": NotMade(("fqdn", "resourcePath"), "{fqdn}{resourcePath}"),
    "aws:route53/record:Record": NotMade(  # of a shared name, each region has one
        ("zoneId", "name", "type", "setIdentifier"), "{zoneId}_{name}_{type}", {"fqdn": "{name}"}
    ),
}
