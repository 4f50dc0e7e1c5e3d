"""Writes the log, a line of JSON each: phases of counters, and what is odd."""

import json
import sys
from datetime import UTC, datetime
from typing import Any

from .protocol import operations as op
from .protocol.model import Register
from .protocol.scan import TablesScan


def phase_of(old: Register | None, new: Register) -> str:
    """Return what the write of a register was: created, lost, put back, begun, joined, granted or deleting."""
    if new.lost:
        return "lost"
    if old is None or old.layouts_id != new.layouts_id:
        return "created" if old is None and new.is_fresh() else "put back"
    if not new.regions:
        return "deleting"
    if not old.regions:
        return "created"
    if new.epoch > old.epoch:
        return "begun"
    return "joined" if new.ids != old.ids else "granted"


def log_change(operation: op.Operation, answer: Any) -> None:
    """Log an operation that has changed a register. One is also written as it is, before regions are fenced."""
    if isinstance(operation, op.WriteRegister) and answer and operation.old != operation.new:
        new = operation.new
        layout = {"counter": new.counter, "epoch": new.epoch, "base": new.base, "limit": new.limit}
        write("INFO", phase=phase_of(operation.old, new), **layout, regions=new.regions)


def warn_of(scan: TablesScan) -> None:
    """Log what can't be read."""
    for key, tables in scan.stray.items():
        warn("stray", counter=key, tables=list(tables))


def warn(phase: str, **fields: Any) -> None:
    """Log what the run goes on without, and why."""
    write("WARN", phase=phase, **fields)


def write(level: str, **fields: Any) -> None:
    """Write a line. Lambda passes it on unchanged (Lambda guide, "Using JSON log format")."""
    at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    sys.stderr.write(json.dumps({"timestamp": at, "level": level, **fields}) + "\n")
