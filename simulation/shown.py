"""Operations, registers and items as a reader sees them in a transcript."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, cast

from coordinate.model import Item, Next, Register
from coordinate.operations import Operation, ReplaceRegister

from integers.lattice import MAX_INTEGER, MAX_REGIONS
from integers.layouts import Layout

WORDS = {"over": "over epoch", "instead_of": "instead of the one placed by"}
"""Fields whose names alone say too little."""


def shown_operation(operation: Operation) -> str:
    """Return an operation's kind, its region, and what it writes or asks for."""
    region = getattr(operation, "region", None)
    return " ".join(filter(None, [type(operation).__name__, region, _details(operation)]))


def shown(value: Any) -> str:
    """Return a value of an operation, or its answer."""
    match value:
        case None:
            return "none"
        case bool():
            return "done" if value else "condition failed"
        case int():
            return "max" if value > MAX_INTEGER - MAX_REGIONS else str(value)
        case Register():
            parts = [_named(value, "epoch", "regions", "base"), "opened" if value.opened else "not opened"]
            return ", ".join([*parts, *([f"next {shown(value.next)}"] if value.next else [])])
        case Next():
            return shown(value.regions) + (f" from {value.floor}" if value.floor else "")
        case Item():
            parts = [_named(value, "epoch", "issued", "stride", "ceiling"), *(["fenced"] if value.fenced else [])]
            return ", ".join([*parts, *([f"placed by {value.opening}"] if value.opening else [])])
        case Layout():
            return f"epoch {value.epoch}: {shown(value.regions)} from {value.base}"
        case tuple():
            parts = cast("tuple[Any, ...]", value)
            return (" " if all(isinstance(part, str) for part in parts) else "; ").join(map(shown, parts))
        case _:
            return str(value)


def _details(operation: Operation) -> str:
    if isinstance(operation, ReplaceRegister):
        wanted = operation.standing
        return _change(operation.old, operation.new) + (f", if {shown(wanted)} are asked for" if wanted else "")
    names = [entry.name for entry in fields(operation) if entry.name not in ("region", "counter")]
    if names[:1] in (["register"], ["item"], ["layouts"]):
        return ", ".join([shown(getattr(operation, names[0])), *_named_each(operation, names[1:])])
    return ", ".join(_named_each(operation, names))


def _change(old: Register, new: Register) -> str:
    """Return what differs in the new register."""
    if new.epoch > old.epoch:
        return shown(new)
    return "opened" if new.opened and not old.opened else f"next {shown(new.next)}"


def _named(value: Any, *names: str) -> str:
    return ", ".join(_named_each(value, names))


def _named_each(value: Any, names: Sequence[str]) -> list[str]:
    values = [(name, getattr(value, name)) for name in names]
    return [f"{WORDS.get(name, name)} {shown(part)}" for name, part in values if part is not None]
