"""Pulumi's mocks for programs that use `GlobalIntegers`: their tests need no AWS, no engine and no server.

    aws, outputs = Mocks(), {}
    asyncio.set_event_loop(asyncio.new_event_loop())  # Pulumi needs one, and from Python 3.14 on there is none
    pulumi.runtime.set_mocks(aws, project="shop", stack="test")

    @pulumi.runtime.test  # it returns once everything is registered
    def deploy():
        integers = runpy.run_path("__main__.py")["integers"]
        return pulumi.Output.all(regions=integers.regions, urls=integers.urls).apply(outputs.update)

    def test_integers_are_minted_in_two_regions():
        deploy()
        assert outputs["regions"] == list(outputs["urls"]) == ["us-east-1", "eu-west-1"]

The program sees a stack's first deployment. With `set_mocks(…, preview=True)` it sees the preview of that, in which
Pulumi doesn't know yet what AWS and the coordinator will reply.
"""

import json
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, cast

import pulumi
from pulumi.runtime import MockCallArgs, MockResourceArgs
from pulumi.runtime.rpc import unwrap_rpc_secret

from global_integers_core.lattice import MAX_INTEGER, places
from global_integers_core.names import CHECK_COUNTER
from global_integers_core.records import ADMITTED_KEY, HOME_KEY, RECORD_KEY

__all__ = ["Mocks"]

ACCOUNT = "123456789012"

LABEL = "2026-11-21T00:00:00.000"
"""Of a table's stream: when it was made."""

OURS = "global-integers:index:"
"""What the types of the component and of its parts begin with."""

WHOLE = f"{OURS}GlobalIntegers"

OF_THE_WHOLE = r"(budget$|coordinator-first-layouts$|(coordinator-)?[a-z]+-[a-z-]+-\d-(mint|gateway|coordinate)-role$)"
"""What its own resources are called, after its name. Those of its parts have the name of the part, but a role may be
registered before its part is."""

INVOCATION = "aws:lambda/invocation:Invocation"

OUR_KEYS = [{"counter": {"S": RECORD_KEY}}, {"counter": {"S": ADMITTED_KEY}}, {"receipt": {"S": HOME_KEY}}]
"""Of the items that the program reads."""


class Mocks(pulumi.runtime.Mocks):
    """Answers what AWS would for everything that `GlobalIntegers` registers, and keeps what the program registers.

    Its settings are checked, and the outputs have the form and types that they have on AWS: a URL for each region, the
    layout, each counter's first epoch.

    Args:
        others: the mocks for all other resources and functions of the program. Without them, a resource has its inputs
            as outputs, and a function returns nothing.
        refusal: why the coordinator refuses the deployment. Then `urls`, `counters` and what depends on them fail with
            this message, as `pulumi up` would. A preview doesn't ask the coordinator.
        zones: hosted zones by their id, like `{"Z0123456789ABCDEFGHIJ": "example.com"}`. Needed only if the setting
            `hosted_zone` is an id: by name, every zone is found.

    Attributes:
        resources: what was registered, of the component and of the program. Pulumi registers independent
            resources concurrently, so their order varies.
        calls: the calls of provider functions, likewise.
    """

    resources: list[MockResourceArgs]
    calls: list[MockCallArgs]

    def __init__(
        self,
        others: pulumi.runtime.Mocks | None = None,
        *,
        refusal: str | None = None,
        zones: Mapping[str, str] | None = None,
    ) -> None:
        self.resources, self.calls = [], []
        self._others = others
        self._refusal = refusal
        self._zones = zones or {}
        self._ours: list[re.Pattern[str]] = []
        """What the names of the components' resources begin with."""
        self._regions: dict[str, str] = {}
        """The regions of the program's providers, by name."""

    def new_resource(self, args: MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        """Return a resource's id and outputs. Pulumi calls this."""
        self.resources.append(args)
        inputs = cast("dict[str, Any]", _plain(args.inputs))
        if args.typ.startswith(OURS):
            self._ours.append(re.compile(re.escape(f"{args.name}-") + (OF_THE_WHOLE if args.typ == WHOLE else "")))
            return "", inputs
        if args.typ == "pulumi:providers:aws" and "region" in inputs:
            self._regions[args.name] = inputs["region"]
        if not any(ours.match(args.name) for ours in self._ours):
            if self._others is not None:
                return cast("Any", self._others.new_resource(args))
            return "" if pulumi.runtime.is_dry_run() else f"{args.name}-id", cast("dict[str, Any]", args.inputs)
        if pulumi.runtime.is_dry_run():
            return "", inputs  # what AWS adds isn't known yet
        if self._refusal is not None and args.typ == INVOCATION and "desired" in json.loads(inputs["input"]):
            text = json.dumps({"errorMessage": self._refusal, "errorType": "CoordinatorError"}, ensure_ascii=False)
            raise pulumi.RunError(f"Lambda function ({inputs['functionName']}) returned error: ({text})")
        return f"{args.name}-id", {**inputs, **answers(args.typ, inputs)}

    def call(self, args: MockCallArgs) -> Any:
        """Return what a provider function returns, or its failures. Pulumi calls this."""
        self.calls.append(args)
        asked = cast("dict[str, Any]", _plain(args.args))
        if args.token == "aws:dynamodb/getTableItem:getTableItem" and json.loads(asked["key"]) in OUR_KEYS:  # noqa: S105
            return _failed(f"reading DynamoDB Table Item ({asked['tableName']}|{asked['key']}): empty result")
        provider = args.provider.rpartition("::")[0].rpartition("::")[2]  # of its URN and id
        if args.token == "aws:index/getRegion:getRegion" and provider in self._regions:  # noqa: S105 (likewise)
            return {"region": self._regions[provider]}
        if args.token == "aws:route53/getZone:getZone":  # noqa: S105 (a function's name)
            return self._zone(asked)
        return {} if self._others is None else cast("Any", self._others.call(args))

    def _zone(self, asked: Mapping[str, Any]) -> Any:
        zone_id: str = asked.get("zoneId") or f"Z{_digest(asked['name'])[:20].upper()}"
        name = asked.get("name") or self._zones.get(zone_id)
        if name is None:
            return _failed(f'in a test, say what zone this is: Mocks(zones={{"{zone_id}": "example.com"}})')
        return {"id": zone_id, "zoneId": zone_id, "name": name, "privateZone": False}


def _plain(value: Any) -> Any:
    """Return a value as AWS gets it: without Pulumi's mark of what is secret."""
    value = unwrap_rpc_secret(value)
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in cast("dict[str, Any]", value).items()}
    return [_plain(each) for each in cast("list[Any]", value)] if isinstance(value, list) else value


