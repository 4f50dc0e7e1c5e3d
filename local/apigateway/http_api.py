"""HTTP APIs, and the names of HTTP and REST APIs. The local server calls the functions and answers by these names.

It knows a name by the request's `Host` header, but no regions by it: where several regions have the same name, it
answers from any of them. It doesn't switch off an API's own endpoint. Tags aren't set.
"""

from collections.abc import Mapping
from typing import Any

from ..engine.state import Made
from ..resources.kind import ACCOUNT, Aws, Result
from .proxied import on_server

Inputs = Mapping[str, Any]


def _capital(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as boto3 calls them: `allowOrigins` is `AllowOrigins`."""
    return {name[0].upper() + name[1:]: value for name, value in values.items()}


class HttpApi:
    """An HTTP API."""

    identity: tuple[str, ...] = ("region", "name")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Create the API, or change which pages may call it."""
        client = aws.client("apigatewayv2", inputs["region"])
        wanted: dict[str, Any] = {"DisableExecuteApiEndpoint": inputs["disableExecuteApiEndpoint"]}
        if "corsConfiguration" in inputs:
            wanted["CorsConfiguration"] = _capital(inputs["corsConfiguration"])
        if before is None:
            id_ = client.create_api(Name=inputs["name"], ProtocolType=inputs["protocolType"], **wanted)["ApiId"]
        else:
            id_ = before.id
            client.update_api(ApiId=id_, **wanted)
            if "corsConfiguration" in before.inputs and "corsConfiguration" not in inputs:
                client.delete_cors_configuration(ApiId=id_)
        return Result(id_, {"executionArn": f"arn:aws:execute-api:{inputs['region']}:{ACCOUNT}:{id_}"})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs, or raise the service's error if it no longer exists."""
        aws.client("apigatewayv2", made.inputs["region"]).get_api(ApiId=made.id)
        return made.outputs

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete the API with all that belongs to it."""
        aws.client("apigatewayv2", made.inputs["region"]).delete_api(ApiId=made.id)


class Integration:
    """How an API calls a function."""

    identity: tuple[str, ...] = ("region", "apiId")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Create the integration, or change it."""
        client = aws.client("apigatewayv2", inputs["region"])
        wanted = {
            "ApiId": inputs["apiId"],
            "IntegrationType": inputs["integrationType"],
            "IntegrationUri": inputs["integrationUri"],
            "PayloadFormatVersion": inputs["payloadFormatVersion"],
        }
        if before is None:
            return Result(client.create_integration(**wanted)["IntegrationId"], {})
        client.update_integration(IntegrationId=before.id, **wanted)
        return Result(before.id, {})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs, or raise the service's error if it no longer exists."""
        client = aws.client("apigatewayv2", made.inputs["region"])
        client.get_integration(ApiId=made.inputs["apiId"], IntegrationId=made.id)
        return made.outputs

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete the integration."""
        client = aws.client("apigatewayv2", made.inputs["region"])
        client.delete_integration(ApiId=made.inputs["apiId"], IntegrationId=made.id)


class Route:
    """Which requests go to an integration."""

    identity: tuple[str, ...] = ("region", "apiId", "routeKey")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Create the route, or change its integration."""
        client = aws.client("apigatewayv2", inputs["region"])
        wanted = {"ApiId": inputs["apiId"], "RouteKey": inputs["routeKey"], "Target": inputs["target"]}
        if before is None:
            return Result(client.create_route(**wanted)["RouteId"], {})
        client.update_route(RouteId=before.id, **wanted)
        return Result(before.id, {})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs, or raise the service's error if it no longer exists."""
        client = aws.client("apigatewayv2", made.inputs["region"])
        client.get_route(ApiId=made.inputs["apiId"], RouteId=made.id)
        return made.outputs

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete the route."""
        client = aws.client("apigatewayv2", made.inputs["region"])
        client.delete_route(ApiId=made.inputs["apiId"], RouteId=made.id)


class HttpStage:
    """A stage of an API, which serves every change of it at once. The local server limits no rate."""

    identity: tuple[str, ...] = ("region", "apiId", "name")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Create the stage, over an earlier one."""
        aws.client("apigatewayv2", inputs["region"]).create_stage(
            ApiId=inputs["apiId"],
            StageName=inputs["name"],
            AutoDeploy=inputs["autoDeploy"],
            DefaultRouteSettings=_capital(inputs["defaultRouteSettings"]),
        )
        return Result(inputs["name"], {})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs, or raise the service's error if it no longer exists."""
        client = aws.client("apigatewayv2", made.inputs["region"])
        client.get_stage(ApiId=made.inputs["apiId"], StageName=made.id)
        return made.outputs

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete the stage."""
        client = aws.client("apigatewayv2", made.inputs["region"])
        client.delete_stage(ApiId=made.inputs["apiId"], StageName=made.id)


class DomainName:
    """A name by which APIs of a region are called."""

    identity: tuple[str, ...] = ("region", "domainName")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Create the name, or change its certificate and security policy."""
        client = aws.client("apigatewayv2", inputs["region"])
        wanted = [_capital(inputs["domainNameConfiguration"])]
        call = client.create_domain_name if before is None else client.update_domain_name
        made = call(DomainName=inputs["domainName"], DomainNameConfigurations=wanted)
        return Result(inputs["domainName"], self._outputs(inputs, made))

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs, or raise the service's error if it no longer exists."""
        client = aws.client("apigatewayv2", made.inputs["region"])
        client.get_domain_name(DomainName=made.id)
        return made.outputs

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete the name with its mappings."""
        aws.client("apigatewayv2", made.inputs["region"]).delete_domain_name(DomainName=made.id)

    def _outputs(self, inputs: Inputs, made: Inputs) -> dict[str, Any]:
        (found,) = made["DomainNameConfigurations"]
        target = {"targetDomainName": found["ApiGatewayDomainName"], "hostedZoneId": found["HostedZoneId"]}
        return {"domainNameConfiguration": {**inputs["domainNameConfiguration"], **target}}


class ApiMapping:
    """The API that a name leads to. The local server can't lead to one that it doesn't serve: that is only kept."""

    identity: tuple[str, ...] = ("region", "domainName")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Add the mapping. It can't be changed: what is there is removed first, also if a killed run made it."""
        client = aws.client("apigatewayv2", inputs["region"])
        for found in client.get_api_mappings(DomainName=inputs["domainName"])["Items"]:
            client.delete_api_mapping(DomainName=inputs["domainName"], ApiMappingId=found["ApiMappingId"])
        if not on_server(inputs["apiId"]):
            return Result(f"{inputs['domainName']}/{inputs['apiId']}", {})
        wanted = {"DomainName": inputs["domainName"], "ApiId": inputs["apiId"], "Stage": inputs["stage"]}
        return Result(client.create_api_mapping(**wanted)["ApiMappingId"], {})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs, or raise the service's error if it no longer exists."""
        client = aws.client("apigatewayv2", made.inputs["region"])
        if not on_server(made.inputs["apiId"]):
            client.get_domain_name(DomainName=made.inputs["domainName"])
        else:
            client.get_api_mapping(DomainName=made.inputs["domainName"], ApiMappingId=made.id)
        return made.outputs

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete the mapping."""
        if not on_server(made.inputs["apiId"]):
            return
        client = aws.client("apigatewayv2", made.inputs["region"])
        client.delete_api_mapping(DomainName=made.inputs["domainName"], ApiMappingId=made.id)
