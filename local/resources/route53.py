"""Records and health checks of Route 53, and the zone of a domain. Route 53 is global: the region doesn't matter.

The local server keeps all of it, but answers no DNS queries and asks no region for its health. Tags aren't set.
"""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from ..aws_clients import ANYWHERE, Aws
from ..paths import LocalError
from .kind import ID, Call, Described, Inputs, Kind


def _record_set(inputs: Inputs) -> dict[str, Any]:
    found: dict[str, Any] = {"Name": f"{inputs['name']}.", "Type": inputs["type"]}
    if "records" in inputs:
        found |= {"TTL": inputs["ttl"], "ResourceRecords": [{"Value": value} for value in inputs["records"]]}
    for alias in inputs.get("aliases", []):
        found["AliasTarget"] = {
            "HostedZoneId": alias["zoneId"],
            "DNSName": f"{alias['name']}.",
            "EvaluateTargetHealth": alias["evaluateTargetHealth"],
        }
    for policy in inputs.get("latencyRoutingPolicies", []):
        found |= {"SetIdentifier": inputs["setIdentifier"], "Region": policy["region"]}
    if "healthCheckId" in inputs:
        found["HealthCheckId"] = inputs["healthCheckId"]
    return found


def zone(aws: Aws, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the zone of a name, as the provider's function does. An id is refused before."""
    pages = aws.client("route53", ANYWHERE).get_paginator("list_hosted_zones").paginate()
    for found in (found for page in pages for found in page["HostedZones"]):
        zone_id, name = found["Id"].rpartition("/")[2], found["Name"].removesuffix(".")
        if name == arguments["name"]:
            private = found["Config"]["PrivateZone"]
            return {"id": zone_id, "zoneId": zone_id, "name": name, "privateZone": private}
    raise LocalError(f"no matching Route 53 Hosted Zone found: {arguments['name']}")


def make_zone(aws: Aws, name: str) -> None:
    """Make a public zone unless it is there. A stack finds its zone in the account: it doesn't make it."""
    client = aws.client("route53", ANYWHERE)
    found = client.list_hosted_zones_by_name(DNSName=name, MaxItems="1")["HostedZones"]
    if not any(one["Name"] == f"{name}." for one in found):
        client.create_hosted_zone(Name=name, CallerReference=str(uuid4()))


def _record_id(inputs: Inputs) -> str:
    parts = [inputs["zoneId"], inputs["name"], inputs["type"], inputs.get("setIdentifier")]
    return "_".join(filter(None, parts))


def _record(inputs: Inputs, found: Any) -> dict[str, Any] | None:
    wanted, keys = _record_set(inputs), ("Name", "Type", "SetIdentifier")
    there = any(all(one.get(key) == wanted.get(key) for key in keys) for one in found["ResourceRecordSets"])
    return {"fqdn": inputs["name"]} if there else None


def _change(action: str) -> Call:
    def changes(inputs: Inputs) -> Any:
        return {"Changes": [{"Action": action, "ResourceRecordSet": _record_set(inputs)}]}

    return Call("change_resource_record_sets", HostedZoneId="zoneId", ChangeBatch=changes)


CHANGED = Call(
    "update_health_check",
    "Port ResourcePath FailureThreshold",
    FullyQualifiedDomainName="fqdn",
    EnableSNI="enableSni",
    HealthCheckId=ID,
)


def _health_check(inputs: Inputs) -> dict[str, Any]:
    """Return what is asked, by the same names. A check that isn't made yet has no id."""
    return {"Type": inputs["type"], "RequestInterval": inputs["requestInterval"], **CHANGED.parameters(inputs)}


KINDS: dict[str, Kind] = {
    "aws:route53/healthCheck:HealthCheck": Described(  # it has no name of its own: what it asks tells it from others
        "route53",
        ("fqdn", "resourcePath"),
        id="{HealthCheck[Id]}",
        create=Call(
            "create_health_check", CallerReference=lambda _inputs: str(uuid4()), HealthCheckConfig=_health_check
        ),
        update=CHANGED,
        replaced_if=lambda before, inputs: before["requestInterval"] != inputs["requestInterval"],
        read_by=Call("get_health_check", HealthCheckId=ID),
        delete_by="delete_health_check",
    ),
    "aws:route53/record:Record": Described(  # of a shared name, each region has one
        "route53",
        ("zoneId", "name", "type", "setIdentifier"),
        id=_record_id,
        create=_change("UPSERT"),
        read_by=Call(
            "list_resource_record_sets",
            HostedZoneId="zoneId",
            StartRecordName=lambda inputs: f"{inputs['name']}.",
            StartRecordType="type",
            StartRecordIdentifier="setIdentifier",
            MaxItems=lambda _inputs: "1",
        ),
        now=_record,
        delete_by=_change("DELETE"),
    ),
}
