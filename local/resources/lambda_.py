"""Lambda functions, their URLs and permissions, and calls of functions at deploy time."""

import base64
import builtins
import json
from collections.abc import Mapping
from hashlib import sha256
from textwrap import indent
from typing import TYPE_CHECKING, Any

from ..aws_clients import Aws
from ..paths import LocalError
from ..server.ministack_server import FUNCTION_URLS
from ..stack import Made
from .kind import ID, SERVER, Applied, Call, Described, Inputs, Kind, capital

if TYPE_CHECKING:
    from types_boto3_lambda import LambdaClient

FUNCTION = "aws:lambda/function:Function"

INVOCATION = "aws:lambda/invocation:Invocation"

SOON: Any = {"Delay": 0.1, "MaxAttempts": 300}
"""For waiters: look ten times a second. A deployment waits for several functions, one after the other."""


ARCHIVES: dict[str, bytes] = {}
"""The code of functions, of this process, by what is in their inputs instead: it is too large for the state."""


def archived(code: bytes) -> str:
    """Return what is in a function's inputs for an archive: its checksum."""
    name = sha256(code).hexdigest()
    ARCHIVES[name] = code
    return name


SETTINGS = Call(
    "update_function_configuration",
    "Description Role Runtime Handler LoggingConfig",
    FunctionName="name",
    MemorySize=lambda inputs: inputs.get("memorySize", 128),
    Timeout=lambda inputs: inputs.get("timeout", 3),
    Environment=lambda inputs: {"Variables": inputs.get("environment", {}).get("variables", {})},
    KMSKeyArn=lambda inputs: inputs.get("kmsKeyArn", ""),
)

CODE = Call(
    "update_function_code",
    FunctionName="name",
    ZipFile=lambda inputs: ARCHIVES.get(inputs.get("code", ""), b""),
    Architectures=lambda inputs: inputs.get("architectures", ["x86_64"]),  # Lambda's default
)

CREATE = SETTINGS.also(
    "create_function",
    Architectures=CODE.sources["Architectures"],
    Code=lambda inputs: {"ZipFile": CODE.parameters(inputs)["ZipFile"]},
    Publish="publish",
)

OF_VERSION = frozenset({"version", "qualifiedArn", "qualifiedInvokeArn"})
"""A function's outputs that change when a version is published."""


def _differ(call: Call, before: Inputs, inputs: Inputs) -> bool:
    return call.parameters(before) != call.parameters(inputs)


def _publishes(before: Inputs, inputs: Inputs) -> bool:
    """Return whether this change publishes a version. Reserved concurrency isn't a version's, so it doesn't."""
    changed = _differ(SETTINGS, before, inputs) or _differ(CODE, before, inputs)
    return inputs.get("publish", False) and (changed or not before.get("publish"))


def _surely(before: Made) -> Inputs:
    """Return what is known to be so. After an update that was killed, that is nothing: all is done again."""
    return {} if before.updating else before.inputs


def _invoke_arn(region: str, arn: str) -> str:
    """Return what an API calls: the function, version or alias of this ARN."""
    return f"arn:aws:apigateway:{region}:lambda:path/2015-03-31/functions/{arn}/invocations"


class _Function(Kind):
    """A function. Each step is a call of its own, in the order of the provider, and `$LATEST` is in between.

    First the configuration changes, then the code, then the reserved concurrency; a version is published last.
    Source: `resourceFunctionUpdate` of terraform-provider-aws. A step is left out where it has nothing to change.
    """

    identity = ("region", "name")
    done_if_failed = True
    """An error in one of the steps leaves the new inputs in Pulumi's state, so that none of them is done again."""

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Applied:
        client, name = aws.client("lambda", inputs["region"]), inputs["name"]
        former: Inputs = {} if before is None or before.inputs == inputs else _surely(before)
        if before is None:
            CREATE.make(client, inputs)
            client.get_waiter("function_active_v2").wait(FunctionName=name, WaiterConfig=SOON)
        else:
            for call in (SETTINGS, CODE):
                if _differ(call, former, inputs):
                    call.make(client, inputs)
                    client.get_waiter("function_updated_v2").wait(FunctionName=name, WaiterConfig=SOON)
        _reserve(client, former, inputs)
        if before is not None and _publishes(former, inputs):
            number = client.publish_version(FunctionName=name)["Version"]
            client.get_waiter("published_version_active").wait(FunctionName=name, Qualifier=number, WaiterConfig=SOON)
        return name, {}

    def known(self, before: Made, inputs: Inputs) -> Mapping[str, Any]:
        gone = OF_VERSION if _publishes(_surely(before), inputs) else frozenset[str]()
        return {name: value for name, value in before.outputs.items() if name not in gone}

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any]:
        name, region = made.id, made.inputs["region"]
        client = aws.client("lambda", region)
        arn = client.get_function(FunctionName=name)["Configuration"].get("FunctionArn", "")
        pages = client.get_paginator("list_versions_by_function").paginate(FunctionName=name)
        last = [version for page in pages for version in page["Versions"]][-1].get("Version", "")
        qualified = f"{arn}:{last}"
        return {
            "arn": arn,
            "invokeArn": _invoke_arn(region, arn),
            "version": last,
            "qualifiedArn": qualified,
            "qualifiedInvokeArn": _invoke_arn(region, qualified),
        }

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete it, with its versions and aliases."""
        aws.client("lambda", made.inputs["region"]).delete_function(FunctionName=made.id)


def _reserve(client: "LambdaClient", before: Inputs, inputs: Inputs) -> None:
    """Set the reserved concurrency. It holds for the function with all its versions and aliases."""
    name, reserved = inputs["name"], inputs.get("reservedConcurrentExecutions", -1)
    if reserved == before.get("reservedConcurrentExecutions"):
        return
    if reserved >= 0:
        client.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=reserved)
    elif before:
        client.delete_function_concurrency(FunctionName=name)


def _function_url(inputs: Inputs, found: Any) -> dict[str, Any]:
    """Return a function's URL in the path form of this server, which needs no host name to resolve."""
    id_ = found["FunctionUrl"].split("://")[1].split(".")[0]
    return {"urlId": id_, "functionUrl": f"{inputs[SERVER]}{FUNCTION_URLS}{id_}/"}


