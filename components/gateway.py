"""A second door to a region's counters: API Gateway asks DynamoDB itself, without a function."""

import hashlib
import json
from dataclasses import dataclass
from typing import cast

import pulumi
import pulumi_aws as aws

from .gateway_api import Door, document
from .policy import allow, policy, trusting
from .settings import Settings

STAGE = "v1"


@dataclass
class GatewayArgs:
    region: str
    prefix: str
    """`<project>-<stack>`, which every name begins with."""
    settings: Settings
    table: aws.dynamodb.Table
    """The region's counter table."""


class Gateway(pulumi.ComponentResource):
    """Outputs: `url`, which ends with `/`. The API is deployed anew whenever it changes."""

    url: pulumi.Output[str]

    def __init__(self, name: str, args: GatewayArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("global-integers:index:Gateway", name, None, opts)
        settings, region = args.settings, args.region
        child = pulumi.ResourceOptions(parent=self)

        role = aws.iam.Role(
            f"{name}-role",
            name=f"{args.prefix}-gateway-{region}",
            assume_role_policy=trusting("apigateway.amazonaws.com"),
            opts=child,
        )
        allowed = aws.iam.RolePolicy(
            f"{name}-policy",
            role=role.name,
            name="own",
            policy=args.table.arn.apply(lambda arn: policy([allow(["dynamodb:UpdateItem"], arn)])),
            opts=child,
        )
        body = pulumi.Output.all(args.table.arn, role.arn).apply(
            lambda arns: json.dumps(document(_door(args, *cast("list[str]", arns))), sort_keys=True)
        )
        api = aws.apigateway.RestApi(
            f"{name}-api",
            name=f"{args.prefix}-gateway",
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
                throttling_rate_limit=settings.gateway_rate, throttling_burst_limit=settings.gateway_burst
            ),
            opts=child,
        )
        self.url = stage.invoke_url.apply(lambda url: f"{url}/")
        self.register_outputs({"url": self.url})


def _door(args: GatewayArgs, table_arn: str, role_arn: str) -> Door:
    return Door(
        name=f"{args.prefix}-gateway",
        table_arn=table_arn,
        role_arn=role_arn,
        default_counter=args.settings.counters[0],
        signed=args.settings.authorization == "AWS_IAM",
    )
