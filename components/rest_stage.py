"""The stage of a REST API, as this system uses it: it serves the newest deployment, within limits."""

import hashlib
from collections.abc import Mapping, Sequence

import pulumi
import pulumi_aws as aws

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
        limit = aws.apigateway.MethodSettings(
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
        before = [limit]
    return stage
