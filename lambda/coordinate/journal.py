"""What happens to a layout, one JSON line a phase, in the function's log."""

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from .model import Register
from .operations import CreateRegister, Operation, ReplaceRegister


def journal(carry_out: Callable[[Operation], Any]) -> Callable[[Operation], Any]:
    """The same, and a line for every step that a register takes."""

    def carried_out(operation: Operation) -> Any:
        answer = carry_out(operation)
        match operation:
            case CreateRegister(register) if answer:
                _write("created", register)
            case ReplaceRegister(old, new) if answer:
                _write(_phase(old, new), new)
            case _:
                pass
        return answer

    return carried_out


def _phase(old: Register, new: Register) -> str:
    if new.epoch > old.epoch:
        return "fenced"
    return "opened" if new.opened and not old.opened else "decided"


def _write(phase: str, register: Register) -> None:
    line: dict[str, Any] = {
        "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "level": "INFO",
        "phase": phase,
        "counter": register.counter,
        "epoch": register.epoch,
        "base": register.base,
        "regions": register.regions,
    }
    if register.next is not None:
        line["next"] = {"regions": register.next.regions, "floor": register.next.floor}
    # Lambda passes a line that is JSON through as it is (Lambda guide, "Using JSON log format").
    sys.stderr.write(json.dumps(line) + "\n")
