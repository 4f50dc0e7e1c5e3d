"""The API of one region at the domain: it calls the minting function.

Callers of the domain don't know which region will answer. So they sign with Signature Version 4A, whose signatures
are valid in every region. REST APIs take it (API Gateway guide, "Control access for invoking an API"). HTTP APIs take
Version 4 only (guide, "Control access to HTTP APIs with IAM authorization"). A REST API costs more for each request,
hands over payload format 1.0, waits 29 seconds for a function instead of 30, and doesn't answer browsers' preflight
requests.
"""

import json
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import pulumi
import pulumi_aws as aws

from ..gateway.openapi import GATEWAY_RESPONSES, SIGNATURES, gateway_responses
from ..region import RegionalAlias, cors
from ..rest_stage import ACCESS_LOGS, rest_stage
from ..settings.rules import accounts
from ..settings.subjects import Access
from .capacity import Capacity

HEALTH = "/-/health"

DESCRIPTION = "Mints integers at the host names of the domain."


class DomainApi(pulumi.ComponentResource):
    """An HTTP API where everyone may call, a REST API where callers sign (see above).

    Its own endpoint is off: it is called by the domain's host names only, which are mapped to `api_id` and `stage`.
    """

    api_id: pulumi.Output[str]
    stage: pulumi.Output[str]
    permission: aws.lambda_.Permission
    """Without it, API Gateway can't call the function."""

    def __init__(
        self,
        name: str,
        region: str,
        alias: RegionalAlias,
        *,
        api_name: str,
        access: Access,
        capacity: Capacity,
        opts: pulumi.ResourceOptions,
    ) -> None:
        super().__init__("global-integers:index:DomainApi", name, None, opts)
        self._api_name, self._access, self._capacity = api_name, access, capacity
        kind, make = ("rest", self._rest_api) if access.signed else ("http", self._http_api)
        self.api_id, self.stage, execution_arn = make(name, region, alias.arn)
        self.permission = aws.lambda_.Permission(
            f"{name}-{kind}-permission",
            region=region,
            function=alias.function_name,
            qualifier=alias.name,
            statement_id=f"global-integers-domain-{kind}",
            action="lambda:InvokeFunction",
            principal="apigateway.amazonaws.com",
            source_arn=execution_arn.apply(lambda arn: f"{arn}/*"),
            # Another API of the same kind replaces the statement. A policy can't have two statements with one id.
            opts=pulumi.ResourceOptions(parent=self, depends_on=list(alias.statements), delete_before_replace=True),
        )
        self.register_outputs({"apiId": self.api_id, "stage": self.stage})

    def _http_api(self, name: str, region: str, function_arn: pulumi.Output[str]) -> tuple[pulumi.Output[str], ...]:
        """Add an HTTP API that hands every request over in payload format 2.0, as a Function URL does."""
        child = pulumi.ResourceOptions(parent=self)
        access, limits = self._access, self._capacity
        allowed = aws.apigatewayv2.ApiCorsConfigurationArgs(**cors(access)) if access.cors_origins else None
        api = aws.apigatewayv2.Api(
            f"{name}-http",
            name=self._api_name,
            description=DESCRIPTION,
            region=region,
            protocol_type="HTTP",
            disable_execute_api_endpoint=True,
            cors_configuration=allowed,
            opts=child,
        )
        integration = aws.apigatewayv2.Integration(
            f"{name}-integration",
            region=region,
            api_id=api.id,
            integration_type="AWS_PROXY",
            integration_uri=function_arn,
            payload_format_version="2.0",
            opts=child,
        )
        health = f"GET {HEALTH}"
        routes = [
            aws.apigatewayv2.Route(
                f"{name}-{label}",
                region=region,
                api_id=api.id,
                route_key=key,
                target=integration.id.apply(lambda id_: f"integrations/{id_}"),
                opts=child,
            )
            for label, key in (("route", "$default"), ("health", health))
        ]
        stage = aws.apigatewayv2.Stage(
            f"{name}-stage",
            region=region,
            api_id=api.id,
            name="$default",
            auto_deploy=True,
            # Always both: the provider takes one that is missing for 0 (terraform-provider-aws, issue 14742).
            default_route_settings=aws.apigatewayv2.StageDefaultRouteSettingsArgs(
                throttling_rate_limit=limits.callers.rate, throttling_burst_limit=limits.callers.burst
            ),
            route_settings=[
                aws.apigatewayv2.StageRouteSettingArgs(
                    route_key=health,
                    throttling_rate_limit=limits.health.rate,
                    throttling_burst_limit=limits.health.burst,
                )
            ],
            # AWS refuses settings of a route that isn't there: "Unable to find Route by key".
            opts=pulumi.ResourceOptions(parent=self, depends_on=routes, ignore_changes=ACCESS_LOGS),
        )
        return api.id, stage.name, api.execution_arn

    def _rest_api(self, name: str, region: str, function_arn: pulumi.Output[str]) -> tuple[pulumi.Output[str], ...]:
        """Add a REST API that hands every request over in payload format 1.0. Every change is deployed at once."""
        api_name, named, limits = self._api_name, accounts(self._access.callers), self._capacity
        body = function_arn.apply(lambda arn: json.dumps(document(api_name, arn, named), sort_keys=True))
        api = aws.apigateway.RestApi(
            f"{name}-rest",
            name=api_name,
            description=DESCRIPTION,
            region=region,
            body=body,
            disable_execute_api_endpoint=True,
            endpoint_configuration=aws.apigateway.RestApiEndpointConfigurationArgs(types="REGIONAL"),
            opts=pulumi.ResourceOptions(parent=self),
        )
        throttles = {
            "methods": ("*/*", limits.callers.rate, limits.callers.burst),
            "health": (f"{HEALTH.replace('/', '~1')}/GET", limits.health.rate, limits.health.burst),
        }
        stage = rest_stage(name, region, api, body, throttles, self)
        return api.id, stage.stage_name, api.execution_arn


