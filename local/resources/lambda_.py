"""Lambda functions, their URLs, permissions, settings of asynchronous events, and calls at deploy time."""

import base64
import json
from collections.abc import Mapping
from typing import Any

from ..engine.state import Made
from ..paths import LocalError
from .kind import Aws, Result


class Invocation:
    """A call of a function at every change, as the provider makes it.

    With the lifecycle scope CREATE_ONLY, a change is another call, which replaces the one before; its deletion
    calls nothing. With CRUD, a change is an update and the deletion calls too; the event's `tf` says which it is,
    and what the last event was.
    """

    identity: tuple[str, ...] = ("region", "functionName")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Call the function. Its reply is the output `result`."""
        event = json.loads(inputs["input"])
        replaces = before is not None and not _is_crud(inputs)
        if _is_crud(inputs):
            event |= _tf("update", before.inputs) if before else _tf("create", None)
        result = _invoke(aws, inputs, event)
        return Result(f"{inputs['functionName']}:{_scope(inputs)}", {"result": result}, replaces)

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return the reply of the last call."""
        return made.outputs

    def delete(self, aws: Aws, made: Made) -> None:
        """Call the function for the last time, if its scope asks for that."""
        if _is_crud(made.inputs):
            _invoke(aws, made.inputs, json.loads(made.inputs["input"]) | _tf("delete", made.inputs))


def subject(inputs: Mapping[str, Any]) -> str:
    """Return what tells a call from others of the same function, for its key: the region of a check, or nothing."""
    check = json.loads(inputs["input"]).get("check", {})
    return f" check {check['region']}" if check else ""


def _scope(inputs: Mapping[str, Any]) -> str:
    return inputs.get("lifecycleScope", "CREATE_ONLY")


def _is_crud(inputs: Mapping[str, Any]) -> bool:
    return _scope(inputs) == "CRUD"


def _tf(action: str, before: Mapping[str, Any] | None) -> dict[str, Any]:
    return {"tf": {"action": action, "prev_input": json.loads(before["input"]) if before else None}}


def _invoke(aws: Aws, inputs: Mapping[str, Any], event: Mapping[str, Any]) -> str:
    response = aws.client("lambda", inputs["region"]).invoke(
        FunctionName=inputs["functionName"], Payload=json.dumps(event)
    )
    payload = response["Payload"].read().decode()
    if "FunctionError" in response:
        raise LocalError(f"{inputs['functionName']}: {json.loads(payload).get('errorMessage', payload)}")
    return payload


SOON: Any = {"Delay": 0.1, "MaxAttempts": 300}
"""For waiters: look ten times a second. A deployment waits for several functions, one after the other."""


