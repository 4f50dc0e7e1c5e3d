"""API Gateway in front of a region's counters: it calls DynamoDB itself, without a function."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import pulumi
import pulumi_aws as aws

from .gateway_api import GatewaySpec, document
from .policy import allow, policy, trusting, use_keys
from .resource_names import ResourceNames

STAGE = "v1"


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
    paused: bool = False
    """Whether it mints nothing, and answers 503."""
    keys: Sequence[str] = ()
    """The ARN of the key that encrypts the table, if it has one."""


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

        role = aws.iam.Role(
            f"{name}-role",
            name=args.names.gateway_role(region),
            assume_role_policy=trusting("apigateway.amazonaws.com"),
            opts=child,
        )
        allowed = aws.iam.RolePolicy(
            f"{name}-policy",
            role=role.name,
            name="own",
            policy=args.table.arn.apply(
                lambda arn: policy([allow(["dynamodb:UpdateItem"], arn), *use_keys(args.keys)])
            ),
            opts=child,
        )
        body = pulumi.Output.all(args.table.arn, role.arn).apply(
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
        deployment = aws.apigateway.Deployment(
            f"{name}-deployment",
            region=region,
            rest_api=api.id,
            triggers={"body": body.apply(lambda text: hashlib.sha256(text.encode()).hexdigest())},
            opts=pulumi.ResourceOptions(parent=self, depends_on=[allowed]),
        )
        stage = aws.apigateway.Stage(
            f"{name}-stage",
            region=region,
            rest_api=api.id,
            deployment=deployment.id,
            stage_name=STAGE,
            opts=child,
        )
        aws.apigateway.MethodSettings(
            f"{name}-methods",
            region=region,
            rest_api=api.id,
            stage_name=stage.stage_name,
            method_path="*/*",
            settings=aws.apigateway.MethodSettingsSettingsArgs(
                throttling_rate_limit=args.rate, throttling_burst_limit=args.burst
            ),
            opts=child,
        )
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