ANY = "x-amazon-apigateway-any-method"

POLICY = "x-amazon-apigateway-policy"

UNAVAILABLE = (
    HTTPStatus.SERVICE_UNAVAILABLE,
    "the region's function can't be called now, or it failed; try again, or use another region",
)

RESPONSES = {
    "API_CONFIGURATION_ERROR": UNAVAILABLE,
    "INTEGRATION_FAILURE": UNAVAILABLE,
    "INTEGRATION_TIMEOUT": UNAVAILABLE,
    "THROTTLED": (HTTPStatus.TOO_MANY_REQUESTS, "too many requests; try again"),
}
"""API Gateway's own responses, by type. If Lambda throttles the function, or it is paused, that is a failure of the
integration, by default 500 or 504 (guide, "Gateway response types")."""


def resource_policy(partition: str, named: Sequence[str]) -> dict[str, Any]:
    """Return the API's policy: everyone may call what needs no signature, these accounts may call everything.

    Callers of other accounts need both this and a policy of their own. For those of the API's own account, either is
    enough, so it must not be named here. With a policy, what needs no signature must be allowed to everyone (guide,
    "How API Gateway resource policies affect authorization workflow"). The policy is always there, since an import
    that leaves it out may not remove it.
    """

    def allow(principal: Any, resource: str) -> dict[str, Any]:
        return {"Effect": "Allow", "Principal": principal, "Action": "execute-api:Invoke", "Resource": resource}

    roots = [f"arn:{partition}:iam::{account}:root" for account in named]
    callers = [allow({"AWS": roots}, "execute-api:/*")] if roots else []
    return {"Version": "2012-10-17", "Statement": [allow("*", f"execute-api:/*/GET{HEALTH}"), *callers]}


def document(name: str, function_arn: str, named: Sequence[str] = ()) -> dict[str, Any]:
    """Return the document: every path and method calls the function, and needs a signature.

    Only `GET /-/health` needs none, since a health check of Route 53 can't sign. `named` are accounts whose callers may
    sign besides those of the API's own account.
    """
    _, partition, _, region, own, *_ = function_arn.split(":")
    operation: dict[str, Any] = {
        "responses": {"200": {"description": "The function's response."}},
        "x-amazon-apigateway-integration": {
            "type": "aws_proxy",
            "httpMethod": "POST",
            "uri": f"arn:{partition}:apigateway:{region}:lambda:path/2015-03-31/functions/{function_arn}/invocations",
        },
    }
    signed: dict[str, Any] = {**operation, "security": [{"sigv4": []}]}
    proxy = {"name": "proxy", "in": "path", "required": True, "schema": {"type": "string"}}
    return {
        "openapi": "3.0.1",
        "info": {"title": name, "version": "1"},
        "paths": {
            "/": {ANY: signed},
            "/{proxy+}": {ANY: {**signed, "parameters": [proxy]}},
            HEALTH: {"get": operation, ANY: signed},
        },
        "components": SIGNATURES,
        POLICY: resource_policy(partition, [account for account in named if account != own]),
        GATEWAY_RESPONSES: gateway_responses(RESPONSES),
    }
