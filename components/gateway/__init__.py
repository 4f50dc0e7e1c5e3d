"""API Gateway in front of a region's counters: it calls DynamoDB itself, without a function."""

import json
from collections.abc import Sequence

import pulumi
import pulumi_aws as aws

from ..function import allow, policy, role
from ..names import ResourceNames
from ..rest_stage import rest_stage
from ..settings.subjects import Region, Roles
from ..table import arn_in, use_keys
from .openapi import document


class Gateway(pulumi.ComponentResource):
    """A REST API, its role and its stage, for a region's counters table. It is deployed again whenever it changes.

    It is deployed after `after`, unless the region is paused: until then, callers see the API as it was (API Gateway
    guide, "Create a deployment for a REST API in API Gateway"). Further names are mapped to `api_id` and `stage`.
    `rate` is in requests per second, and `burst` how many more it allows at once.
    """

    url: pulumi.Output[str]
    api_id: pulumi.Output[str]
    stage: pulumi.Output[str]
    role: aws.iam.Role
    """Whose rights it has when it mints."""

    def __init__(
        self,
        name: str,
        region: Region,
        *,
        names: ResourceNames,
        roles: Roles,
        signed: bool,
        rate: int,
        burst: int,
        table: aws.dynamodb.Table,
        default_counter: str,
        after: Sequence[pulumi.Resource],
        opts: pulumi.ResourceOptions,
    ) -> None:
        super().__init__("global-integers:index:Gateway", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)

        above = opts.parent or self  # it is in no region, so it stays in Pulumi's state where a lost region doesn't
        may = f"What {names.gateway_api} may do in {region.name}."
        self.role = role(f"{name}-role", names.gateway_role(region.name), may, "apigateway.amazonaws.com", roles, above)
        allowed = aws.iam.RolePolicy(
            f"{name}-policy",
            role=self.role.name,
            name="own",
            policy=pulumi.Output.all(arn_in(region.name, table), region.kms_key).apply(
                lambda known: policy([allow(["dynamodb:UpdateItem"], known[0]), *use_keys(known[1:])])
            ),
            opts=child,
        )
        body = pulumi.Output.all(arn_in(region.name, table), self.role.arn).apply(
            lambda arns: json.dumps(
                document(names.gateway_api, region, arns[0], arns[1], default_counter, signed=signed), sort_keys=True
            )
        )
        api = aws.apigateway.RestApi(
            f"{name}-api",
            name=names.gateway_api,
            description="Mints integers without a function.",
            region=region.name,
            body=body,
            endpoint_configuration=aws.apigateway.RestApiEndpointConfigurationArgs(types="REGIONAL"),
            opts=child,
        )
        limits = {"methods": ("*/*", rate, burst)}
        waits_for = [allowed] if region.paused else [allowed, *after]
        stage = rest_stage(name, region.name, api, body, limits, self, after=waits_for)
        self.api_id, self.stage = api.id, stage.stage_name
        self.url = stage.invoke_url.apply(lambda url: f"{url}/")
        self.register_outputs({"url": self.url})
