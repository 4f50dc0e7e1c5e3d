"""Which local variables a suspended function may still read: its live variables, from its bytecode.

A variable that will be written before it is read, or never read again, doesn't decide how the function goes on.
Where the bytecode leaves a doubt, a variable counts as live: that makes more snapshots, and none of them wrong.
"""

import dis
import re
from collections.abc import Iterable
from functools import cache
from types import CodeType
from typing import Any

_LEAVES = re.compile(r"RETURN_(VALUE|CONST)|RAISE_VARARGS|RERAISE|JUMP_(FORWARD|BACKWARD|ABSOLUTE)")
"""Instructions that the next one doesn't follow."""

_FAST = re.compile(r"(LOAD|STORE|DELETE)_FAST")
"""Reads and writes of local variables. One instruction may have two: `STORE_FAST_LOAD_FAST`."""


@cache
def live(code: CodeType, suspended_at: int) -> frozenset[str]:
    """Return the variables that may be read before they are written, once the function goes on.

    Args:
        code: the function's.
        suspended_at: the offset of the instruction that it is suspended at (`f_lasti`).
    """
    before, following, always = _analysed(code)
    # `total += yield number` reads total before it is suspended, and adds afterwards.
    read = _mentioned(_before_on_the_lines_of(code, suspended_at))
    return frozenset(always.union(read, *(before[offset] for offset in following[suspended_at])))


@cache
def _analysed(code: CodeType) -> tuple[dict[int, set[str]], dict[int, list[int]], set[str]]:
    """Return what is live before each instruction, which ones may follow it, and what is always live."""
    instructions = list(dis.get_instructions(code))
    following = {
        instruction.offset: _following(instruction, after)
        for instruction, after in zip(instructions, [*instructions[1:], None], strict=True)
    }
    reached: set[int] = set()
    todo = [instructions[0].offset]
    while todo:
        offset = todo.pop()
        if offset not in reached:
            reached.add(offset)
            todo += following[offset]
    # What is reached in no other way handles an exception.
    handlers = [instruction for instruction in instructions if instruction.offset not in reached]
    always = {*code.co_cellvars, *code.co_freevars, *_mentioned(handlers)}
    before: dict[int, set[str]] = {instruction.offset: set() for instruction in instructions}
    changed = True
    while changed:
        changed = False
        for instruction in reversed(instructions):
            names = set[str]().union(*(before[offset] for offset in following[instruction.offset]))
            for kind, name in reversed(_accesses(instruction)):
                names = names | {name} if kind == "LOAD" else names - {name}
            if instruction.opname == "FOR_ITER":
                names |= _mentioned(_head(instructions, instruction))
            changed = changed or names != before[instruction.offset]
            before[instruction.offset] = names
    return before, following, always


def _following(instruction: dis.Instruction, after: dis.Instruction | None) -> list[int]:
    jumps = [instruction.argval] if instruction.opcode in (*dis.hasjrel, *dis.hasjabs) else []
    falls = after is not None and not _LEAVES.match(instruction.opname)
    return [*jumps, after.offset] if after is not None and falls else jumps


def _accesses(instruction: dis.Instruction) -> list[tuple[str, str]]:
    kinds = _FAST.findall(instruction.opname)
    names: Any = instruction.argval  # one name, or a tuple of two
    return list(zip(kinds, [names] if len(kinds) == 1 else names, strict=True)) if kinds else []


def _mentioned(instructions: Iterable[dis.Instruction]) -> set[str]:
    return {name for instruction in instructions for _, name in _accesses(instruction)}


def _head(instructions: list[dis.Instruction], loop: dis.Instruction) -> list[dis.Instruction]:
    """Return the instructions of a loop's head: those of its variable and of what it iterates over.

    The position of the loop's iterator is no local variable. The loop's variable tells it.
    """
    first, end = _line(loop), instructions.index(loop)
    begin = end
    while begin > 0 and _line(instructions[begin - 1]) >= first:
        begin -= 1
    return [*instructions[begin:end], *(after for after in instructions[end:] if _line(after) == first)]


def _before_on_the_lines_of(code: CodeType, offset: int) -> list[dis.Instruction]:
    instructions = list(dis.get_instructions(code))
    at = next(instruction for instruction in instructions if instruction.offset == offset)
    last = (at.positions and at.positions.end_lineno) or _line(at)
    before = [instruction for instruction in instructions if instruction.offset <= offset]
    return [instruction for instruction in before if _line(at) <= _line(instruction) <= last]


def _line(instruction: dis.Instruction) -> int:
    return (instruction.positions and instruction.positions.lineno) or 0
