"""REST APIs that hand every request to a function. The local AWS server serves them itself, and checks signatures.

It knows Signature Version 4, not 4A. From an OpenAPI document, it wouldn't make the methods that stand for all methods.
So the resources of the document are made one by one.
"""

import json
from collections.abc import Mapping
from typing import Any

from ..engine.state import Made
from ..resources.kind import ACCOUNT, Aws, Result

ANY = "x-amazon-apigateway-any-method"
INTEGRATION = "x-amazon-apigateway-integration"


def hands_over(body: str) -> bool:
    """Return whether the API of this document hands its requests to a function."""
    operations = (operation for path in json.loads(body)["paths"].values() for operation in path.values())
    return all(operation[INTEGRATION]["type"] == "aws_proxy" for operation in operations)


def on_server(api: str) -> bool:
    """Return whether the server serves this API, by its id. The ids of other APIs contain a region."""
    return "-" not in api


def apply(aws: Aws, inputs: Mapping[str, Any], before: Made | None) -> Result:
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