URL = Call(
    "create_function_url_config",
    "FunctionName Qualifier",
    AuthType="authorizationType",
    Cors=lambda inputs: capital(inputs.get("cors") or {}),
)


ALIAS = Call("create_alias", "FunctionName Name FunctionVersion Description")


def _alias(inputs: Inputs, found: Any) -> dict[str, Any]:
    """Return what an alias is now. Where it leads is among that: what somebody has moved, a refresh finds."""
    return {
        "arn": found["AliasArn"],
        "invokeArn": _invoke_arn(inputs["region"], found["AliasArn"]),
        "functionVersion": found["FunctionVersion"],
        "description": found.get("Description", ""),
    }


PERMISSION = Call("get_policy", "Qualifier", FunctionName="function")


def _permission(inputs: Inputs, found: Any) -> dict[str, Any] | None:
    return {} if any(one["Sid"] == inputs[ID] for one in json.loads(found["Policy"])["Statement"]) else None


def failure(payload: str, log: str = "") -> str:
    """Return how a call failed. An error class of the function's own has a message for whoever deploys.

    Otherwise the message alone says little (`KeyError: 'X'`, a module that can't be imported): with the type and the
    end of the log (base64), as Lambda returns it.
    """
    error = json.loads(payload)
    kind, message = error.get("errorType", ""), error.get("errorMessage", payload)
    if "." not in kind and not hasattr(builtins, kind):
        return message
    end = base64.b64decode(log).decode(errors="replace").strip()
    return f"{kind}: {message}\n{indent(end, '  ')}".rstrip()


class _Invocation(Kind):
    """A call of a function, of lifecycle scope CREATE_ONLY: a change is another call, which replaces the one before."""

    identity = ()
    replaced = True

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Applied:
        name = inputs["functionName"]
        qualifier = inputs.get("qualifier", "$LATEST")  # the provider's default
        client = aws.client("lambda", inputs["region"])
        response = client.invoke(FunctionName=name, Qualifier=qualifier, Payload=inputs["input"], LogType="Tail")
        payload = response["Payload"].read().decode()
        if "FunctionError" in response:
            raise LocalError(f"{name}: {failure(payload, response.get('LogResult', ''))}")
        return f"{name}:CREATE_ONLY", {"result": payload}


KINDS: dict[str, Kind] = {
    FUNCTION: _Function(),
    "aws:lambda/alias:Alias": Described(
        "lambda",
        ("region", "functionName", "name"),
        create=ALIAS,
        update=ALIAS.also("update_alias"),
        read_by=Call("get_alias", "FunctionName", Name=ID),
        now=_alias,
        delete_by="delete_alias",
    ),
    "aws:lambda/functionEventInvokeConfig:FunctionEventInvokeConfig": Described(
        "lambda",
        ("region", "functionName", "qualifier"),
        id="{functionName}",
        create=Call(
            "put_function_event_invoke_config",
            "FunctionName Qualifier MaximumEventAgeInSeconds MaximumRetryAttempts",
        ),
        read_by=Call("get_function_event_invoke_config", "FunctionName Qualifier"),
        delete_by="delete_function_event_invoke_config",
    ),
    "aws:lambda/functionUrl:FunctionUrl": Described(
        "lambda",
        ("region", "functionName", "qualifier"),
        id="{functionName}",
        create=URL,
        update=URL.also("update_function_url_config"),
        read_by=Call("get_function_url_config", "Qualifier", FunctionName=ID),
        now=_function_url,
        delete_by="delete_function_url_config",
    ),
    "aws:lambda/permission:Permission": Described(
        "lambda",
        ("region", "function", "qualifier", "statementId"),
        create=PERMISSION.also(
            "add_permission",
            **Call("", "StatementId Action Principal FunctionUrlAuthType InvokedViaFunctionUrl SourceArn").sources,
        ),
        recreated=True,
        read_by=PERMISSION,
        now=_permission,
        delete_by=PERMISSION.also("remove_permission", StatementId=ID),
    ),
    INVOCATION: _Invocation(),
}
