"""REST APIs and HTTP APIs, and their names.

`local/apigateway/` serves REST APIs in a process of its own. The local AWS server itself serves HTTP APIs, and those
REST APIs that hand every request to a function: it checks signatures (Signature Version 4, not 4A). From an OpenAPI
document, it wouldn't make the methods that stand for all methods, so every method is made by a call.
"""

import json
from collections.abc import Mapping
from shutil import rmtree
from typing import Any

from ..apigateway import GATEWAY, documents, on_server, running, url_of
from ..apigateway.rest_api import INTEGRATION
from ..aws_clients import Aws
from ..paths import write
from ..stack import Made
from .kind import ACCOUNT, ID, Applied, Call, Described, Inputs, Kind, NotMade, capital

POLICY = "x-amazon-apigateway-policy"

ANY_METHOD = "x-amazon-apigateway-any-method"


def _hands_over(document: Inputs) -> bool:
    methods = [method for methods in document["paths"].values() for method in methods.values()]
    return all(method[INTEGRATION]["type"] == "aws_proxy" for method in methods)


def _apply_methods(aws: Aws, inputs: Inputs, document: Inputs, before: Made | None) -> Applied:
    """Create the API, or change its methods. A path that the document no longer has stays."""
    client = aws.client("apigateway", inputs["region"])
    id_ = before.id if before else client.create_rest_api(name=inputs["name"])["id"]
    found = {resource["path"]: resource["id"] for resource in client.get_resources(restApiId=id_)["items"]}
    for path, methods in document["paths"].items():
        above = "/"
        for part in filter(None, path.split("/")):
            below = f"{above.rstrip('/')}/{part}"
            if below not in found:
                made = client.create_resource(restApiId=id_, parentId=found[above], pathPart=part)
                found[below] = made["id"]
            above = below
        for name, method in methods.items():
            of_all = name == ANY_METHOD
            place = {"restApiId": id_, "resourceId": found[path], "httpMethod": "ANY" if of_all else name.upper()}
            client.put_method(**place, authorizationType="AWS_IAM" if "security" in method else "NONE")
            to = method[INTEGRATION]
            client.put_integration(**place, type="AWS_PROXY", integrationHttpMethod=to["httpMethod"], uri=to["uri"])
    policy = json.dumps(document[POLICY])
    client.update_rest_api(restApiId=id_, patchOperations=[{"op": "replace", "path": "/policy", "value": policy}])
    return id_, {"executionArn": f"arn:aws:execute-api:{inputs['region']}:{ACCOUNT}:{id_}"}


class _RestApi(Kind):
    """A REST API. What a stage serves of it changes with a deployment."""

    identity = ("region", "name")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Applied:
        document = json.loads(inputs["body"])
        if _hands_over(document):
            return _apply_methods(aws, inputs, document, before)
        served = running(aws.endpoint).endpoint
        api = f"{inputs['region']}-{inputs['name']}"
        write(documents() / f"{api}.json", inputs["body"])
        return api, {"executionUrl": f"{served}/{api}"}

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        if on_server(made.id):
            aws.client("apigateway", made.inputs["region"]).get_rest_api(restApiId=made.id)
            return made.outputs
        return made.outputs if GATEWAY.runs() and (documents() / f"{made.id}.json").exists() else None

    def delete(self, aws: Aws, made: Made) -> None:
        if on_server(made.id):
            aws.client("apigateway", made.inputs["region"]).delete_rest_api(restApiId=made.id)
            return
        (documents() / f"{made.id}.json").unlink(missing_ok=True)
        rmtree(documents() / made.id, ignore_errors=True)
        if not list(documents().glob("*.json")):
            GATEWAY.stop()


class _Deployment(Kind):
    """An API as it is now, which a stage can serve (guide, "Create a deployment for a REST API").

    It never changes: where its triggers have changed, it is another one. Here, it is made with its stage.
    """

    identity = ("region", "restApi")
    replaced = True

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Applied:
        return f"{inputs['restApi']}-{inputs['triggers']['body']:.8}", {}


class _Stage(Kind):
    """A stage of an API: the last part of its URL. It serves a deployment, which is made with it."""

    identity = ("region", "restApi", "stageName")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Applied:
        api, stage = inputs["restApi"], inputs["stageName"]
        if on_server(api):
            aws.client("apigateway", inputs["region"]).create_deployment(restApiId=api, stageName=stage)
        else:
            served = documents() / api / f"{stage}.json"
            served.parent.mkdir(exist_ok=True)
            write(served, (documents() / f"{api}.json").read_text())
        return f"{api}-{stage}", {}

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        api, stage = made.inputs["restApi"], made.inputs["stageName"]
        if not on_server(api) and not (documents() / api / f"{stage}.json").exists():
            return None
        return {"invokeUrl": url_of(api, stage, aws.endpoint)}

    def delete(self, aws: Aws, made: Made) -> None:
        api, stage = made.inputs["restApi"], made.inputs["stageName"]
        if on_server(api):
            aws.client("apigateway", made.inputs["region"]).delete_stage(restApiId=api, stageName=stage)
        else:
            (documents() / api / f"{stage}.json").unlink(missing_ok=True)


