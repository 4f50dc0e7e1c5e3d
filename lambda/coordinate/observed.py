"""What one run has read and written, kept for its metrics. It makes no call of its own."""

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .journal import phase_of
from .model import Absent, Copy, Item, Record, Register
from .operations import (
    CloseItem,
    DescribeLayouts,
    DescribeMirror,
    DescribeTable,
    FenceItem,
    OpenItem,
    Operation,
    PlaceItem,
    ReadRecord,
    RenewItem,
    ScanCopies,
    ScanItems,
    ScanRegisters,
    WriteCopy,
    WriteRecord,
    WriteRegister,
)
from .protocol import Outcome

T = TypeVar("T", Register, Copy)

WRITES = (WriteRegister, WriteCopy, PlaceItem, OpenItem, RenewItem, FenceItem, CloseItem)
"""What repairs something. Raising a ceiling and recording layouts are everyday work."""


class Observed:
    """Looks on while a run's operations are carried out, in several threads."""

    def __init__(self) -> None:
        self.record: Record | None = None
        """As it was last read or written."""
        self.registers: Mapping[str, Register] | None = None
        """As the last scan found them, before anything was done; None without a scan."""
        self.copies: Mapping[str, Copy] = {}
        self.items: dict[str, Mapping[str, Item | Absent] | Absent] = {}
        """Region → its items, as the last scan found them."""
        self.scanned = 0.0
        """When that was, in seconds since 1970."""
        self.ids: dict[str, str | Absent] = {}
        """Region → the id of its counters table."""
        self.home = ""
        self.mirror = ""
        self.outcomes: dict[str, Outcome] = {}
        """How counters stand, as far as the run got."""
        self.repaired: set[str] = set()
        """The counters that were mended after the last change was finished: nobody had asked for it."""
        self._everyday: dict[str, str] = {}

    def observing(self, carry_out: Callable[[Operation], Any]) -> Callable[[Operation], Any]:
        """Return a function that does what `carry_out` does, and keeps what it shows."""

        def carry_out_and_keep(operation: Operation) -> Any:
            answer = carry_out(operation)
            self._keep(operation, answer)
            return answer

        return carry_out_and_keep

    def lost_tables(self) -> list[str]:
        """Return the tables that were found gone, recreated, restored or without a register's item, as `region table`.

        A region that doesn't answer isn't among them. Nor is the layouts table while it is gone: the run fails then.
        """
        registers = self.registers or {}
        without = {
            region
            for name, register in registers.items()
            for region, known in zip(register.regions, register.ids, strict=True)
            if known is not None and region in self.items and self._is_lost(region, known, name)
        }
        lost = [f"{region} counters" for region in self.items if region in without]
        put_back = {name for name, copy in self.copies.items() if copy.mirror == self.mirror} - registers.keys()
        if put_back or any(register.home != self.home for register in registers.values()):
            lost.append("home layouts")
        emptied = bool(registers) and not self.copies and self.record is not None and self.record.report != "{}"
        if emptied or any(copy.mirror != self.mirror for copy in self.copies.values()):
            lost.append("home mirror")
        return lost

    def _is_lost(self, region: str, known: str, name: str) -> bool:
        items, id_ = self.items[region], self.ids.get(region)
        if items is Absent.AWAY or id_ is Absent.AWAY:
            return False
        return isinstance(items, Absent) or id_ != known or name not in items

    def _keep(self, operation: Operation, answer: Any) -> None:
        match operation:
            case ReadRecord():
                self.record = answer
            case WriteRecord(_, new) if answer is True:
                self.record = new
            case ScanRegisters():
                self.registers = _readable(answer, Register)
            case ScanCopies():
                self.copies = _readable(answer, Copy)
            case ScanItems(region):
                self.items[region], self.scanned = answer, time.time()
            case DescribeTable(region):
                self.ids[region] = answer
            case DescribeLayouts():
                self.home = answer
            case DescribeMirror():
                self.mirror = answer
            case _ if isinstance(operation, WRITES) and answer is not False and not isinstance(answer, Absent):
                self._count(operation)
            case _:
                pass

    def _count(self, write: Operation) -> None:
        if self.record is None or not self.record.settled:
            return  # it was asked for
        counter: str = write.new.register.counter if isinstance(write, WriteCopy) else _counter(write)
        if isinstance(write, WriteRegister) and counter not in self._everyday:
            phase = phase_of(write.old, write.new)
            if phase == "granted" or (phase == "created" and counter not in self.copies):
                self._everyday[counter] = phase
        known = self._everyday.get(counter)
        granting = known == "granted" and isinstance(write, WriteRegister | WriteCopy)
        if known != "created" and not granting:
            self.repaired.add(counter)


def _counter(write: Operation) -> str:
    return write.new.counter if isinstance(write, WriteRegister) else getattr(write, "counter", "")


def _readable(found: Mapping[str, T | Absent], kind: type[T]) -> dict[str, T]:
    return {name: what for name, what in found.items() if isinstance(what, kind)}
