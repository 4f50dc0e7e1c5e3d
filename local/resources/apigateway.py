"""REST APIs and HTTP APIs, and their names.

`local/apigateway/` serves REST APIs in a process of its own. Those that hand every request
to a function are served by the local AWS server itself, which checks signatures: Signature Version 4, not 4A. From an
OpenAPI document, it wouldn't make the methods that stand for all methods. So the resources of the document are made one
by one. HTTP APIs are served by that server too.
"""

import json
from collections.abc import Mapping
from typing import Any

from ..apigateway import GATEWAY, documents, on_server, running
from ..stack import Made
from .kind import ACCOUNT, ID, Aws, Call, Described, Inputs, Kind, Result, capital

ANY = "x-amazon-apigateway-any-method"
INTEGRATION = "x-amazon-apigateway-integration"


def _hands_over(body: str) -> bool:
    """Return whether the API of this document hands its requests to a function."""
    operations = (operation for path in json.loads(body)["paths"].values() for operation in path.values())
    return all(operation[INTEGRATION]["type"] == "aws_proxy" for operation in operations)


def _apply_methods(aws: Aws, inputs: Mapping[str, Any], before: Made | None) -> Result:
    """Create the API, or change its methods. A path that the document no longer has stays."""
    client = aws.client("apigateway", inputs["region"])
    id_ = before.id if before else client.create_rest_api(name=inputs["name"])["id"]
    found = {resource["path"]: resource["id"] for resource in client.get_resources(restApiId=id_)["items"]}
    for path, operations in json.loads(inputs["body"])["paths"].items():
        resource = _resource(client, id_, path, found)
        for method, operation in operations.items():
            place = {
                "restApiId": id_,
                "resourceId": resource,
                "httpMethod": "ANY" if method == ANY else method.upper(),
            }
            client.put_method(**place, authorizationType="AWS_IAM" if "security" in operation else "NONE")
            integration = operation[INTEGRATION]
            client.put_integration(
                **place,
                type=integration["type"].upper(),
                integrationHttpMethod=integration["httpMethod"],
                uri=integration["uri"],
            )
    return Result(id_, {"executionArn": f"arn:aws:execute-api:{inputs['region']}:{ACCOUNT}:{id_}"})


def _resource(client: Any, api: str, path: str, found: dict[str, str]) -> str:
    """Return the resource of a path, made with those above it where they are missing."""
    if path not in found:
        above, _, part = path.rpartition("/")
        parent = _resource(client, api, above or "/", found)
        found[path] = client.create_resource(restApiId=api, parentId=parent, pathPart=part)["id"]
    return found[path]


class RestApi(Kind):
    """A REST API. The process reads its document at each request, so a change is served at once."""

    identity = ("region", "name")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Write the document, and start the process if it does not run."""
        if _hands_over(inputs["body"]):
            return _apply_methods(aws, inputs, before)
        port = running(aws.endpoint)
        api = f"{inputs['region']}-{inputs['name']}"
        document = documents() / f"{api}.json"
        fresh = document.with_suffix(".new")
        fresh.write_text(inputs["body"])
        fresh.replace(document)
        return Result(api, {"executionUrl": f"http://127.0.0.1:{port}/{api}"})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs, or None if it is no longer served."""
        if on_server(made.id):
            aws.client("apigateway", made.inputs["region"]).get_rest_api(restApiId=made.id)
            return made.outputs
        served = GATEWAY.runs() and (documents() / f"{made.id}.json").exists()
        return made.outputs if served else None

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete the document. The process ends with the last one."""
        if on_server(made.id):
            aws.client("apigateway", made.inputs["region"]).delete_rest_api(restApiId=made.id)
            return
        (documents() / f"{made.id}.json").unlink(missing_ok=True)
        if not list(documents().glob("*.json")):
            GATEWAY.stop()


class Deployment(Kind):
    """A deployment of an API. The process serves every change at once, so there it has nothing to do."""

    identity = ("region", "restApi")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Return a name that changes with the document, as an id does."""
        if on_server(inputs["restApi"]):
            client = aws.client("apigateway", inputs["region"])
            made = client.create_deployment(restApiId=inputs["restApi"])
            return Result(made["id"], {}, replaces=before is not None)
        return Result(f"{inputs['restApi']}-{inputs['triggers']['body'][:8]}", {})

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete the deployment, if there is something."""
        if on_server(made.inputs["restApi"]):
            client = aws.client("apigateway", made.inputs["region"])
            client.delete_deployment(restApiId=made.inputs["restApi"], deploymentId=made.id)


class Stage(Kind):
    """A stage of an API: the last part of its URL."""

    identity = ("region", "restApi", "stageName")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Create the stage, if there is something to, and return its URL."""
        if on_server(inputs["restApi"]):
            client = aws.client("apigateway", inputs["region"])
            client.create_stage(
                restApiId=inputs["restApi"], stageName=inputs["stageName"], deploymentId=inputs["deployment"]
            )
        return Result(f"{inputs['restApi']}-{inputs['stageName']}", {"invokeUrl": self._url(aws, inputs)})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return the stage's URL."""
        return {"invokeUrl": self._url(aws, made.inputs)}

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete the stage, if there is something."""
        if on_server(made.inputs["restApi"]):
            client = aws.client("apigateway", made.inputs["region"])
            client.delete_stage(restApiId=made.inputs["restApi"], stageName=made.inputs["stageName"])

    def _url(self, aws: Aws, inputs: Mapping[str, Any]) -> str:
        if on_server(inputs["restApi"]):
            return f"{aws.endpoint}/_aws/execute-api/{inputs['restApi']}/{inputs['stageName']}"
        return f"http://127.0.0.1:{running(aws.endpoint)}/{inputs['restApi']}/{inputs['stageName']}"


class MethodSettings(Kind):
    """The limits of a stage's methods, which don't apply here."""

    identity = ("region", "restApi", "stageName", "methodPath")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Do nothing."""
        return Result(f"{inputs['restApi']}-{inputs['stageName']}-{inputs['methodPath']}", {})


