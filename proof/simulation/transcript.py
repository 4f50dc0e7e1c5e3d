"""Transcripts: runs of the coordinator as text, which a reader can follow and a test can check.

A transcript is a text of blocks. Each has commands, a line `----`, and what they print, up to an empty line.
Lines that begin with `#` are comments. The commands:

    deploy A us eu        make the tables of these regions, start coordinator A with a deployment of them; more words:
                          `leaving eu`, `counters orders e`, `floor 500` (of all counters), `floor e 500`,
                          `recovery loss-C above 500`, `at eu` (the home region)
    schedule A            start coordinator A as the schedule does; `schedule A at eu`: in a former home region
    create A e            start coordinator A to create a counter; also `delete A e` and `grant A e 50`
    grant A e back 2      start coordinator A since a region has seen its table go back in epoch 2 of the counter
    step A [n]            let A carry out n operations (1)
    run A [until Kind]    let A go on to its end, or until an operation of this kind is next that changes something
    writes A [until Kind] the same as run, and print no reads
    finish A              the same as run, and print only how it ends
    late A                let A carry out the rest of its batch, and never go on
    crash A               A never goes on
    mint us [n] [of e]    mint n integers (1); `none`: there is no item, or its ceiling is reached
    ask us 7              what us says of an integer
    lose us               delete the table and make it again, empty; also `layouts`, `mirror`, `receipts us`
    gone us               delete the table; also `gone receipts us`
    keep us               back the table up; `restore us` makes it again with that content; also the others of `lose`
    rewind us             the same in place: an operator writes that content into the table
    forget e              an operator deletes the register of a counter and its copy; also `forget record`
    unreachable us        us stops answering the coordinator
    reachable us          us answers again
    wait 3600             so many seconds pass
    show [e]              print the record, the register and the items
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from random import Random
from typing import Any, cast

from global_integers_core.lattice import Layout
from global_integers_core.names import DELETED
from proof.simulation.checks import CheckedWorld, ask  # puts `lambda` on the import path, for the imports below
from proof.simulation.coordinator import SimulatedCoordinator, changes_nothing
from proof.simulation.deployments import deployment
from proof.simulation.world import at_its_home, place_of

# isort: split
from coordinate.protocol import model
from coordinate.protocol import operations as op
from coordinate.protocol.run import Create, Delete, Grant, Run, RunResult, ScheduledRun, pending_regions, run


def shown_steps(name: str, steps: Sequence[tuple[op.Operation, Any]]) -> list[str]:
    """Return what a coordinator did, one line for each write, and one for consecutive reads.

    The ids that tables are described with afterwards are in parentheses. `steps` are operations and their answers.
    """
    lines, read, ids = list[str](), list[str](), list[str]()
    for operation, answer in steps:
        kind = type(at_its_home(operation)).__name__
        reads, describes = kind.startswith(("Read", "Scan")), kind.startswith("Describe")
        if not describes and (ids or not reads):
            lines += _inspected(name, read, ids)
            read, ids = [], []
        if reads:
            read.append(_found(operation, answer))
        elif describes:
            gone = f"{getattr(operation, 'region', '')} {getattr(answer, 'value', '')}"
            ids.append(shown_id(answer) if isinstance(answer, str) else gone)
        else:
            lines.append(f"{name}: {shown_operation(operation)} -> {shown(answer)}")
    return [*lines, *_inspected(name, read, ids)]


def _inspected(name: str, read: list[str], ids: list[str]) -> list[str]:
    described = ", ".join(ids)
    if read:
        return [f"{name} reads {', '.join(read)}" + (f" ({described})" if ids else "")]
    return [f"{name} describes {described}"] if ids else []


def _found(operation: op.Operation, answer: Any) -> str:
    """Return what a read has found, in a few words."""
    name, region = type(at_its_home(operation)).__name__.removeprefix("Read"), getattr(operation, "region", None)
    where = f"{name} at {region}" if isinstance(operation, op.AtHome) else region or name
    where += " layouts" if isinstance(operation, op.ReadRecorded) else ""
    match _original(answer):
        case model.DeploymentRecord(number=found) | model.Admitted(token=found):
            return f"{where} {found}"
        case model.Claim(home):
            return f"{where} home {home}"
        case model.Register(epoch=epoch):
            return f"{where} epoch {epoch}"
        case model.Item() as item:
            fenced = " fenced" if item.fenced and not item.held else ""
            return f"{where} {shown(item.state)} issued {item.issued}{fenced}"
        case [*_, Layout(epoch)]:
            return f"{where} up to epoch {epoch}"
        case dict():
            return f"{where} {' '.join(cast('dict[str, Any]', answer)) or 'none'}"
        case _:
            return f"{where} {shown(answer or None)}"


def _original(found: Any) -> Any:
    """Return what a copy is one of, or what was found itself."""
    return getattr(found, "original", found)


def shown_operation(operation: op.Operation) -> str:
    """Return an operation's kind, its region, its counter if it is another one, and what it writes or asks for."""
    if isinstance(operation, op.AtHome):
        return f"{shown_operation(operation.operation)} at {operation.region}"
    about = getattr(operation, "new", getattr(operation, "old", operation))
    counter = getattr(_original(about), "counter", COUNTER)
    of = "" if counter == COUNTER else f"of {counter}"
    words = [type(operation).__name__, getattr(operation, "region", None), of, _details(operation)]
    return " ".join(filter(None, words))


