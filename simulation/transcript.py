"""Transcripts: runs of the protocol as text, which a reader can follow and a test can check.

A transcript is a text of blocks. Each has commands, a line `----`, and what they print, up to an empty line.
Lines that begin with `#` are comments. The commands:

    deploy A us eu        make the tables of these regions, record that they are asked for, start coordinator A
    step A [n]            let A carry out n operations (1)
    run A [until Kind]    let A go on to its end, or until an operation of this kind is next
    finish A              let A go on to its end, and print only how it ends
    crash A               A never goes on
    mint us [n]           mint n integers (1)
    show                  print the register and the items
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from coordinate import operations
from coordinate.model import Refused, Wish
from coordinate.operations import Operation

from .checked import CheckedWorld
from .coordinator import Coordinator
from .shown import shown, shown_operation

HEADROOM = 10
"""Integers that a region may still mint after its fence. Really 10,000; the transcripts stay readable with few."""

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
            "step": self._step,
            "run": self._run,
            "finish": self._finish,
            "crash": self._crash,
            "mint": self._mint,
            "show": self._show,
        }
        if name not in commands:
            raise ValueError(f"{command!r} is no command; there are {', '.join(commands)}")
        return commands[name](*words)

    def _deploy(self, name: str, *regions: str) -> list[str]:
        for region in regions:
            self.world.make_table(region)
        self.world.stand(regions)
        self.coordinators[name] = Coordinator(Wish(regions), name, HEADROOM, counter="orders")
        return [f"regions asked for: {shown(regions)}"]

    def _step(self, name: str, count: str = "1") -> list[str]:
        lines: list[str] = []
        for _ in range(int(count)):
            lines += self._one_step(name)
        return lines

    def _run(self, name: str, _until: str = "until", kind: str | None = None) -> list[str]:
        stop_before = () if kind is None else getattr(operations, kind)
        lines: list[str] = []
        while name in self.coordinators:
            following = self.coordinators[name].todo[0][1]
            if isinstance(following, stop_before):
                return lines
            lines += self._one_step(name)
        return lines

    def _finish(self, name: str) -> list[str]:
        return self._run(name)[-1:]

    def _one_step(self, name: str) -> list[str]:
        coordinator = self.coordinators[name]
        lines: list[str] = []

        def carry_out(operation: Operation) -> Any:
            answer = self.world.carry_out(operation)
            lines.append(f"{name}: {shown_operation(operation)} -> {shown(answer)}")
            return answer

        try:
            coordinator.step(carry_out)
        except Refused as refusal:
            lines.append(f"{name} is refused: {refusal}")
        if coordinator.settled is not None:
            lines.append(f"{name} has finished")
        if coordinator.ended:
            del self.coordinators[name]
        return lines

    def _crash(self, name: str) -> list[str]:
        following = self.coordinators.pop(name).todo[0][1]
        return [f"{name} has crashed before {shown_operation(following)}"]

    def _mint(self, region: str, count: str = "1") -> list[str]:
        integers = [self.world.mint(region) for _ in range(int(count))]
        return [f"{region}: " + " ".join("none left" if integer is None else str(integer) for integer in integers)]

    def _show(self) -> list[str]:
        items = [f"{region}: {shown(table.item)}" for region, table in self.world.tables.items()]
        return [f"register: {shown(self.world.register)}", *items]
