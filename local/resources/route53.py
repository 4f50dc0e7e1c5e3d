"""Records and health checks of Route 53, and the zone of an address. Route 53 is global: the region doesn't matter.

The local server keeps all of it, but answers no DNS queries and asks no region for its health. Tags aren't set.
"""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from ..engine.state import Made
from ..paths import LocalError
from .kind import Aws, Result

ANYWHERE = "us-east-1"


class Record:
    """A record. Of a shared name, each region has one."""

    identity: tuple[str, ...] = ("zoneId", "name", "type", "setIdentifier")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Write the record, over an earlier one."""
        _change(aws, "UPSERT", inputs)
        parts = [inputs["zoneId"], inputs["name"], inputs["type"], inputs.get("setIdentifier")]
        return Result("_".join(filter(None, parts)), {"fqdn": inputs["name"]})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs, or None if there is no such record."""
        wanted = _record_set(made.inputs)
        found = aws.client("route53", ANYWHERE).list_resource_record_sets(
            HostedZoneId=made.inputs["zoneId"],
            StartRecordName=wanted["Name"],
            StartRecordType=wanted["Type"],
            **({"StartRecordIdentifier": wanted["SetIdentifier"]} if "SetIdentifier" in wanted else {}),
            MaxItems="1",
        )["ResourceRecordSets"]
        keys = ("Name", "Type", "SetIdentifier")
        return made.outputs if any(all(one.get(key) == wanted.get(key) for key in keys) for one in found) else None

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete the record, which must be as it was written."""
        _change(aws, "DELETE", made.inputs)


def _change(aws: Aws, action: str, inputs: Mapping[str, Any]) -> None:
    aws.client("route53", ANYWHERE).change_resource_record_sets(
        HostedZoneId=inputs["zoneId"],
        ChangeBatch={"Changes": [{"Action": action, "ResourceRecordSet": _record_set(inputs)}]},
    )


def _record_set(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record as boto3 has it."""
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


class HealthCheck:
    """A health check. It has no name of its own: what it asks tells it from others."""

    identity: tuple[str, ...] = ("fqdn", "resourcePath")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Create the check, or change when it counts as failed. Its interval can't be changed."""
        client = aws.client("route53", ANYWHERE)
        changeable = {
            "Port": inputs["port"],
            "ResourcePath": inputs["resourcePath"],
            "FullyQualifiedDomainName": inputs["fqdn"],
            "FailureThreshold": inputs["failureThreshold"],
            "EnableSNI": inputs["enableSni"],
        }
        if before is not None and before.inputs["requestInterval"] == inputs["requestInterval"]:
            client.update_health_check(HealthCheckId=before.id, **changeable)
            return Result(before.id, {})
        made = client.create_health_check(
            CallerReference=str(uuid4()),
            HealthCheckConfig={
                "Type": inputs["type"],
                "RequestInterval": inputs["requestInterval"],
                **changeable,
            },
        )
        return Result(made["HealthCheck"]["Id"], {}, replaces=before is not None)

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs, or raise the service's error if it no longer exists."""
        aws.client("route53", ANYWHERE).get_health_check(HealthCheckId=made.id)
        return made.outputs

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete the check."""
        aws.client("route53", ANYWHERE).delete_health_check(HealthCheckId=made.id)


def zone(aws: Aws, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the public zone of an id or a name, as the provider's function does.

    Raises:
        LocalError: there is none.
    """
    wanted_id, wanted_name = arguments.get("zoneId"), arguments.get("name")
    pages = aws.client("route53", ANYWHERE).get_paginator("list_hosted_zones").paginate()
    for found in (found for page in pages for found in page["HostedZones"]):
        zone_id, name = found["Id"].rpartition("/")[2], found["Name"].removesuffix(".")
        if wanted_id == zone_id or wanted_name == name:
            private = found["Config"]["PrivateZone"]
            return {"id": zone_id, "zoneId": zone_id, "name": name, "privateZone": private}
    raise LocalError(f"no matching Route 53 Hosted Zone found: {wanted_id or wanted_name}")


def make_zone(aws: Aws, name: str) -> None:
    """Make a public zone unless it is there. A stack finds its zone in the account: it doesn't make it."""
    client = aws.client("route53", ANYWHERE)
    found = client.list_hosted_zones_by_name(DNSName=name, MaxItems="1")["HostedZones"]
    if not any(one["Name"] == f"{name}." for one in found):
        client.create_hosted_zone(Name=name, CallerReference=str(uuid4()))