def shown(value: Any) -> str:
    """Return a value of an operation, or its answer."""
    match value:
        case None:
            return "none"
        case bool():
            return "done" if value else "condition failed"
        case model.Absent():
            return value.value
        case model.DeploymentRecord():
            answered = value.answered and f"answered {value.answered} above {value.above}"
            first = f"first {value.first_base} in epoch {value.first_epoch}" if value.first_epoch > 1 else ""
            named = f"{value.number}: {shown(value.desired)}, token {value.token}"
            return _listed(named, answered, first, "reconciled" * value.reconciled)
        case model.DesiredState():
            leaving = value.leaving and f"leaving {shown(value.leaving)}"
            floors = [f"floor {'' if name == '*' else name + ' '}{floor}" for name, floor in value.floors.items()]
            recovery = value.recovery and f"recovery {value.recovery.loss} above {value.recovery.above}"
            return _listed(f"regions {shown(value.regions)}", leaving, *floors, recovery)
        case model.Register():
            lost = value.lost and f"lost by {value.lost}"
            if not value.regions:
                return _listed(_named(value, "epoch", "limit"), "deleted", lost)
            return _listed(_named(value, "epoch", "regions", "base", "limit"), f"tables {_tables(value)}", lost)
        case model.Item():
            fenced = ", fenced" if value.fenced and not value.held else ""
            return f"{shown(value.state)}, {_named(value, 'issued', 'stride', 'ceiling')}{fenced}"
        case model.ItemState(epoch, held):
            by = "" if not held else " deleted" if held == DELETED else f" held by {held}"
            return f"epoch {epoch}{by}"
        case tuple():
            return " ".join(map(shown, cast("tuple[Any, ...]", value)))
        case _:
            return str(value)


def shown_id(id_: str) -> str:
    """Return a table's id as one word."""
    return id_.replace(" ", "#")


def _details(operation: op.Operation) -> str:
    match operation:
        case op.WriteRecord(old, new) | op.WriteRecordCopy(old, new):
            return _record_change(_original(old), _original(new))
        case op.WriteRegister(old=old, new=new) | op.WriteCopy(old, new):
            return _change(_original(old), _original(new))
        case op.HoldItem(_, _, state, over) | op.OpenItem(_, _, state, over):
            return f"{shown(state)}, over {shown(over)}"
        case op.FenceItem(_, _, over, epoch, by):
            to = "" if epoch == over.epoch else f" to epoch {epoch}"
            ceiling = f"by {by}, most {operation.most}" if by else "closed" if by == 0 else "as it is"
            return f"{shown(over)}{to}, {ceiling}"
        case op.WriteClaim(_, new):
            return f"of {new.home}, term {new.term}, by {new.token}"
        case op.RecordLayouts(layouts=layouts):
            return f"up to epoch {layouts[-1].epoch}"
        case _:
            return _named(operation, *(e.name for e in fields(operation) if e.name not in ("region", "counter")))


