"""What is stored of the documents that the program writes, and which documents are refused.

moto imports such documents independently of us. It stores resources, methods, the statuses of their responses, and
integrations with their responses. It drops the rest: authorization, parameters, validators, headers of method
responses, gateway responses. Two differences are moto's defects, and `by_moto` evens them out:

- It takes `x-amazon-apigateway-any-method` for the name of a method, and keeps the spelling of types.
- It can't import an integration of the type `mock` without `httpMethod` and `uri`, as API Gateway's guide shows it.
"""

import json
from typing import Any, cast

import boto3
import botocore.session
import pytest
from moto import mock_aws

from components.domain.api import document as domain_document
from local.apigateway.data_model import (
    ANY_METHOD,
    INTEGRATION,
    Integration,
    IntegrationResponse,
    InvalidDocument,
    RestApi,
    imported,
)
from tests.components.running import gateway_document

REGION = "eu-west-1"
TABLE = f"arn:aws:dynamodb:{REGION}:123456789012:table/counters"
ROLE = "arn:aws:iam::123456789012:role/gateway"

Stored = dict[str, dict[str, tuple[frozenset[str], Integration]]]
"""Path → method → the statuses of its responses, and its integration."""


def gateway(**settings: Any) -> dict[str, Any]:
    return gateway_document(REGION, TABLE, ROLE, **settings)


def domain() -> dict[str, Any]:
    return domain_document("domain", f"arn:aws:lambda:{REGION}:123456789012:function:mint")


DOCUMENTS = {
    "signed": gateway(authorization="AWS_IAM"),
    "public": gateway(authorization="NONE"),
    "paused": gateway(paused=[REGION]),
    "leaving": gateway(home="us-east-1", regions=["us-east-1"], leaving=[REGION]),
    "domain": domain(),
}


def stored(api: RestApi) -> Stored:
    return {
        path: {name: (frozenset(m.method_responses), m.method_integration) for name, m in methods.items()}
        for path, methods in api.resources.items()
    }


def by_moto(openapi: dict[str, Any]) -> Stored:
    """Return what moto stores of a document, in this process. It refuses one that isn't valid OpenAPI."""
    openapi = json.loads(json.dumps(openapi))
    for operations in openapi["paths"].values():
        for operation in operations.values():
            if operation[INTEGRATION]["type"] == "mock":
                operation[INTEGRATION] |= {"type": "MOCK", "httpMethod": "", "uri": ""}
    with mock_aws():
        client: Any = cast("Any", boto3).client("apigateway", region_name=REGION)
        id_ = client.create_rest_api(name="api")["id"]
        client.put_rest_api(restApiId=id_, mode="overwrite", failOnWarnings=True, body=json.dumps(openapi).encode())
        items: list[dict[str, Any]] = client.get_resources(restApiId=id_, embed=["methods"])["items"]
    return {
        item["path"]: {
            "ANY" if name == ANY_METHOD.upper() else name: (
                frozenset(method["methodResponses"]),
                integration_of(method),
            )
            for name, method in item.get("resourceMethods", {}).items()
        }
        for item in items
    }


