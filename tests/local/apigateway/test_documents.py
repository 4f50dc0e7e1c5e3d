"""What API Gateway takes of the documents that the program writes: all of it.

It stores a method's responses, and an integration's, by status code, and refuses what those of the method don't declare
(API Gateway API reference, "Method" and "Integration"). moto imports such documents independently of us. It takes
`x-amazon-apigateway-any-method` for a method's name, and a mock integration only with `httpMethod` and `uri`.
"""

import json
import re
from typing import Any, cast

import boto3
import botocore.session
import pytest
from moto import mock_aws

from components.domain.api import document as domain_document
from components.gateway.openapi import GATEWAY_RESPONSES
from local.apigateway.rest_api import INTEGRATION
from tests.components.running import gateway_document

REGION = "eu-west-1"
TABLE = f"arn:aws:dynamodb:{REGION}:123456789012:table/counters"
ROLE = "arn:aws:iam::123456789012:role/gateway"

DOCUMENTS: dict[str, dict[str, Any]] = {
    "signed": gateway_document(REGION, TABLE, ROLE, authorization="AWS_IAM"),
    "public": gateway_document(REGION, TABLE, ROLE, authorization="NONE"),
    "paused": gateway_document(REGION, TABLE, ROLE, paused=[REGION]),
    "leaving": gateway_document(REGION, TABLE, ROLE, home="us-east-1", regions=["us-east-1"], leaving=[REGION]),
    "domain": domain_document("domain", f"arn:aws:lambda:{REGION}:123456789012:function:mint"),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_response_is_lost_or_undeclared(name: str) -> None:
    for operations in DOCUMENTS[name]["paths"].values():
        for operation in operations.values():
            responses = operation[INTEGRATION].get("responses", {})
            statuses = [response["statusCode"] for response in responses.values()]
            assert len(statuses) == len(set(statuses))
            for pattern, response in responses.items():
                assert re.compile(pattern)
                declared = operation["responses"][response["statusCode"]]["headers"]
                names = {f"method.response.header.{header}" for header in declared}
                assert response["responseParameters"].keys() <= names
                assert all(re.fullmatch("'[^']*'", value) for value in response["responseParameters"].values())


@pytest.mark.slow
@pytest.mark.parametrize("name", DOCUMENTS)
def test_another_importer_stores_all_responses(name: str) -> None:
    openapi = json.loads(json.dumps(DOCUMENTS[name]))
    expected: dict[str, dict[str, set[str]]] = {}
    for path, operations in openapi["paths"].items():
        for method, operation in operations.items():
            integration = operation[INTEGRATION]
            if integration["type"] == "mock":
                integration |= {"type": "MOCK", "httpMethod": "", "uri": ""}
            statuses = {response["statusCode"] for response in integration.get("responses", {}).values()}
            expected.setdefault(path, {})[method.upper()] = statuses
    with mock_aws():
        client: Any = cast("Any", boto3).client("apigateway", region_name=REGION)
        id_ = client.create_rest_api(name="api")["id"]
        client.put_rest_api(restApiId=id_, mode="overwrite", failOnWarnings=True, body=json.dumps(openapi).encode())
        items: list[dict[str, Any]] = client.get_resources(restApiId=id_, embed=["methods"])["items"]

    stored = {
        item["path"]: {
            name: set(method["methodIntegration"].get("integrationResponses", {}))
            for name, method in item["resourceMethods"].items()
        }
        for item in items
        if "resourceMethods" in item
    }
    assert stored == expected


@pytest.mark.parametrize("name", DOCUMENTS)
def test_gateway_responses_have_types_that_exist(name: str) -> None:
    shapes: Any = botocore.session.get_session().get_service_model("apigateway")

    assert set(DOCUMENTS[name][GATEWAY_RESPONSES]) <= set(shapes.shape_for("GatewayResponseType").enum)