def _record_change(old: model.DeploymentRecord | None, new: model.DeploymentRecord) -> str:
    """Return what differs in the new record."""
    if old is None or old.admitted != new.admitted:
        return shown(new)
    return f"{new.number} reconciled" if new.reconciled else f"{new.number}"


def _change(old: model.Register | None, new: model.Register) -> str:
    """Return what differs in the new register."""
    if old == new:
        return "as it is"
    if old is None or new.epoch > old.epoch:
        return shown(new)
    if new.layouts_id != old.layouts_id:
        return f"{shown(new)}, in {shown_id(new.layouts_id)}"
    tables = f"tables {_tables(new)}" if new.ids != old.ids else ""
    return _listed(tables, _named(new, "limit") if new.limit > old.limit else "")


def _tables(register: model.Register) -> str:
    return " ".join("-" if id_ is None else shown_id(id_) for id_ in register.ids)


def _listed(*parts: Any) -> str:
    """Return the parts that aren't empty."""
    return ", ".join(filter(None, parts))


def _named(value: Any, *names: str) -> str:
    return ", ".join(f"{name} {shown(getattr(value, name))}" for name in names)


COUNTER = "orders"
WINDOW = 100
"""Really 1,000. The transcripts stay readable with few."""

STARTING = ("deploy", "schedule", "create", "delete", "grant")
"""The commands that start a coordinator."""

SECONDS = 60
"""Between a command that starts a run, and the one before."""

LINE = "----"

OPTIONS = ("leaving", "counters", "floor", "recovery", "above", "at", "of")
"""What further words of a command may begin with."""

LOSSES = {"lose": ("recreated", "made again, empty"), "restore": ("restored", "made again, as it was")}
"""Commands that lose a table and make it again: how, and what they print."""

MINTED = {True: ", minted", False: ", not minted", None: ""}


