"""Lambda functions, their URLs and permissions, and invocations at deploy time."""

import base64
import json
from collections.abc import Mapping
from typing import Any

from ..paths import LocalError
from ..state import Made
from .kind import Aws, Result


class Function:
    """A function. `inputs["code"]` is the archive as base64 text (`inputs.py` makes it so)."""

    identity: tuple[str, ...] = ("region", "name")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Create the function, or change its code and configuration; then wait until it can be called."""
        client = aws.client("lambda", inputs["region"])
        name = inputs["name"]
        archive = base64.b64decode(inputs["code"])
        logging = inputs["loggingConfig"]
        configuration: dict[str, Any] = {
            "FunctionName": name,
            "Role": inputs["role"],
            "Runtime": inputs["runtime"],
            "Handler": inputs["handler"],
            "MemorySize": inputs["memorySize"],
            "Timeout": inputs["timeout"],
            "Environment": {"Variables": inputs["environment"]["variables"]},
            "LoggingConfig": {
                "LogFormat": logging["logFormat"],
                "LogGroup": logging["logGroup"],
                "ApplicationLogLevel": logging["applicationLogLevel"],
                "SystemLogLevel": logging["systemLogLevel"],
            },
        }
        if before is None:
            client.create_function(**configuration, Architectures=inputs["architectures"], Code={"ZipFile": archive})
        else:
            client.update_function_configuration(**configuration)
            client.update_function_code(FunctionName=name, ZipFile=archive, Architectures=inputs["architectures"])
        if inputs["reservedConcurrentExecutions"] >= 0:
            client.put_function_concurrency(
                FunctionName=name, ReservedConcurrentExecutions=inputs["reservedConcurrentExecutions"]
            )
        else:
            client.delete_function_concurrency(FunctionName=name)
        client.get_waiter("function_active_v2").wait(FunctionName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 30})
        return Result(name, {"arn": client.get_function(FunctionName=name)["Configuration"].get("FunctionArn", "")})

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


class Invocation:
    """A call of a function at every change, as the provider makes it (lifecycle scope CRUD).

    The event's `tf` says whether it is created, updated or deleted, and what the last event was.
    """

    identity: tuple[str, ...] = ("region", "functionName")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Call the function. Its reply is the output `result`."""
        previous = json.loads(before.inputs["input"]) if before else None
        return Result(
            f"{inputs['functionName']}:{inputs['lifecycleScope']}",
            {"result": self._invoke(aws, inputs, "update" if before else "create", previous)},
        )

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return the reply of the last call."""
        return made.outputs

    def delete(self, aws: Aws, made: Made) -> None:
        """Call the function for the last time."""
        self._invoke(aws, made.inputs, "delete", json.loads(made.inputs["input"]))

    def _invoke(self, aws: Aws, inputs: dict[str, Any], action: str, previous: Any) -> str:
        event = {**json.loads(inputs["input"]), "tf": {"action": action, "prev_input": previous}}
        response = aws.client("lambda", inputs["region"]).invoke(
            FunctionName=inputs["functionName"], Payload=json.dumps(event)
        )
        payload = response["Payload"].read().decode()
        if "FunctionError" in response:
            raise LocalError(f"{inputs['functionName']}: {json.loads(payload).get('errorMessage', payload)}")
        return payload
