"""Logs as one JSON line each: phases of counters (created, put back, begun, joined, granted), and what is odd."""

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from ..protocol.model import Register
from ..protocol.operations import Operation, WriteRegister
from .report import RunResult


def audited(carry_out: Callable[[Operation], Any]) -> Callable[[Operation], Any]:
    """Return a function that does what `carry_out` does, and logs every change of a register."""

    def carry_out_and_log(operation: Operation) -> Any:
        answer = carry_out(operation)
        if isinstance(operation, WriteRegister) and answer:
            _write(
                "INFO",
                phase=phase_of(operation.old, operation.new),
                counter=operation.new.counter,
                epoch=operation.new.epoch,
                base=operation.new.base,
                limit=operation.new.limit,
                regions=operation.new.regions,
            )
        return answer

    return carry_out_and_log


def warn_of(result: RunResult) -> None:
    """Log the counters that regions have and that have no register, and what can't be read.

    Unknown counters go on minting, and are created again only if a floor is set for them.
    """
    for counter, regions in result.unknown.items():
        warn("unknown", counter=counter, regions=list(regions))
    for key, tables in result.stray.items():
        warn("stray", counter=key, tables=list(tables))


def warn(phase: str, **fields: Any) -> None:
    """Log what the run goes on without, and why."""
    _write("WARN", phase=phase, **fields)


def phase_of(old: Register | None, new: Register) -> str:
    """Return what the write of a register was: created, put back, begun, joined or granted."""
    if old is None or old.home != new.home:
        return "created" if new.epoch == 1 and old is None else "put back"
    if new.epoch > old.epoch:
        return "begun"
    return "joined" if new.ids != old.ids else "granted"


def _write(level: str, **fields: Any) -> None:
    timestamp = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    # Lambda passes on a line of JSON unchanged (Lambda guide, "Using JSON log format").
    sys.stderr.write(json.dumps({"timestamp": timestamp, "level": level, **fields}) + "\n")