def integration_of(method: dict[str, Any]) -> Integration:
    found = method["methodIntegration"]
    return Integration(
        type=found["type"].upper(),
        http_method=found.get("httpMethod", ""),
        uri=found["uri"],
        credentials=found.get("credentials", ""),
        passthrough_behavior=found.get("passthroughBehavior", "when_no_match").upper(),
        request_parameters=found.get("requestParameters", {}),
        request_templates=found.get("requestTemplates", {}),
        integration_responses={
            status: IntegrationResponse(
                each["statusCode"],
                each.get("selectionPattern", ""),
                each["responseParameters"],
                each["responseTemplates"],
            )
            for status, each in found.get("integrationResponses", {}).items()
        },
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", DOCUMENTS)
def test_another_importer_stores_the_same(name: str) -> None:
    assert by_moto(DOCUMENTS[name]) == stored(imported(DOCUMENTS[name]))


@pytest.mark.parametrize("name", ["signed", "public", "paused", "leaving"])
def test_nothing_of_an_integration_is_lost(name: str) -> None:
    paths = DOCUMENTS[name]["paths"]

    for path, methods in imported(DOCUMENTS[name]).resources.items():
        for method, found in methods.items():
            responses = paths[path][method.lower()][INTEGRATION]["responses"]
            patterns = {
                each.selection_pattern or "default" for each in found.method_integration.integration_responses.values()
            }
            assert patterns == set(responses)


@pytest.mark.slow
def test_of_two_responses_with_one_status_one_is_lost() -> None:
    openapi = gateway()
    integration = openapi["paths"]["/"]["get"][INTEGRATION]
    integration["responses"][r"4\d{2}"]["statusCode"] = "500"

    for found in (stored(imported(openapi)), by_moto(openapi)):
        _, integration = found["/"]["GET"]
        assert set(integration.integration_responses) == {"200", "500"}
        refusal = integration.response_to(400)
        assert refusal is not None
        assert "try again" in refusal.response_templates["application/json"]


def test_a_status_that_nothing_matches_has_no_response() -> None:
    openapi = gateway()
    del openapi["paths"]["/"]["get"][INTEGRATION]["responses"]["default"]
    integration = imported(openapi).resources["/"]["GET"].method_integration

    assert integration.response_to(400) is not None
    assert integration.response_to(4000) is None, "a pattern is of the whole status"
    assert integration.response_to(500) is None


RESPONSE = (INTEGRATION, "responses", "default")


INVALID: list[tuple[tuple[str, ...], Any, str]] = [
    ((*RESPONSE, "statusCode"), "502", "No method response exists for method."),
    (("responses", "500", "headers"), {}, "expression parameter specified: method.response.header.Cache-Control"),
    (
        (*RESPONSE, "responseParameters", "method.response.header.Cache-Control"),
        "no-store",
        "Invalid mapping expression specified: no-store",
    ),
    ((INTEGRATION, "responses", "("), {"statusCode": "200"}, "Invalid selection pattern specified"),
    (("responses", "600"), {}, "Invalid status code specified"),
    (("parameters",), [{"name": "page[size]", "in": "query"}], "should match the following regular expression"),
    ((INTEGRATION,), None, "No integration defined for method"),
    ((INTEGRATION, "httpMethod"), "", "Enumeration value for HttpMethod must be non-empty"),
    ((INTEGRATION, "uri"), "arn:aws:dynamodb:eu-west-1", "must contain path or action"),
    ((INTEGRATION, "passthroughBehavior"), "when_no_match", "can't be passed through here"),
    ((INTEGRATION, "type"), "http", "HTTP can't be served here"),
    ((INTEGRATION, "requestParameters", "integration.request.header.A"), "method.request.header.B", "can't be set"),
    (("security",), [{"nonesuch": []}], "this security"),
    (("x-amazon-apigateway-request-validator",), "nonesuch", "there is no validator nonesuch"),
]
"""A member of an operation, what it becomes, and of what API Gateway complains."""


@pytest.mark.parametrize(("member", "value", "message"), INVALID)
def test_what_api_gateway_refuses_is_refused(member: tuple[str, ...], value: object, message: str) -> None:
    openapi = json.loads(json.dumps(gateway(authorization="AWS_IAM")))  # no two operations are one object
    assert imported(openapi)
    changed = openapi["paths"]["/"]["get"]
    for key in member[:-1]:
        changed = changed[key]
    changed[member[-1]] = value

    with pytest.raises(InvalidDocument, match="on 'GET' for resource at path '/'") as refused:
        imported(openapi)

    assert message in str(refused.value)


@pytest.mark.parametrize("path", ["/a b", "/{counter", "/x{counter}", "//", "/a/"])
def test_a_path_that_api_gateway_refuses_is_refused(path: str) -> None:
    openapi = gateway()
    openapi["paths"][path] = openapi["paths"]["/"]

    with pytest.raises(InvalidDocument, match=r"a-zA-Z0-9\._-:"):
        imported(openapi)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_gateway_responses_have_types_that_exist(name: str) -> None:
    shapes: Any = botocore.session.get_session().get_service_model("apigateway")

    assert set(imported(DOCUMENTS[name]).gateway_responses) <= set(shapes.shape_for("GatewayResponseType").enum)
