"""The commands of `python -m local`: their options, and what each does."""

import argparse
import fcntl
import io
import json
import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

from botocore.exceptions import BotoCoreError, ClientError

from .apigateway import GATEWAY
from .aws_clients import Aws
from .domain import DOMAIN, how_to, only_one, serve
from .engine import Engine, deploy
from .operator_commands import AT_HOME, Deployed, demo, logs, lose, send
from .paths import VERSION, LocalError, as_here, command, start_afresh, state_folder, storage_problem
from .server import aws_server
from .server.aws_server import MAX_PORT, USUAL_PORT
from .stack import State, configuration, project, stacks, write_stack_of_server
from .status import status
from .terminal import clear, say, show


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Return 0 on success, 1 after an error (which is printed)."""
    options = _parser().parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # tables have lines that not every encoding has
    try:
        with _one_at_a_time():
            lines: Iterable[str] | None = options.run(options)
        if getattr(options, "follow", False):  # nobody waits for its end
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        for line in lines or ():
            say(line)
        sys.stdout.flush()
    except LocalError as error:
        problem = as_here(str(error))
    except (BotoCoreError, ClientError) as error:
        problem = _server_problem(error)
    except OSError as error:
        if error.filename is None:  # Python would write the rest of the output once more at its end, and complain
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # `… | head`
            return 128 + signal.SIGPIPE
        if not (problem := storage_problem(error)):
            raise
    else:
        return 0
    print(f"error: {problem}", file=sys.stderr)
    return 1


def _server_problem(error: Exception) -> str:
    """Return why the server gave no answer: it may have ended meanwhile."""
    try:
        aws_server.running()
    except LocalError as ended:
        return str(ended)
    return f"{error}\n{aws_server.SERVICE.log_end()}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m local",
        description="Deploy the stack to an AWS API server on this machine, look at it, end it.",
        epilog=f"the options of a command: {command('up -h')}",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")

    def add(run: Callable[[argparse.Namespace], Any], name: str, what: str) -> argparse.ArgumentParser:
        # An abbreviation would mean another option, or none, once there is a new one.
        added = commands.add_parser(name, help=what, description=f"{what[0].upper()}{what[1:]}.", allow_abbrev=False)
        added.set_defaults(run=run)
        if run is not _down:
            added.add_argument("--stack", default="dev", help="the stack of Pulumi.<stack>.yaml (default: dev)")
        if run in (_up, _preview):
            setting = "a setting for this run, instead of the one in Pulumi.<stack>.yaml (lists and objects as JSON)"
            added.add_argument("-c", dest="overrides", action="append", default=[], metavar="key=value", help=setting)
        return added

    up = add(_up, "up", "start the server if needed, and deploy; again after a change")
    port = f"the server's port; 0: any free one (default: the one it had, at first {USUAL_PORT}, or a free one)"
    up.add_argument("--port", type=_number(0, MAX_PORT), help=port)
    up.add_argument("--suppress-outputs", action="store_true", help="don't print the outputs")
    add(_preview, "preview", "print what `up` would do, and change nothing")
    add(lambda options: [status(options.stack)], "status", "ask each region whether it mints, and print it")

    outputs = add(_outputs, "outputs", "print what the last deployment exported")
    outputs.add_argument("--json", action="store_true", help="print JSON")
    outputs.add_argument("path", nargs="?", help="only this one, like regions or urls.eu-west-1")

    add(lambda options: demo(options.stack), "demo", "mint from every region and show it")

    logged = add(
        lambda asked: logs(asked.stack, asked.region, asked.lines, follow=asked.follow),
        "logs",
        "print what the functions have logged",
    )
    logged.add_argument("region", nargs="?", help="only this region's")
    logged.add_argument("-n", dest="lines", type=_number(1, 999_999), default=50, help="how many lines (default: 50)")
    logged.add_argument("-f", "--follow", action="store_true", help="print new lines as they are logged, until Ctrl-C")

    lost = add(_lose, "lose", "delete a table, as if AWS had lost it; `up` recreates it")
    lost.add_argument("region", nargs="?", help="delete this region's counters table")
    lost.add_argument("--receipts", action="store_true", help="delete the region's receipts table instead")
    for table in AT_HOME:
        lost.add_argument(f"--{table}", action="store_true", help=f"delete the {table} table")

    sent = add(
        lambda options: [send(options.stack, options.event)],
        "send",
        "send an event to the coordinator, and print its answer",
    )
    sent.add_argument("event", help="a JSON object, like the `--payload` of `aws lambda invoke` in docs/tasks.md")

    down = add(_down, "down", "end the server and forget everything, integers too")
    down.add_argument("--stack", help="only if no other stack runs here")
    return parser


def _number(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text} is not a number from {least} to {most}")
        return int(text)

    return read


@contextmanager
def _one_at_a_time() -> Generator[None]:
    """Run one command at a time: a second one waits, and says so."""
    state_folder().mkdir(parents=True, exist_ok=True)
    with (state_folder() / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("waiting for another `python -m local` to end", file=sys.stderr)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def select(outputs: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path like `regions` or `urls.eu-west-1`, or raise `LocalError` with what there is."""
    value: Any = outputs
    for key in path.split("."):
        known: Mapping[str, Any] = cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
        if key not in known:
            raise LocalError(f"outputs {path}: there is no {key!r}; there is {', '.join(known) or 'nothing below'}")
        value = known[key]
    return value


