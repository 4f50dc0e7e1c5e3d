"""The stage of a REST API: every change of the API is deployed there at once, and its methods are throttled."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pulumi
import pulumi_aws as aws

STAGE = "v1"


class Throttle(NamedTuple):
    """The limit of a method (API Gateway API reference, UpdateStage)."""

    method: str
    """Like `~1path/GET`, in which a path's slashes are written as in a JSON Pointer. `*/*` is all methods."""
    rate: int
    """Requests per second."""
    burst: int
    """Requests at once above that rate."""


def rest_stage(
    name: str,
    region: str,
    api: aws.apigateway.RestApi,
    body: pulumi.Output[str],
    throttles: Mapping[str, Throttle],
    parent: pulumi.Resource,
    *,
    after: Sequence[pulumi.Resource] = (),
) -> aws.apigateway.Stage:
    """Register the stage, its deployment and its limits as children of `parent`.

    Args:
        name: what their names in the program begin with.
        region: where the API is.
        api: the API.
        body: its document.
        throttles: the end of a limit's name in the program → the limit.
        parent: the component.
        after: what must exist before the API is deployed.
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
        opts=pulumi.ResourceOptions(parent=parent),
    )
    before: list[pulumi.Resource] = []
    for end, throttle in throttles.items():  # one after the other, since each changes the stage
        settings = aws.apigateway.MethodSettings(
            f"{name}-{end}",
            region=region,
            rest_api=api.id,
            stage_name=stage.stage_name,
            method_path=throttle.method,
            settings=aws.apigateway.MethodSettingsSettingsArgs(
                throttling_rate_limit=throttle.rate, throttling_burst_limit=throttle.burst
            ),
            opts=pulumi.ResourceOptions(parent=parent, depends_on=before),
        )
        before = [settings]
    return stage