class Function:
    """A function. `inputs["code"]` is the archive as base64 text (`inputs.py` makes it so)."""

    identity: tuple[str, ...] = ("region", "name")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Create the function, or change its code and configuration; then wait until it can be called."""
        client = aws.client("lambda", inputs["region"])
        name = inputs["name"]
        archive = base64.b64decode(inputs["code"])
        configuration: dict[str, Any] = {
            "FunctionName": name,
            "Role": inputs["role"],
            "Runtime": inputs["runtime"],
            "Handler": inputs["handler"],
            "MemorySize": inputs.get("memorySize", 128),
            "Timeout": inputs.get("timeout", 3),
            "Environment": {"Variables": inputs.get("environment", {}).get("variables", {})},
        }
        if logging := inputs.get("loggingConfig"):
            configuration["LoggingConfig"] = {key[0].upper() + key[1:]: value for key, value in logging.items()}
        processors = inputs.get("architectures", ["x86_64"])
        if before is None:
            client.create_function(**configuration, Architectures=processors, Code={"ZipFile": archive})
        else:
            client.update_function_configuration(**configuration)
            client.update_function_code(FunctionName=name, ZipFile=archive, Architectures=processors)
        if inputs.get("reservedConcurrentExecutions", -1) >= 0:
            client.put_function_concurrency(
                FunctionName=name, ReservedConcurrentExecutions=inputs["reservedConcurrentExecutions"]
            )
        else:
            client.delete_function_concurrency(FunctionName=name)
        client.get_waiter("function_active_v2").wait(FunctionName=name, WaiterConfig=SOON)
        arn = client.get_function(FunctionName=name)["Configuration"].get("FunctionArn", "")
        return Result(name, {"arn": arn})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs, or raise the service's error if it no longer exists."""
        client = aws.client("lambda", made.inputs["region"])
        client.get_function(FunctionName=made.id)
        return made.outputs

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete the function."""
        client = aws.client("lambda", made.inputs["region"])
        client.delete_function(FunctionName=made.id)


class FunctionUrl:
    """A function's URL. It has the path form of this server, which needs no host name to resolve."""

    identity: tuple[str, ...] = ("region", "functionName")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Create the URL, or change who may call it and from which pages. It stays the same URL."""
        client = aws.client("lambda", inputs["region"])
        name = inputs["functionName"]
        cors: dict[str, Any] = inputs.get("cors") or {}
        configuration: dict[str, Any] = {
            "FunctionName": name,
            "AuthType": inputs["authorizationType"],
            "Cors": {key[0].upper() + key[1:]: value for key, value in cors.items()},
        }
        if before is None:
            url = client.create_function_url_config(**configuration)
        else:
            url = client.update_function_url_config(**configuration)
        url_id = url["FunctionUrl"].split("://")[1].split(".")[0]
        return Result(name, {"functionUrl": f"{aws.endpoint}/_aws/lambda-url/{url_id}/", "urlId": url_id})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs, or raise the service's error if it no longer exists."""
        client = aws.client("lambda", made.inputs["region"])
        client.get_function_url_config(FunctionName=made.id)
        return made.outputs

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete the URL."""
        client = aws.client("lambda", made.inputs["region"])
        client.delete_function_url_config(FunctionName=made.id)


class Permission:
    """A statement of a function's policy. It can't be changed, so it is removed and added again."""

    identity: tuple[str, ...] = ("region", "function", "statementId")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Add the statement."""
        if before is not None:
            self.delete(aws, before)
        conditions: dict[str, Any] = {}
        if "functionUrlAuthType" in inputs:
            conditions["FunctionUrlAuthType"] = inputs["functionUrlAuthType"]
        if "invokedViaFunctionUrl" in inputs:
            conditions["InvokedViaFunctionUrl"] = inputs["invokedViaFunctionUrl"]
        if "sourceArn" in inputs:
            conditions["SourceArn"] = inputs["sourceArn"]
        aws.client("lambda", inputs["region"]).add_permission(
            FunctionName=inputs["function"],
            StatementId=inputs["statementId"],
            Action=inputs["action"],
            Principal=inputs["principal"],
            **conditions,
        )
        return Result(inputs["statementId"], {})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs, or None if the policy has no such statement."""
        client = aws.client("lambda", made.inputs["region"])
        policy = json.loads(client.get_policy(FunctionName=made.inputs["function"])["Policy"])
        return made.outputs if any(statement["Sid"] == made.id for statement in policy["Statement"]) else None

    def delete(self, aws: Aws, made: Made) -> None:
        """Remove the statement."""
        client = aws.client("lambda", made.inputs["region"])
        client.remove_permission(FunctionName=made.inputs["function"], StatementId=made.id)


class EventInvokeConfig:
    """How long an event may wait for a function, and how often one that failed is repeated."""

    identity: tuple[str, ...] = ("region", "functionName")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Write both, over earlier ones."""
        aws.client("lambda", inputs["region"]).put_function_event_invoke_config(
            FunctionName=inputs["functionName"],
            MaximumEventAgeInSeconds=inputs["maximumEventAgeInSeconds"],
            MaximumRetryAttempts=inputs["maximumRetryAttempts"],
        )
        return Result(inputs["functionName"], {})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs, or raise the service's error if there is none."""
        client = aws.client("lambda", made.inputs["region"])
        client.get_function_event_invoke_config(FunctionName=made.id)
        return made.outputs

    def delete(self, aws: Aws, made: Made) -> None:
        """Set AWS's defaults again."""
        client = aws.client("lambda", made.inputs["region"])
        client.delete_function_event_invoke_config(FunctionName=made.id)
