"""Logs each phase of each counter as one JSON line: created, decided, fenced, opened."""

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from .model import Register
from .operations import CreateRegister, Operation, ReplaceRegister


def journal(carry_out: Callable[[Operation], Any]) -> Callable[[Operation], Any]:
    """Return a function that does what `carry_out` does, and logs every change of a register."""

    def carry_out_and_log(operation: Operation) -> Any:
        answer = carry_out(operation)
        match operation:
            case CreateRegister(register) if answer:
                _write("created", register)
            case ReplaceRegister(old, new) if answer:
                _write(_phase(old, new), new)
            case _:
                pass
        return answer

    return carry_out_and_log


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
    # Lambda passes on a line of JSON unchanged (Lambda guide, "Using JSON log format").
    sys.stderr.write(json.dumps(line) + "\n")
