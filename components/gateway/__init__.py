"""API Gateway in front of a region's counters: it calls DynamoDB itself, without a function."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import cast

import pulumi
import pulumi_aws as aws

from ..function import allow, policy, role
from ..settings.args import Settings
from ..table import use_keys
from .openapi import document


class Gateway(pulumi.ComponentResource):
    """A REST API, its role and its stage, for a region's counters table. It is deployed again whenever it changes.

    It is deployed after `after`, unless the region is paused: until then, callers see the API as it was (API Gateway
    guide, "Create a deployment for a REST API in API Gateway"). Further names are mapped to `api_id` and `stage`.
    """

    url: pulumi.Output[str]
    api_id: pulumi.Output[str]
    stage: pulumi.Output[str]
    role: aws.iam.Role
    """Whose rights it has when it mints."""

    def __init__(
        self,
        name: str,
        settings: Settings,
        region: str,
        table: aws.dynamodb.Table,
        default_counter: pulumi.Output[str],
        opts: pulumi.ResourceOptions,
        after: Sequence[pulumi.Resource] = (),
    ) -> None:
        super().__init__("global-integers:index:Gateway", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)

        self.role = role(
            f"{name}-role", settings.names.gateway_role(region), "apigateway.amazonaws.com", settings, self
        )
        allowed = aws.iam.RolePolicy(
            f"{name}-policy",
            role=self.role.name,
            name="own",
            policy=table.arn.apply(
                lambda arn: policy([allow(["dynamodb:UpdateItem"], arn), *use_keys([settings.kms_key(region)])])
            ),
            opts=child,
        )
        body = pulumi.Output.all(table.arn, self.role.arn, default_counter).apply(
            lambda known: json.dumps(document(settings, *cast("list[str]", known)), sort_keys=True)
        )
        api = aws.apigateway.RestApi(
            f"{name}-api",
            name=settings.names.gateway_api,
            region=region,
            body=body,
            endpoint_configuration=aws.apigateway.RestApiEndpointConfigurationArgs(types="REGIONAL"),
            opts=child,
        )
        limits = {"methods": ("*/*", settings.api_gateway_rate, settings.api_gateway_burst)}
        waits_for = [allowed] if region in settings.paused else [allowed, *after]
        stage = rest_stage(name, region, api, body, limits, self, after=waits_for)
        self.api_id, self.stage = api.id, stage.stage_name
        self.url = stage.invoke_url.apply(lambda url: f"{url}/")
        self.register_outputs({"url": self.url})


STAGE = "v1"

ACCESS_LOGS = ["accessLogSettings"]
"""Of a stage: operators may turn them on (docs/audit.md)."""


def rest_stage(
    name: str,
    region: str,
    api: aws.apigateway.RestApi,
    body: pulumi.Output[str],
    limits: Mapping[str, tuple[str, int, int]],
    parent: pulumi.Resource,
    *,
    after: Sequence[pulumi.Resource] = (),
) -> aws.apigateway.Stage:
    """Register an API's stage, the deployment of its document `body`, and its limits, as children of `parent`.

    A limit's name in the program ends with its key in `limits`. It is of a method like `~1path/GET`, in which a path's
    slashes are written as in a JSON Pointer, or of all, `*/*`: requests per second, and at once above that (API Gateway
    API reference, UpdateStage). The API is deployed after `after`.
    """
    deployment = aws.apigateway.Deployment(
        f"{name}-deployment",
        region=region,
        rest_api=api.id,
        triggers={"body": body.apply(lambda text: hashlib.sha256(text.encode()).hexdigest())},
        opts=pulumi.ResourceOptions(parent=parent, depends_on=list(after)),
    )
    stage = aws.apigateway.Stage(
        f"{name}-stage",
        region=region,
        rest_api=api.id,
        deployment=deployment.id,
        stage_name=STAGE,
        opts=pulumi.ResourceOptions(parent=parent, ignore_changes=ACCESS_LOGS),
    )
    before: list[pulumi.Resource] = []
    for end, (method, rate, burst) in limits.items():  # one after the other, since each changes the stage
        settings = aws.apigateway.MethodSettings(
            f"{name}-{end}",
            region=region,
            rest_api=api.id,
            stage_name=stage.stage_name,
            method_path=method,
            settings=aws.apigateway.MethodSettingsSettingsArgs(
                throttling_rate_limit=rate, throttling_burst_limit=burst
            ),
            opts=pulumi.ResourceOptions(parent=parent, depends_on=before),
        )
        before = [settings]
    return stage
