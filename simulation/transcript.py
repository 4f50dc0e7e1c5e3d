"""Transcripts: runs of the coordinator as text, which a reader can follow and a test can check.

A transcript is a text of blocks. Each has commands, a line `----`, and what they print, up to an empty line.
Lines that begin with `#` are comments. The commands:

    deploy A us eu        make the tables of these regions, start coordinator A with a deployment of them;
                          `deploy A us leaving eu`: eu leaves; `deploy A us eu floor 500`: of all counters
    watch A               start coordinator A as the schedule does
    step A [n]            let A carry out n operations (1)
    run A [until Kind]    let A go on to its end, or until an operation of this kind is next
    writes A [until Kind] the same as run, and print no reads
    finish A              the same as run, and print only how it ends
    crash A               A never goes on
    mint us [n]           mint n integers (1); `none`: there is no item, or its ceiling is reached
    lose us               delete the table and make it again, empty; also `lose layouts` and `lose mirror`
    away us               us stops answering the coordinator
    back us               us answers again
    show                  print the record, the register and the items
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from coordinate import operations
from coordinate.accept import Deployment
from coordinate.model import Refused
from coordinate.operations import Clock, MayBegin, Operation, TakeLease
from coordinate.report import Result
from coordinate.request import Watch
from coordinate.run import run

from .checked import CheckedWorld
from .coordinator import Coordinator
from .pulumi import decoded, wish
from .shown import shown, shown_id, shown_operation, shown_steps

COUNTER = "orders"
HEADROOM = 10
"""Integers that a region may still mint after its fence. Really 10,000; the transcripts stay readable with few."""

WINDOW = 100
"""Integers that a region may mint before the limit must be raised. Really 100,000,000."""

LINE = "----"


def play(text: str) -> str:
    """Return the transcript with what its commands print now.

    Raises:
        ValueError: a line is no command.
    """
    stage = Stage()
    played: list[str] = []
    for block in text.strip().split("\n\n"):
        lines = block.splitlines()
        if LINE in lines:
            commands = lines[: lines.index(LINE)]
            lines = [*commands, LINE]
            for command in commands:
                if not command.startswith("#"):
                    lines += stage.carry_out(command)
        played.append("\n".join(lines))
    return "\n\n".join(played) + "\n"


@dataclass
class Stage:
    """The tables, and the coordinators by name. A coordinator's name is also its token."""

    world: CheckedWorld = field(default_factory=CheckedWorld)
    coordinators: dict[str, Coordinator] = field(default_factory=dict[str, Coordinator])

    def carry_out(self, command: str) -> list[str]:
        """Carry out a command and return the lines that it prints.

        Raises:
            ValueError: there is no such command.
        """
        name, *words = command.split()
        commands: dict[str, Callable[..., list[str]]] = {
            "deploy": self._deploy,
            "watch": self._watch,
            "step": self._step,
            "run": self._run,
            "writes": self._writes,
            "finish": self._finish,
            "crash": self._crash,
            "mint": self._mint,
            "lose": self._lose,
            "away": self._away,
            "back": self._back,
            "show": self._show,
        }
        if name not in commands:
            raise ValueError(f"{command!r} is no command; there are {', '.join(commands)}")
        return commands[name](*words)

    def _deploy(self, name: str, *words: str) -> list[str]:
        words, floor = _split(words, "floor")
        regions, leaving = _split(words, "leaving")
        for region in regions:
            self.world.make_table(region)
        home, read = self.world.layouts.id, self.world.layouts.record
        floors = {"*": int(floor[0])} if floor else {}
        asked = decoded(
            wish(regions, leaving, counters=[COUNTER], floors=floors, home=home, window=WINDOW, headroom=HEADROOM)
        )
        self._start(name, Deployment(asked, read.number if read else 0, self.world.now + 60))
        return [f"asked for: {shown(asked)}"]

    def _watch(self, name: str) -> list[str]:
        self._start(name, Watch())
        return []

    def _start(self, name: str, request: Deployment | Watch) -> None:
        self.world.now += 60
        self.coordinators[name] = Coordinator(run(request, name, Result()), name)

    def _step(self, name: str, count: str = "1") -> list[str]:
        return self._advance(name, int(count), ())

    def _run(self, name: str, _until: str = "until", kind: str | None = None) -> list[str]:
        return self._advance(name, None, () if kind is None else getattr(operations, kind))

    def _writes(self, name: str, *until: str) -> list[str]:
        reads = (f"{name} reads", f"{name} describes")
        return [line for line in self._run(name, *until) if not line.startswith(reads)]

    def _finish(self, name: str) -> list[str]:
        return self._run(name)[-1:]

    def _advance(self, name: str, most: int | None, before: Any) -> list[str]:
        """Let a coordinator carry out so many operations at most, and stop before one of a kind."""
        coordinator = self.coordinators[name]
        steps: list[tuple[Operation, Any]] = []
        ending: list[str] = []

        def carry_out(operation: Operation) -> Any:
            answer = self.world.carry_out(operation)
            if not isinstance(operation, Clock | TakeLease | MayBegin):
                steps.append((operation, answer))
            return answer

        while not coordinator.ended and len(steps) != most and not isinstance(coordinator.todo[0][2], before):
            try:
                coordinator.step(carry_out)
            except Refused as refusal:
                ending = [f"{name} is refused: {refusal}"]
        if coordinator.ended:
            del self.coordinators[name]
            ending = ending or [f"{name} has finished{_pending(coordinator.result)}"]
        return [*shown_steps(name, steps), *ending]

    def _crash(self, name: str) -> list[str]:
        following = self.coordinators.pop(name).todo[0][2]
        return [f"{name} has crashed before {shown_operation(following)}"]

    def _mint(self, region: str, count: str = "1") -> list[str]:
        minted = [self.world.mint(region, COUNTER) for _ in range(int(count))]
        integers = ["none" if integer is None else str(integer) for integer in minted]
        if len(integers) > 12:
            integers[3:-2] = ["..."]
        return [f"{region}: {' '.join(integers)}"]

    def _lose(self, name: str) -> list[str]:
        self.world.lose(name, "recreated", Random(0))
        made = {"layouts": self.world.layouts, "mirror": self.world.mirror}.get(name) or self.world.tables[name]
        return [f"made again, empty: {shown_id(made.id)}"]

    def _away(self, region: str) -> list[str]:
        self.world.away.add(region)
        return []

    def _back(self, region: str) -> list[str]:
        self.world.away.remove(region)
        return []

    def _show(self) -> list[str]:
        lines = [f"record: {shown(self.world.layouts.record)}"]
        lines += [f"register: {shown(self.world.layouts.registers.get(COUNTER))}"]
        for region, table in self.world.tables.items():
            kept = table.counters.get(COUNTER)
            lines.append(f"{region} ({shown_id(table.id)}): {shown(kept.item if kept else None)}")
        return lines


def _split(words: tuple[str, ...], word: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what comes before a word, and what comes after it."""
    where = words.index(word) if word in words else len(words)
    return words[:where], words[where + 1 :]


def _pending(result: Result | None) -> str:
    pending = {region for outcome in result.outcomes.values() for region in outcome.pending} if result else ()
    return f", pending: {shown(tuple(sorted(pending)))}" if pending else ""
