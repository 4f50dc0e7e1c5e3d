"""Calls of functions at deploy time, and what the coordinator reports while it runs."""

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from integers.names import CHECK_COUNTER

from ..engine.stack import Made
from ..paths import LocalError
from ..terminal import say
from .kind import Aws, Kind, Result

INVOCATION = "aws:lambda/invocation:Invocation"


class Invocation(Kind):
    """A call of a function at every change, as the provider makes it.

    With the lifecycle scope CREATE_ONLY, a change is another call, which replaces the one before; its deletion
    calls nothing. With CRUD, a change is an update and the deletion calls too; the event's `tf` says which it is,
    and what the last event was.
    """

    identity = ("region", "functionName")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Call the function. Its reply is the output `result`."""
        event = json.loads(inputs["input"])
        replaces = before is not None and not _is_crud(inputs)
        if _is_crud(inputs):
            event |= _tf("update", before.inputs) if before else _tf("create", None)
        result = _invoke(aws, inputs, event)
        return Result(f"{inputs['functionName']}:{_scope(inputs)}", {"result": result}, replaces)

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


PERIOD = 0.05
"""Seconds between two reads. A shorter phase may not be seen."""

MAX_LINES = 30
"""Of thousands of counters, the first lines are enough to see that it goes on."""


@contextmanager
def reported(aws: Aws, region: str, function: str) -> Generator[None]:
    """Print every phase of every counter while the block runs, if the function is a coordinator."""
    configuration = aws.client("lambda", region).get_function_configuration(FunctionName=function)
    table = configuration.get("Environment", {}).get("Variables", {}).get("LAYOUTS_TABLE")
    if table is None:
        yield
        return
    ended = Event()
    before = _phases(aws, region, table)
    watch = Thread(target=_watch, args=(aws, region, table, before, ended), daemon=True)
    watch.start()
    try:
        yield
    finally:
        ended.set()
        watch.join()


def _watch(aws: Aws, region: str, table: str, seen: dict[str, str], ended: Event) -> None:
    """Print what changes. `seen` is the phase of every counter before."""
    lines = 0
    while True:
        last = ended.wait(PERIOD)
        for counter, now in _phases(aws, region, table).items():
            if seen.get(counter) != now:
                seen[counter] = now
                lines += 1
                if lines <= MAX_LINES:
                    say(f"  layout    {counter}: {now}")
        if last:
            break
    if lines > MAX_LINES:
        say(f"  layout    … and {lines - MAX_LINES} more")


def _phases(aws: Aws, region: str, table: str) -> dict[str, str]:
    """Return every counter's phase."""
    return {counter: phase(register) for counter, register in registers(aws, region, table).items()}


def registers(aws: Aws, region: str, table: str) -> dict[str, dict[str, Any]]:
    """Return every counter's register."""
    found: list[dict[str, Any]] = []
    for page in aws.client("dynamodb", region).get_paginator("scan").paginate(TableName=table):
        found += page["Items"]
    counters = {register["counter"]["S"]: register for register in found if "epoch" in register}
    return {counter: register for counter, register in counters.items() if counter != CHECK_COUNTER}


def phase(register: dict[str, Any]) -> str:
    """Return a counter's epoch in words, and the regions that don't mint in it yet."""
    epoch = f"epoch {register['epoch']['N']} from {register['base']['N']}"
    regions = [region["S"] for region in register["regions"]["L"]]
    waiting = [
        region for region, id_ in zip(regions, register.get("ids", {}).get("L", ()), strict=False) if "NULL" in id_
    ]
    return f"{epoch}: waiting for {', '.join(waiting)}" if waiting else epoch