class _ApiMapping(Kind):
    """The API that a name leads to. The local server can't lead to one that it doesn't serve: that is only kept."""

    identity = ("region", "domainName")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Applied:
        """Add the mapping. It can't be changed: what is there is removed first, also if a killed run made it."""
        client, name, api = aws.client("apigatewayv2", inputs["region"]), inputs["domainName"], inputs["apiId"]
        for found in client.get_api_mappings(DomainName=name)["Items"]:
            client.delete_api_mapping(DomainName=name, ApiMappingId=found["ApiMappingId"])
        if not on_server(api):
            return f"{name}/{api}", {}
        made = client.create_api_mapping(DomainName=name, ApiId=api, Stage=inputs["stage"])
        return made["ApiMappingId"], {}

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        if on_server(made.inputs["apiId"]):
            client = aws.client("apigatewayv2", made.inputs["region"])
            client.get_api_mapping(DomainName=made.inputs["domainName"], ApiMappingId=made.id)
        return made.outputs

    def delete(self, aws: Aws, made: Made) -> None:
        if on_server(made.inputs["apiId"]):
            client = aws.client("apigatewayv2", made.inputs["region"])
            client.delete_api_mapping(DomainName=made.inputs["domainName"], ApiMappingId=made.id)


UPDATE_API = Call("update_api", "DisableExecuteApiEndpoint CorsConfiguration", ApiId=ID)


def _changed_http_api(client: Any, inputs: Inputs, before: Made | None) -> None:
    if before is not None and "corsConfiguration" in before.inputs and "corsConfiguration" not in inputs:
        client.delete_cors_configuration(ApiId=before.id)


INTEGRATION_OF_API = Call("create_integration", "ApiId IntegrationType IntegrationUri PayloadFormatVersion")

ROUTE = Call("create_route", "ApiId RouteKey Target")


def _route_settings(inputs: Inputs) -> dict[str, Any]:
    """Return the settings of routes by their keys."""
    return {
        of_route["routeKey"]: capital({name: value for name, value in of_route.items() if name != "routeKey"})
        for of_route in inputs.get("routeSettings", [])
    }


DOMAIN_NAME = Call("create_domain_name", "DomainName", DomainNameConfigurations=["domainNameConfiguration"])


def _domain_name(inputs: Inputs, found: Any) -> dict[str, Any]:
    (one,) = found["DomainNameConfigurations"]
    target = {"targetDomainName": one["ApiGatewayDomainName"], "hostedZoneId": one["HostedZoneId"]}
    return {"domainNameConfiguration": {**inputs["domainNameConfiguration"], **target}}


KINDS: dict[str, Kind] = {
    "aws:apigateway/deployment:Deployment": _Deployment(),
    "aws:apigateway/methodSettings:MethodSettings": NotMade(  # no rate is limited here
        ("region", "restApi", "stageName", "methodPath"), "{restApi}-{stageName}-{methodPath}"
    ),
    "aws:apigateway/restApi:RestApi": _RestApi(),
    "aws:apigateway/stage:Stage": _Stage(),
    # The server knows a name of an HTTP API by the request's `Host` header, but no regions by it: where several regions
    # have the same name, it answers from any of them. It doesn't switch off an API's own endpoint.
    "aws:apigatewayv2/api:Api": Described(
        "apigatewayv2",
        id="{ApiId}",
        create=UPDATE_API.also("create_api", Name="name", ProtocolType="protocolType"),
        update=UPDATE_API,
        then=_changed_http_api,
        read_by=Call("get_api", ApiId=ID),
        now=lambda inputs, _: {"executionArn": f"arn:aws:execute-api:{inputs['region']}:{ACCOUNT}:{inputs[ID]}"},
        delete_by="delete_api",
    ),
    "aws:apigatewayv2/apiMapping:ApiMapping": _ApiMapping(),
    "aws:apigatewayv2/domainName:DomainName": Described(
        "apigatewayv2",
        ("region", "domainName"),
        create=DOMAIN_NAME,
        update=DOMAIN_NAME.also("update_domain_name"),
        read_by=Call("get_domain_name", DomainName=ID),
        now=_domain_name,
        delete_by="delete_domain_name",  # with its mappings
    ),
    "aws:apigatewayv2/integration:Integration": Described(
        "apigatewayv2",
        ("region", "apiId"),
        id="{IntegrationId}",
        create=INTEGRATION_OF_API,
        update=INTEGRATION_OF_API.also("update_integration", IntegrationId=ID),
        read_by=Call("get_integration", "ApiId", IntegrationId=ID),
        delete_by="delete_integration",
    ),
    "aws:apigatewayv2/route:Route": Described(
        "apigatewayv2",
        ("region", "apiId", "routeKey"),
        id="{RouteId}",
        create=ROUTE,
        update=ROUTE.also("update_route", RouteId=ID),
        read_by=Call("get_route", "ApiId", RouteId=ID),
        delete_by="delete_route",
    ),
    "aws:apigatewayv2/stage:Stage": Described(  # it serves every change of its API at once; the server limits no rate
        "apigatewayv2",
        ("region", "apiId", "name"),
        create=Call(
            "create_stage", "ApiId AutoDeploy DefaultRouteSettings", StageName="name", RouteSettings=_route_settings
        ),
        read_by=Call("get_stage", "ApiId", StageName=ID),
        delete_by="delete_stage",
    ),
}