class ApiMapping(Kind):
    """The API that a name leads to. The local server can't lead to one that it doesn't serve: that is only kept."""

    identity = ("region", "domainName")

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


UPDATE_API = Call(
    "update_api",
    "DisableExecuteApiEndpoint",
    ApiId=ID,
    CorsConfiguration=lambda inputs: capital(inputs.get("corsConfiguration", {})) or None,
)


def _changed_http_api(client: Any, inputs: Inputs, before: Made | None) -> None:
    if before is not None and "corsConfiguration" in before.inputs and "corsConfiguration" not in inputs:
        client.delete_cors_configuration(ApiId=before.id)


INTEGRATION_OF_API = Call("create_integration", "ApiId", "IntegrationType", "IntegrationUri", "PayloadFormatVersion")

ROUTE = Call("create_route", "ApiId", "RouteKey", "Target")

DOMAIN_NAME = Call(
    "create_domain_name",
    "DomainName",
    DomainNameConfigurations=lambda inputs: [capital(inputs["domainNameConfiguration"])],
)


def _domain_name(inputs: Inputs, found: Any) -> dict[str, Any]:
    (one,) = found["DomainNameConfigurations"]
    target = {"targetDomainName": one["ApiGatewayDomainName"], "hostedZoneId": one["HostedZoneId"]}
    return {"domainNameConfiguration": {**inputs["domainNameConfiguration"], **target}}


KINDS: dict[str, Kind] = {
    "aws:apigateway/deployment:Deployment": Deployment(),
    "aws:apigateway/methodSettings:MethodSettings": MethodSettings(),
    "aws:apigateway/restApi:RestApi": RestApi(),
    "aws:apigateway/stage:Stage": Stage(),
    # The server knows a name of an HTTP API by the request's `Host` header, but no regions by it: where several regions
    # have the same name, it answers from any of them. It doesn't switch off an API's own endpoint.
    "aws:apigatewayv2/api:Api": Described(
        "apigatewayv2",
        ("region", "name"),
        "{ApiId}",
        create=UPDATE_API.also("create_api", Name="name", ProtocolType="protocolType"),
        update=UPDATE_API,
        then=_changed_http_api,
        read_by=Call("get_api", ApiId=ID),
        now=lambda inputs, _: {"executionArn": f"arn:aws:execute-api:{inputs['region']}:{ACCOUNT}:{inputs[ID]}"},
        delete_by=Call("delete_api", ApiId=ID),
    ),
    "aws:apigatewayv2/apiMapping:ApiMapping": ApiMapping(),
    "aws:apigatewayv2/domainName:DomainName": Described(
        "apigatewayv2",
        ("region", "domainName"),
        "{domainName}",
        create=DOMAIN_NAME,
        update=DOMAIN_NAME.also("update_domain_name"),
        read_by=Call("get_domain_name", DomainName=ID),
        now=_domain_name,
        delete_by=Call("delete_domain_name", DomainName=ID),  # with its mappings
    ),
    "aws:apigatewayv2/integration:Integration": Described(
        "apigatewayv2",
        ("region", "apiId"),
        "{IntegrationId}",
        create=INTEGRATION_OF_API,
        update=INTEGRATION_OF_API.also("update_integration", IntegrationId=ID),
        read_by=Call("get_integration", "ApiId", IntegrationId=ID),
        delete_by=Call("delete_integration", "ApiId", IntegrationId=ID),
    ),
    "aws:apigatewayv2/route:Route": Described(
        "apigatewayv2",
        ("region", "apiId", "routeKey"),
        "{RouteId}",
        create=ROUTE,
        update=ROUTE.also("update_route", RouteId=ID),
        read_by=Call("get_route", "ApiId", RouteId=ID),
        delete_by=Call("delete_route", "ApiId", RouteId=ID),
    ),
    "aws:apigatewayv2/stage:Stage": Described(  # it serves every change of its API at once; the server limits no rate
        "apigatewayv2",
        ("region", "apiId", "name"),
        "{name}",
        create=Call(
            "create_stage",
            "ApiId",
            "AutoDeploy",
            StageName="name",
            DefaultRouteSettings=lambda inputs: capital(inputs["defaultRouteSettings"]),
        ),
        read_by=Call("get_stage", "ApiId", StageName=ID),
        delete_by=Call("delete_stage", "ApiId", StageName=ID),
    ),
}