def _failed(reason: str) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    return {}, [("", reason)]


def answers(resource_type: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return what AWS adds to a resource that it made: ARNs, the URL, the coordinator's reply."""
    region = inputs.get("region", "us-east-1")  # where one is left out, the provider takes the stack's `aws:region`
    match resource_type:
        case "aws:dynamodb/table:Table":
            return {"arn": arn("dynamodb", region, f"table/{inputs['name']}"), "streamLabel": LABEL}
        case "pulumi:index:Stash":  # nothing was kept before
            return {"output": inputs["input"]}
        case "aws:iam/role:Role":
            named = f"{inputs.get('path', '/')}{inputs['name']}"
            return {"arn": f"arn:aws:iam::{ACCOUNT}:role{named}", "uniqueId": f"AROA{_digest(named)[:17].upper()}"}
        case "aws:cloudwatch/logGroup:LogGroup":
            return {"arn": arn("logs", region, f"log-group:{inputs['name']}")}
        case "aws:lambda/function:Function":
            return {"arn": arn("lambda", region, f"function:{inputs['name']}"), "version": "1"}
        case "aws:lambda/alias:Alias":
            return {"arn": arn("lambda", region, f"function:{inputs['functionName']}:{inputs['name']}")}
        case "aws:lambda/functionUrl:FunctionUrl":
            return {"functionUrl": function_url(region, inputs["functionName"])}
        case "aws:cloudwatch/eventRule:EventRule":
            return {"arn": arn("events", region, f"rule/{inputs['name']}")}
        case "aws:sns/topic:Topic":
            return {"arn": arn("sns", region, inputs["name"])}
        case "aws:apigateway/restApi:RestApi" | "aws:apigatewayv2/api:Api":
            return {"executionArn": arn("execute-api", region, f"abc{region}")}
        case "aws:apigatewayv2/domainName:DomainName":
            target = f"d-{inputs['domainName'].partition('.')[0]}.execute-api.{region}.amazonaws.com"
            added = {"targetDomainName": target, "hostedZoneId": f"Z-{region}"}
            return {"domainNameConfiguration": {**inputs["domainNameConfiguration"], **added}}
        case "aws:acm/certificate:Certificate":
            return {"arn": arn("acm", region, "certificate/1f2e"), **_validation(inputs)}
        case "aws:route53/record:Record":
            return {"fqdn": inputs["name"]}
        case "aws:apigateway/stage:Stage":
            return {
                "invokeUrl": f"https://{_digest(inputs['restApi'])[:10]}.execute-api.{region}.amazonaws.com/{inputs['stageName']}"
            }
        case _ if resource_type == INVOCATION:
            return {"result": json.dumps(_reply(json.loads(inputs["input"])))}
        case _:
            return {}


def _validation(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return what proves that a domain is one's own: the same for all names of a certificate, in every region."""
    record = {
        "resourceRecordName": f"_1f2e.{inputs['domainName']}.",
        "resourceRecordType": "CNAME",
        "resourceRecordValue": "_3d4c.acm-validations.aws.",
    }
    hosts = [inputs["domainName"], *inputs["subjectAlternativeNames"]]
    return {
        "status": "PENDING_VALIDATION",
        "domainValidationOptions": [{"domainName": host, **record} for host in hosts],
    }


def _reply(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the coordinator replies: at a first deployment, every counter's first epoch."""
    if "desired" not in event:
        return {}  # nothing reads the reply to a check
    desired: dict[str, Any] = event["desired"]
    regions: list[str] = desired["regions"]
    layout = {region: place._asdict() for region, place in places(regions).items()}
    counters = [counter for counter in desired["counters"] if counter != CHECK_COUNTER]
    floors: dict[str, int] = desired["floors"]
    bases = {counter: floors.get(counter, floors.get("*", 1)) for counter in counters}
    granted = desired["window"] * len(regions)
    return {
        "counters": {
            counter: {
                "epoch": 1,
                "base": base,
                "limit": min(base - 1 + granted, MAX_INTEGER),
                "regions": layout,
                "pending": [],
            }
            for counter, base in bases.items()
        },
        "created": counters,
        "pending": [],
        "registered": len(counters),
    }


def arn(service: str, region: str, resource: str) -> str:
    """Return the ARN of something in a region."""
    return f"arn:{_partition(region)}:{service}:{region}:{ACCOUNT}:{resource}"


def function_url(region: str, function: str) -> str:
    """Return a function's URL. On AWS, its first label is random."""
    return f"https://{_digest(f'{region} {function}')[:32]}.lambda-url.{region}.on.aws/"


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _partition(region: str) -> str:
    """Return the partition of a region ("ARNs" in the AWS General Reference)."""
    return "aws-cn" if region.startswith("cn-") else "aws-us-gov" if region.startswith("us-gov-") else "aws"
