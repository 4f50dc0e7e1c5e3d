"""Lambda functions, their URLs, permissions and settings of asynchronous events."""

import base64
import json
from dataclasses import replace
from typing import Any

from ..engine.stack import Made
from .kind import ID, Aws, Call, Described, Inputs, Kind, Result, capital

FUNCTION = "aws:lambda/function:Function"

SOON: Any = {"Delay": 0.1, "MaxAttempts": 300}
"""For waiters: look ten times a second. A deployment waits for several functions, one after the other."""


def _processors(inputs: Inputs) -> list[str]:
    return inputs.get("architectures", ["x86_64"])


def _archive(inputs: Inputs) -> bytes:
    """Return a function's archive. It is an input as base64 text (`engine/inputs.py` makes it so)."""
    return base64.b64decode(inputs["code"])


SETTINGS = Call(
    "update_function_configuration",
    "Role",
    "Runtime",
    "Handler",
    FunctionName="name",
    MemorySize=lambda inputs: inputs.get("memorySize", 128),
    Timeout=lambda inputs: inputs.get("timeout", 3),
    Environment=lambda inputs: {"Variables": inputs.get("environment", {}).get("variables", {})},
    LoggingConfig=lambda inputs: capital(inputs.get("loggingConfig", {})) or None,
)


def _changed_function(client: Any, inputs: Inputs, before: Made | None) -> None:
    """Bring a function's code and concurrency to `inputs`; then wait until it can be called."""
    name = inputs["name"]
    if before is not None:
        client.update_function_code(FunctionName=name, ZipFile=_archive(inputs), Architectures=_processors(inputs))
    if (reserved := inputs.get("reservedConcurrentExecutions", -1)) >= 0:
        client.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=reserved)
    else:
        client.delete_function_concurrency(FunctionName=name)
    client.get_waiter("function_active_v2").wait(FunctionName=name, WaiterConfig=SOON)


class FunctionUrl(Described):
    """A function's URL. It has the path form of this server, which needs no host name to resolve."""

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Create the URL, or change who may call it and from which pages. It stays the same URL."""
        result = super().apply(aws, inputs, before)
        url = f"{aws.endpoint}/_aws/lambda-url/{result.outputs['urlId']}/"
        return replace(result, outputs={"functionUrl": url, **result.outputs})


URL = Call(
    "create_function_url_config",
    "FunctionName",
    AuthType="authorizationType",
    Cors=lambda inputs: capital(inputs.get("cors") or {}),
)


def _permission(inputs: Inputs, found: Any) -> dict[str, Any] | None:
    return {} if any(one["Sid"] == inputs[ID] for one in json.loads(found["Policy"])["Statement"]) else None


KINDS: dict[str, Kind] = {
    FUNCTION: Described(
        "lambda",
        ("region", "name"),
        "{name}",
        create=SETTINGS.also(
            "create_function", Architectures=_processors, Code=lambda inputs: {"ZipFile": _archive(inputs)}
        ),
        update=SETTINGS,
        then=_changed_function,
        read_by=Call("get_function", FunctionName=ID),
        now=lambda _inputs, found: {"arn": found["Configuration"]["FunctionArn"]},
        delete_by=Call("delete_function", FunctionName=ID),
    ),
    "aws:lambda/functionEventInvokeConfig:FunctionEventInvokeConfig": Described(
        "lambda",
        ("region", "functionName"),
        "{functionName}",
        create=Call(
            "put_function_event_invoke_config", "FunctionName", "MaximumEventAgeInSeconds", "MaximumRetryAttempts"
        ),
        read_by=Call("get_function_event_invoke_config", FunctionName=ID),
        delete_by=Call("delete_function_event_invoke_config", FunctionName=ID),
    ),
    "aws:lambda/functionUrl:FunctionUrl": FunctionUrl(
        "lambda",
        ("region", "functionName"),
        "{functionName}",
        create=URL,
        update=URL.also("update_function_url_config"),
        read_by=Call("get_function_url_config", FunctionName=ID),
        now=lambda _inputs, found: {"urlId": found["FunctionUrl"].split("://")[1].split(".")[0]},
        delete_by=Call("delete_function_url_config", FunctionName=ID),
    ),
    "aws:lambda/permission:Permission": Described(
        "lambda",
        ("region", "function", "statementId"),
        "{statementId}",
        create=Call(
            "add_permission",
            "StatementId",
            "Action",
            "Principal",
            "FunctionUrlAuthType",
            "InvokedViaFunctionUrl",
            "SourceArn",
            FunctionName="function",
        ),
        recreated=True,
        read_by=Call("get_policy", FunctionName="function"),
        now=_permission,
        delete_by=Call("remove_permission", FunctionName="function", StatementId=ID),
    ),
}