def as_text(value: Any) -> str:
    """Return a value for a terminal or a script: a string as it is, a mapping with a line for each entry."""
    if not isinstance(value, Mapping):
        return _line(value)
    lines: list[str] = []
    for name, entry in cast("Mapping[str, Any]", value).items():
        if isinstance(entry, Mapping) and entry:
            nested = cast("Mapping[str, Any]", entry)
            lines += [f"{name}:", *(f"  {key}: {_line(below)}" for key, below in nested.items())]
        else:
            lines.append(f"{name}: {_line(entry)}")
    return "\n".join(lines)


def _line(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _up(options: argparse.Namespace) -> None:
    stack: str = options.stack
    config = _config(stack, options.overrides)
    started = _server(options.port) if aws_server.is_left() else None
    # What is refused changes nothing, and starts nothing.
    expected, messages = _planned(stack, config, started)
    first = all(event == "create" for event, _, _ in expected)
    started = started or _server(options.port)
    if first:
        say(f"creating {len(expected)} resources")
    else:
        _say(messages)
    write_stack_of_server(started.endpoint)
    counts: Counter[str] = Counter()

    def report(event: str, kind: str, name: str) -> None:
        counts[event] += 1
        if first and sys.stdout.isatty():
            show(f"  {counts.total()} of {len(expected)} resources: {name}")
        else:
            _show(event, kind, name)

    try:
        name, state = project()["name"], State(stack)
        state.begin(options.overrides)
        made = deploy(Engine(Aws(started.endpoint), state, report), name, config).outputs
        exported = serve(stack, made, started.endpoint)
    except LocalError as error:
        if aws_server.SERVICE.runs():
            raise
        again = "the local AWS server has ended. To start it again and go on, run the same command."
        raise LocalError(f"{error}\n{again}\n{aws_server.SERVICE.log_end()}") from error
    finally:
        clear()
    say(f"{stack}: {_summary(counts)}")
    if options.suppress_outputs:
        return
    shown = ("layout", "urls", "leaving", "gatewayUrls", "defaultCounter")
    print(as_text({name: exported[name] for name in shown if exported[name]}))
    print(how_to(exported), end="")
    print(f"all outputs: {command(f'outputs --stack {stack}')}")


def _preview(options: argparse.Namespace) -> None:
    stack, config = options.stack, _config(options.stack, options.overrides)
    events, messages = _planned(stack, config, aws_server.running(State(stack).up) if aws_server.is_left() else None)
    for event in events:
        _show(*event)
    _say(messages)
    to_do = Counter(event if event == "unchanged" else f"to {event}" for event, _, _ in events)
    print(f"{options.stack}: {_summary(to_do)}; nothing was changed")


def _config(stack: str, overrides: Sequence[str]) -> dict[str, str]:
    config, name = configuration(stack, overrides), project()["name"]
    zone = config.get(f"{name}:hostedZone", "")
    if zone.isupper() and "." not in zone:
        raise LocalError(f"hostedZone: {zone} is an id; here, give the zone's name, like example.com")
    if zone:
        only_one(stack, config.get(f"{name}:domain", ""))
    return config


def _planned(
    stack: str, config: Mapping[str, str], server: aws_server.Server | None
) -> tuple[list[tuple[str, str, str]], list[str]]:
    """Return what `up` would do, as a report's event, type and name of each resource, and the program's messages."""
    events: list[tuple[str, str, str]] = []
    aws = Aws(server.endpoint) if server else None
    engine = Engine(aws, State(stack, frozen=True), lambda what, kind, name: events.append((what, kind, name)))
    return events, deploy(engine, project()["name"], config).messages


def _say(messages: Sequence[str]) -> None:
    for line in messages:
        say(as_here(line))


def _show(event: str, kind: str, name: str) -> None:
    if event != "unchanged":
        say(f"  {event:<9} {kind.rsplit(':')[-1]:<25} {name}")


def _summary(counts: Mapping[str, int]) -> str:
    """Return how much of what happened, in this order: resources are reported by threads."""
    stems = ("unchanged", "create", "update", "replace", "delete")
    found = (f"{n} {event}" for stem in stems for event, n in sorted(counts.items()) if stem in event)
    return ", ".join(found) or "nothing"


def _server(port: int | None) -> aws_server.Server:
    before, saved = aws_server.SERVICE.recorded(), aws_server.has_saved()
    if before and before.version != VERSION:
        raise LocalError(
            f"the local AWS server is of version {before.version} of the local deployment, this is version {VERSION}; "
            f"{start_afresh()}"
        )
    how = "started again" if saved else "started"
    if aws_server.SERVICE.runs() or (before and not saved):
        started, how = aws_server.running(), "running"
        if port not in (None, 0, started.port):
            raise LocalError(
                f"--port {port}: the server runs on port {started.port}. To move it, which changes the URLs: "
                f"kill {started.pid}, then: {command(f'up --port {port}')}"
            )
    else:
        if not saved:
            _forget()  # what an interrupted `down` has left
        started = aws_server.start(before.port if before and port is None else port)
        if port is None and not before and started.port != USUAL_PORT:
            print(aws_server.taken(USUAL_PORT))
    print(f"local AWS server: {how} on {started.endpoint} (process {started.pid})")
    return started


def _forget() -> None:
    """Remove the states of all stacks. What they describe has ended with its server."""
    for name in stacks():
        (state_folder() / f"{name}.json").unlink(missing_ok=True)


def _outputs(options: argparse.Namespace) -> None:
    exported = Deployed(options.stack).outputs
    value = select(exported, options.path) if options.path else exported
    if options.json or isinstance(value, list):
        print(json.dumps(value, indent=2))
    else:
        print(as_text(value))


def _lose(options: argparse.Namespace) -> Iterable[str]:
    at_home = [table for table in AT_HOME if getattr(options, table)]
    return lose(options.stack, options.region, *at_home, receipts=options.receipts)


def _down(options: argparse.Namespace) -> None:
    """End the server and remove what it left. Files of others in the state folder stay."""
    others = [name for name in stacks() if name != options.stack and (state_folder() / f"{name}.json").exists()]
    if options.stack and others:
        raise LocalError(
            f"{', '.join(others)} would end, too: all stacks run on one server. To end all: make down, or "
            f"{command('down')}"
        )
    was_left = aws_server.is_left()
    DOMAIN.stop()
    GATEWAY.stop()
    ended = aws_server.SERVICE.end(signal.SIGKILL)  # it needn't save anything
    for folder in (state_folder() / "tmp", state_folder() / "apis", aws_server.saved()):
        shutil.rmtree(folder, ignore_errors=True)
    _forget()
    aws_server.SERVICE.record.unlink(missing_ok=True)
    if ended:
        print("ended; everything minted here is forgotten")
    else:
        print("the server had ended already; what it left is removed" if was_left else "nothing ran here")
