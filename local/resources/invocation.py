"""Calls of a function at deploy time."""

import json
from collections.abc import Mapping
from typing import Any

from ..paths import LocalError
from ..state import Made
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
