"""Lambda functions, their URLs and permissions; calls of functions at deploy time, and what the coordinator reports."""

import base64
import json
from collections.abc import Generator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from global_integers_core.names import CHECK_COUNTER

from ..paths import LocalError
from ..stack import Made
from ..terminal import say
from .kind import ID, SERVER, Aws, Call, Described, Inputs, Kind, Result, capital

FUNCTION = "aws:lambda/function:Function"

INVOCATION = "aws:lambda/invocation:Invocation"

SOON: Any = {"Delay": 0.1, "MaxAttempts": 300}
"""For waiters: look ten times a second. A deployment waits for several functions, one after the other."""


def _archive(inputs: Inputs) -> bytes:
    return base64.b64decode(inputs["code"])  # as engine/inputs.py has it


SETTINGS = Call(
    "update_function_configuration",
    "Role Runtime Handler LoggingConfig",
    FunctionName="name",
    MemorySize=lambda inputs: inputs.get("memorySize", 128),
    Timeout=lambda inputs: inputs.get("timeout", 3),
    Environment=lambda inputs: {"Variables": inputs.get("environment", {}).get("variables", {})},
)


def _changed_function(client: Any, inputs: Inputs, before: Made | None) -> None:
    name = inputs["name"]
    if before is not None:
        client.update_function_code(FunctionName=name, ZipFile=_archive(inputs), Architectures=inputs["architectures"])
    if (reserved := inputs.get("reservedConcurrentExecutions", -1)) >= 0:
        client.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=reserved)
    else:
        client.delete_function_concurrency(FunctionName=name)
    client.get_waiter("function_active_v2").wait(FunctionName=name, WaiterConfig=SOON)


def _function_url(inputs: Inputs, found: Any) -> dict[str, Any]:
    """Return a function's URL in the path form of this server, which needs no host name to resolve."""
    id_ = found["FunctionUrl"].split("://")[1].split(".")[0]
    return {"urlId": id_, "functionUrl": f"{inputs[SERVER]}/_aws/lambda-url/{id_}/"}


URL = Call(
    "create_function_url_config",
    "FunctionName",
    AuthType="authorizationType",
    Cors=lambda inputs: capital(inputs.get("cors") or {}),
)


ALIAS = Call("create_alias", "FunctionName Name FunctionVersion Description")


def _permission(inputs: Inputs, found: Any) -> dict[str, Any] | None:
    return {} if any(one["Sid"] == inputs[ID] for one in json.loads(found["Policy"])["Statement"]) else None


class _Invocation(Kind):
    """A call of a function, of lifecycle scope CREATE_ONLY: a change is another call, which replaces the one before."""

    identity = ("region", "functionName")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        name = inputs["functionName"]
        qualifier = inputs.get("qualifier", "$LATEST")  # the provider's default
        client = aws.client("lambda", inputs["region"])
        response = client.invoke(FunctionName=name, Qualifier=qualifier, Payload=inputs["input"])
        payload = response["Payload"].read().decode()
        if "FunctionError" in response:
            raise LocalError(f"{name}: {json.loads(payload).get('errorMessage', payload)}")
        return Result(f"{name}:CREATE_ONLY", {"result": payload}, before is not None)


def subject(inputs: Inputs) -> str:
    """Return what tells a call from others of the same function, for its key: the region of a check, or nothing."""
    check = json.loads(inputs["input"]).get("check", {})
    return f" check {check['region']}" if check else ""


KINDS: dict[str, Kind] = {
    FUNCTION: Described(
        "lambda",
        create=SETTINGS.also(
            "create_function", Architectures="architectures", Code=lambda inputs: {"ZipFile": _archive(inputs)}
        ),
        update=SETTINGS,
        then=_changed_function,
        read_by=Call("get_function", FunctionName=ID),
        now=lambda _inputs, found: {"arn": found["Configuration"]["FunctionArn"]},
        delete_by="delete_function",
    ),
    "aws:lambda/alias:Alias": Described(
        "lambda",
        ("region", "functionName", "name"),
        create=ALIAS,
        update=ALIAS.also("update_alias"),
        read_by=Call("get_alias", "FunctionName", Name=ID),
        now=lambda _inputs, found: {"arn": found["AliasArn"]},
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
        ("region", "functionName"),
        create=URL,
        update=URL.also("update_function_url_config"),
        read_by=Call("get_function_url_config", FunctionName=ID),
        now=_function_url,
        delete_by="delete_function_url_config",
    ),
    "aws:lambda/permission:Permission": Described(
        "lambda",
        ("region", "function", "statementId"),
        create=Call(
            "add_permission",
            "StatementId Action Principal FunctionUrlAuthType InvokedViaFunctionUrl SourceArn",
            FunctionName="function",
        ),
        recreated=True,
        read_by=Call("get_policy", FunctionName="function"),
        now=_permission,
        delete_by=Call("remove_permission", FunctionName="function", StatementId=ID),
    ),
    INVOCATION: _Invocation(),
}


PERIOD = 0.05
"""Seconds between two reads. A shorter phase may not be seen."""

MAX_LINES = 30


@contextmanager
def reported(aws: Aws, region: str, function: str) -> Generator[None]:
    """Print every phase of every counter while the block runs, if the function is a coordinator."""
    configuration = aws.client("lambda", region).get_function_configuration(FunctionName=function)
    table = configuration.get("Environment", {}).get("Variables", {}).get("LAYOUTS_TABLE")
    if table is None:
        yield
        return
    ended = Event()
    follower = Thread(target=_follow, args=(aws, region, table, _phases(aws, region, table), ended), daemon=True)
    follower.start()
    try:
        yield
    finally:
        ended.set()
        follower.join()


def _follow(aws: Aws, region: str, table: str, seen: dict[str, str], ended: Event) -> None:
    lines, last = 0, False
    while not last:
        last = ended.wait(PERIOD)
        for counter, now in _phases(aws, region, table).items():
            if seen.get(counter) != now:
                seen[counter] = now
                lines += 1
                if lines <= MAX_LINES:
                    say(f"  layout    {counter}: {now}")
    if lines > MAX_LINES:
        say(f"  layout    … and {lines - MAX_LINES} more")


def _phases(aws: Aws, region: str, table: str) -> dict[str, str]:
    return {counter: phase(register) for counter, register in registers(aws, region, table).items()}


def registers(aws: Aws, region: str, table: str) -> dict[str, dict[str, Any]]:
    """Return every counter's register."""
    pages = aws.client("dynamodb", region).get_paginator("scan").paginate(TableName=table)
    found: list[dict[str, Any]] = [item for page in pages for item in page["Items"]]
    counters = {register["counter"]["S"]: register for register in found if "epoch" in register}
    return {counter: register for counter, register in counters.items() if counter != CHECK_COUNTER}


def phase(register: dict[str, Any]) -> str:
    """Return a counter's epoch in words, and the regions that don't mint in it yet."""
    if not register["regions"]["L"]:
        return "is being deleted"
    epoch = f"epoch {register['epoch']['N']} from {register['base']['N']}"
    regions = [region["S"] for region in register["regions"]["L"]]
    waiting = [
        region for region, id_ in zip(regions, register.get("ids", {}).get("L", ()), strict=False) if "NULL" in id_
    ]
    return f"{epoch}: waiting for {', '.join(waiting)}" if waiting else epoch
