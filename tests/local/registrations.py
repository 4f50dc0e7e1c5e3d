"""Registrations as the program makes them, for tests that give them to the engine themselves."""

import io
import json
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from components.function import trusting
from local.aws_clients import Aws
from local.engine import Engine
from local.engine.program import Registration
from local.resources.lambda_ import archived
from local.stack import State

HOME = "us-east-1"


def registration(kind: str, name: str, inputs: dict[str, Any], **options: Any) -> Registration:
    """Return a resource of one of the provider's types."""
    protect, ignored = options.get("protect", False), options.get("ignore_changes", ())
    return Registration("urn", kind, name, True, inputs, protect, "", frozenset(), (), ignored)


def table(name: str, *, protect: bool = False, **changed: Any) -> Registration:
    """Return a table."""
    inputs: dict[str, Any] = {
        "region": HOME,
        "name": name,
        "billingMode": "PAY_PER_REQUEST",
        "hashKey": "receipt",
        "attributes": [{"name": "receipt", "type": "S"}],
        "streamEnabled": False,
        "deletionProtectionEnabled": False,
        "pointInTimeRecovery": {"enabled": True},
        "ttl": {"enabled": True, "attributeName": "expires"},
    }
    return registration("aws:dynamodb/table:Table", name, {**inputs, **changed}, protect=protect)


def create_bare_table(aws: Aws, name: str) -> None:
    """Create a table with the same key and nothing else, without the engine."""
    aws.client("dynamodb", HOME).create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "receipt", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "receipt", "AttributeType": "S"}],
    )


def role(name: str, **changed: Any) -> Registration:
    """Return a function's role."""
    inputs = {"name": name, "assumeRolePolicy": trusting("lambda.amazonaws.com")}
    return registration("aws:iam/role:Role", name, {**inputs, **changed})


def function(name: str, source: str, variables: dict[str, str], region: str = HOME, **changed: Any) -> Registration:
    """Return a function whose only module has `handler`."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as zipped:
        zipped.writestr(zipfile.ZipInfo("answer.py"), source)  # equal sources are equal archives
    inputs: dict[str, Any] = {
        "region": region,
        "name": name,
        "role": f"arn:aws:iam::000000000000:role/{name}",
        "runtime": "python3.14",
        "architectures": ["arm64"],
        "handler": "answer.handler",
        "memorySize": 128,
        "timeout": 10,
        "reservedConcurrentExecutions": -1,
        "environment": {"variables": variables},
        "loggingConfig": {
            "logFormat": "JSON",
            "logGroup": f"/aws/lambda/{name}",
            "applicationLogLevel": "WARN",
            "systemLogLevel": "WARN",
        },
        "code": archived(archive.getvalue()),
    }
    return registration("aws:lambda/function:Function", name, {**inputs, **changed})


def alias(
    name: str, qualifier: str = "minting", *, ignore_changes: tuple[str, ...] = (), **changed: str
) -> Registration:
    """Return an alias of a function."""
    inputs = {"region": HOME, "functionName": name, "name": qualifier, "functionVersion": "$LATEST", **changed}
    return registration("aws:lambda/alias:Alias", f"{name}-{qualifier}", inputs, ignore_changes=ignore_changes)


def permission(name: str, title: str = "permission", **changed: Any) -> Registration:
    """Return who may call a function: by default, the rules of EventBridge."""
    inputs = {"region": HOME, "function": name, "statementId": title, "action": "lambda:InvokeFunction"}
    inputs |= {"principal": "events.amazonaws.com"}
    return registration("aws:lambda/permission:Permission", title, {**inputs, **changed})


def retries(name: str, attempts: int, qualifier: str = "") -> Registration:
    """Return how often a function, or an alias of it, is called again with an event for which it has failed."""
    inputs = {"region": HOME, "functionName": name, "maximumEventAgeInSeconds": 60, "maximumRetryAttempts": attempts}
    inputs |= {"qualifier": qualifier} if qualifier else {}
    kind = "aws:lambda/functionEventInvokeConfig:FunctionEventInvokeConfig"
    return registration(kind, f"{name}-{qualifier}-retries", inputs)


def invocation(name: str, event: Mapping[str, Any], title: str = "release", **changed: str) -> Registration:
    """Return a call of a function at every deployment that changes something."""
    inputs = {"region": HOME, "functionName": name, "input": json.dumps(event), "lifecycleScope": "CREATE_ONLY"}
    return registration("aws:lambda/invocation:Invocation", title, {**inputs, **changed})


def invoked(aws: Aws, name: str, region: str = HOME) -> Any:
    """Return what a function answers."""
    response = aws.client("lambda", region).invoke(FunctionName=name, Payload=b"{}")
    return json.load(response["Payload"])


def previewed(aws: Aws, *resources: Registration) -> tuple[list[dict[str, Any]], Counter[str]]:
    """Preview exactly these. Return the outputs of each that are known, and how often each event was reported."""
    return _applied(aws, resources, frozen=True)


def up(aws: Aws, *resources: Registration) -> tuple[list[dict[str, Any]], Counter[str]]:
    """Deploy exactly these. Return the outputs of each, and how often each event was reported."""
    return _applied(aws, resources, frozen=False)


def _applied(aws: Aws, resources: Sequence[Registration], *, frozen: bool) -> tuple[list[dict[str, Any]], Counter[str]]:
    events: Counter[str] = Counter()

    def report(event: str, _kind: str, _name: str) -> None:
        events[event] += 1

    engine = Engine(aws, State("parts", frozen=frozen), report)
    outputs = [dict(engine.create(resource)[1]) for resource in resources]
    engine.delete_unseen()
    return outputs, events
