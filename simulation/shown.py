"""Operations, registers and items as a reader sees them in a transcript."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, cast

from coordinate.model import Absent, Accepted, Copy, Item, Record, RecordCopy, Register, Wish
from coordinate.operations import Operation, RecordLayouts, WriteCopy, WriteRecord, WriteRecordCopy, WriteRegister

READ, DESCRIBE = "Read", "Describe"

WORDS = {"over": "over epoch", "instead_of": "instead of the one placed by"}
"""Fields whose names alone say too little."""


def shown_steps(name: str, steps: Sequence[tuple[Operation, Any]]) -> list[str]:
    """Return what a coordinator did, one line for each write, and one for consecutive reads.

    The ids that tables are described with afterwards are in parentheses.

    Args:
        name: the coordinator's.
        steps: the operations and their answers.
    """
    lines: list[str] = []
    read: list[str] = []
    ids: list[str] = []
    for index, (operation, answer) in enumerate(steps):
        kind = _kind(operation)
        if kind == READ:
            read.append(_found(operation, answer))
        elif kind == DESCRIBE:
            ids.append(_id(operation, answer))
        else:
            lines.append(f"{name}: {shown_operation(operation)} -> {shown(answer)}")
        following = _kind(steps[index + 1][0]) if index + 1 < len(steps) else None
        if (read or ids) and (following not in (READ, DESCRIBE) or (kind, following) == (DESCRIBE, READ)):
            described = ", ".join(ids)
            if read:
                lines.append(f"{name} reads {', '.join(read)}" + (f" ({described})" if ids else ""))
            else:
                lines.append(f"{name} describes {described}")
            read, ids = [], []
    return lines


def _kind(operation: Operation) -> str:
    name = type(operation).__name__
    return READ if name.startswith(("Read", "Scan")) else DESCRIBE if name.startswith("Describe") else "Write"


def _id(operation: Operation, answer: Any) -> str:
    return f"{getattr(operation, 'region', '')} {answer.value}" if isinstance(answer, Absent) else shown_id(answer)


def _found(operation: Operation, answer: Any) -> str:
    """Return what a read has found, in a few words."""
    where = getattr(operation, "region", None) or type(operation).__name__.removeprefix("Read")
    match answer:
        case Record() | RecordCopy():
            return f"{where} {(answer.record if isinstance(answer, RecordCopy) else answer).number}"
        case Accepted():
            return f"{where} {answer.number}"
        case Register() | Copy():
            return f"{where} epoch {(answer.register if isinstance(answer, Copy) else answer).epoch}"
        case Item():
            closed = " placed" if answer.opening else " fenced" if answer.fenced else ""
            return f"{where} epoch {answer.epoch} issued {answer.issued}{closed}"
        case dict():
            found = cast("dict[str, Any]", answer)
            return f"{where} {' '.join(found) or 'none'}"
        case Absent():
            return f"{where} {answer.value}"
        case _:
            return f"{where} none"


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
        case Absent():
            return value.value
        case Record():
            marks = [mark for mark in ("settled", "restored") if getattr(value, mark)]
            return ", ".join([f"{value.number}: {shown(value.wish)}", *marks])
        case Wish():
            leaving = [f"leaving {shown(value.leaving)}"] if value.leaving else []
            floors = [f"floor {floor}" for floor in value.floors.values()]
            return ", ".join([f"regions {shown(value.regions)}", *leaving, *floors])
        case Register():
            return f"{_named(value, 'epoch', 'regions', 'base', 'limit')}, tables {_tables(value)}"
        case Item():
            parts = [_named(value, "epoch", "issued", "stride", "ceiling"), *(["fenced"] if value.fenced else [])]
            return ", ".join([*parts, *([f"placed by {value.opening}"] if value.opening else [])])
        case tuple():
            return " ".join(map(shown, cast("tuple[Any, ...]", value)))
        case _:
            return str(value)


def shown_id(id_: str) -> str:
    """Return a table's id as one word."""
    return id_.replace(" ", "#")


def _details(operation: Operation) -> str:
    match operation:
        case WriteRecord(old, new):
            return _record_change(old, new)
        case WriteRecordCopy(old, new):
            return _record_change(old.record if old else None, new.record)
        case WriteRegister(old, new):
            return _change(old, new)
        case WriteCopy(old, new):
            return _change(old.register if old else None, new.register)
        case RecordLayouts(layouts=layouts):
            return f"up to epoch {layouts[-1].epoch}"
        case _:
            names = [entry.name for entry in fields(operation) if entry.name not in ("region", "counter")]
            first = [shown(getattr(operation, name)) for name in names if name == "item"]
            return ", ".join([*first, *_named_each(operation, [name for name in names if name != "item"])])


def _record_change(old: Record | None, new: Record) -> str:
    """Return what differs in the new record."""
    return f"{new.number} settled" if old and new.settled and old.number == new.number else shown(new)


def _change(old: Register | None, new: Register) -> str:
    """Return what differs in the new register."""
    if old is None or new.epoch > old.epoch:
        return shown(new)
    if new.home != old.home:
        return f"{shown(new)}, in {shown_id(new.home)}"
    parts = [f"tables {_tables(new)}"] if new.ids != old.ids else []
    return ", ".join([*parts, *([_named(new, "limit")] if new.limit > old.limit else [])])


def _tables(register: Register) -> str:
    return " ".join("-" if id_ is None else shown_id(id_) for id_ in register.ids)


def _named(value: Any, *names: str) -> str:
    return ", ".join(_named_each(value, names))


def _named_each(value: Any, names: Sequence[str]) -> list[str]:
    values = [(name, getattr(value, name)) for name in names]
    return [f"{WORDS.get(name, name)} {shown(part)}" for name, part in values if part is not None]
