"""API Gateway in front of a region's counters: it calls DynamoDB itself, without a function."""

import json
from dataclasses import dataclass
from typing import cast

import pulumi
import pulumi_aws as aws

from .gateway_api import GatewaySpec, document
from .policy import allow, policy, use_keys
from .resource_names import ResourceNames
from .rest_stage import Throttle, rest_stage
from .role import RoleRules, role


@dataclass
class GatewayArgs:
    """One region's API."""

    names: ResourceNames
    region: str
    default_counter: str
    """The counter at `/`."""
    signed: bool
    """Whether callers sign (`AWS_IAM`)."""
    rate: int
    """Requests per second."""
    burst: int
    """Requests at once above that rate."""
    table: aws.dynamodb.Table
    """The region's counters table."""
    role_rules: RoleRules
    paused: bool = False
    """Whether it mints nothing, and answers 503."""
    kms_key: str = ""
    """The ARN of the key that encrypts the table. Empty: a key of AWS does."""


class Gateway(pulumi.ComponentResource):
    """A REST API, its role and its stage. It is deployed again whenever it changes.

    Outputs: `url`, which ends with `/`; `api_id` and `stage`, which further names are mapped to.
    """

    url: pulumi.Output[str]
    api_id: pulumi.Output[str]
    stage: pulumi.Output[str]

    def __init__(self, name: str, args: GatewayArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("global-integers:index:Gateway", name, None, opts)
        region = args.region
        child = pulumi.ResourceOptions(parent=self)

        caller = role(
            f"{name}-role", args.names.gateway_role(region), "apigateway.amazonaws.com", args.role_rules, self
        )
        allowed = aws.iam.RolePolicy(
            f"{name}-policy",
            role=caller.name,
            name="own",
            policy=args.table.arn.apply(
                lambda arn: policy([allow(["dynamodb:UpdateItem"], arn), *use_keys([args.kms_key])])
            ),
            opts=child,
        )
        body = pulumi.Output.all(args.table.arn, caller.arn).apply(
            lambda arns: json.dumps(document(_spec(args, *cast("list[str]", arns))), sort_keys=True)
        )
        api = aws.apigateway.RestApi(
            f"{name}-api",
            name=args.names.gateway_api,
            region=region,
            body=body,
            endpoint_configuration=aws.apigateway.RestApiEndpointConfigurationArgs(types="REGIONAL"),
            opts=child,
        )
        throttles = {"methods": Throttle("*/*", args.rate, args.burst)}
        stage = rest_stage(name, region, api, body, throttles, self, after=[allowed])
        self.api_id, self.stage = api.id, stage.stage_name
        self.url = stage.invoke_url.apply(lambda url: f"{url}/")
        self.register_outputs({"url": self.url})


def _spec(args: GatewayArgs, table_arn: str, role_arn: str) -> GatewaySpec:
    return GatewaySpec(
        name=args.names.gateway_api,
        table_arn=table_arn,
        role_arn=role_arn,
        default_counter=args.default_counter,
        signed=args.signed,
        paused=args.paused,
    )