def play(text: str) -> str:
    """Return the transcript with what its commands print now. A line that is no command is a ValueError."""
    stage = Player()
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
class Player:
    """The tables, and the coordinators by name. A coordinator's name is also its token."""

    world: CheckedWorld = field(default_factory=CheckedWorld)
    coordinators: dict[str, SimulatedCoordinator] = field(default_factory=dict[str, SimulatedCoordinator])

    def carry_out(self, command: str) -> list[str]:
        """Carry out a command, and return the lines that it prints."""
        self.world.now += SECONDS if command.startswith(STARTING) else 0
        match command.split():
            case ["deploy", name, *words]:
                return self._deploy(name, words)
            case ["schedule", name, *words]:
                return self._start(name, ScheduledRun(), *words[1:])
            case ["create" | "delete" as kind, name, *counters]:
                return self._start(name, (Create if kind == "create" else Delete)(tuple(counters)))
            case ["grant", name, counter, "back", epoch]:
                return self._start(name, Grant(counter, went_back=int(epoch)))
            case ["grant", name, counter, count]:
                self.world.largest = max(self.world.largest, int(count))
                return self._start(name, Grant(counter, int(count)))
            case ["step", name, *count]:
                return self._run(name, most=int((count or [1])[0]))
            case ["run", name, *until]:
                return self._run(name, until)
            case ["writes", name, *until]:
                reads = (f"{name} reads", f"{name} describes")
                return [line for line in self._run(name, until) if not line.startswith(reads)]
            case ["finish", name]:
                return self._run(name)[-1:]
            case ["crash", name]:
                following = self.coordinators.pop(name).todo[0][2]
                return [f"{name} has crashed before {shown_operation(following)}"]
            case ["late", name]:
                coordinator = self.coordinators.pop(name)
                self.world.at = coordinator.home
                return shown_steps(name, [(each, self.world.carry_out(each)) for *_, each in coordinator.todo])
            case ["mint", region, *words]:
                parts = _parts(words)
                (counter,) = parts.get("of", [COUNTER])
                minted = [self.world.mint(region, counter) for _ in range(int((parts[""] or [1])[0]))]
                integers = list(map(shown, minted))
                return [
                    f"{region}: {' '.join(integers if len(minted) <= 12 else [*integers[:3], '...', *integers[-2:]])}"
                ]
            case ["ask", region, integer]:
                said = ask(self.world, region, COUNTER, int(integer)) or {"region": "it doesn't know", "minted": None}
                return [f"{region}: {said['region']}{MINTED[said['minted']]}"]
            case ["lose" | "restore" as kind, *table]:
                how, said = LOSSES[kind]
                self.world.lose(name := " ".join(table), how, Random(0))
                return [f"{said}: {name if name.startswith('receipts') else shown_id(self._table(name).id)}"]
            case ["gone", *table]:
                self.world.lose(" ".join(table), "gone", Random(0))
            case ["keep", *table]:
                self.world.keep(" ".join(table))
            case ["rewind", table]:
                id_ = self._table(table).id
                self.world.lose(table, "restored", Random(0))
                self._table(table).id = id_
            case ["forget", "record"]:
                self.world.record = self.world.record_copy = None
            case ["forget", counter]:
                del self.world.registers[counter], self.world.copies[counter]
            case ["unreachable", region]:
                self.world.unreachable.add(region)
            case ["reachable", region]:
                self.world.unreachable.remove(region)
            case ["wait", seconds]:
                self.world.now += int(seconds)
            case ["show", *counter]:
                return self._show(*counter)
            case _:
                raise ValueError(f"{command!r} is no command")
        return []

    def _deploy(self, name: str, words: list[str]) -> list[str]:
        world, parts = self.world, _parts(words)
        for region in parts[""]:
            world.make_table(region)
        (home,) = parts.get("at", [world.home])
        *floored, floor = parts.get("floor") or ["0"]
        request = deployment(
            world,
            parts[""],
            leaving=parts.get("leaving", ()),
            home=home,
            counters=parts.get("counters", [COUNTER]),
            floors={(floored or ["*"])[0]: int(floor)} if "floor" in parts else {},
            window=WINDOW,
            recovery={"loss": parts["recovery"][0], "above": int(parts["above"][0])} if "above" in parts else {},
        )
        self._start(name, request, home)
        return [f"asked for: {shown(request.desired)}"]

    def _start(self, name: str, request: Run, home: str = "") -> list[str]:
        self.coordinators[name] = SimulatedCoordinator(run(request, name, RunResult()), home or self.world.home)
        return []

    def _table(self, name: str) -> Any:
        return self.world.database.tables[place_of(name)]

    def _run(self, name: str, until: Sequence[str] = (), most: int | None = None) -> list[str]:
        """Let a coordinator carry out so many operations at most, and stop before one of a kind."""
        before: Any = getattr(op, until[-1]) if until else ()
        coordinator = self.coordinators[name]
        steps, ending = list[tuple[op.Operation, Any]](), list[str]()
        self.world.at = coordinator.home

        def carry_out(operation: op.Operation) -> Any:
            answer = self.world.carry_out(operation)
            if not isinstance(operation, op.Clock | op.TakeRunLock | op.MayBegin):
                steps.append((operation, answer))
            return answer

        while not coordinator.ended and len(steps) != most:
            following = coordinator.todo[0][2]
            if isinstance(following, before) and not changes_nothing(following):
                break
            try:
                coordinator.step(carry_out)
            except model.Refused as refusal:
                ending = [f"{name} is refused: {refusal}"]
        if coordinator.ended:
            del self.coordinators[name]
            ending = ending or [f"{name} has finished{_pending(coordinator.result)}"]
        return [*shown_steps(name, steps), *ending]

    def _show(self, counter: str = COUNTER) -> list[str]:
        world = self.world
        items = [f"{name} ({shown_id(it.id)}): {shown(world.item(name, counter))}" for name, it in world.tables.items()]
        return [f"record: {shown(world.record)}", f"register: {shown(world.registers.get(counter))}", *items]


def _parts(words: list[str]) -> dict[str, list[str]]:
    """Return the words by the option that they follow, the first ones by ""."""
    parts = {"": list[str]()}
    for word in words:
        if word in OPTIONS:
            parts[word] = []
        else:
            parts[[*parts][-1]].append(word)
    return parts


def _pending(result: RunResult | None) -> str:
    if result and result.skipped not in (None, "nothing is deployed"):
        return f": {result.skipped}"
    pending = pending_regions(result.outcomes.values()) if result else ()
    return f", pending: {shown(tuple(pending))}" if pending else ""
