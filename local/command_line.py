"""The commands of `python -m local`: their options, and what each does."""

import argparse
import fcntl
import io
import json
import os
import re
import shlex
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, cast

from botocore.exceptions import BotoCoreError, ClientError

from .apigateway import GATEWAY
from .aws_clients import Aws
from .domain import DOMAIN, how_to, only_one, serve
from .engine import deploy, preview
from .operator_commands import AT_HOME, Deployed, demo, follow, logs, lose, places, send
from .paths import FREE_SPACE, FULL, VERSION, LocalError, as_here, command, start_afresh, state_folder, storage_problem
from .resources.route53 import make_zone
from .server import aws_server
from .server.aws_server import MAX_PORT, USUAL_PORT
from .stack import State, configuration, project, stacks, write_stack_of_server
from .status import status
from .terminal import clear, endless, say, show


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Return 0 on success, 1 after an error (which is printed)."""
    options = _parser().parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # tables have lines that not every encoding has
    try:
        with _one_at_a_time():
            rest: Iterator[str] | None = options.run(options)
        if rest is not None:  # nobody waits for its end
            endless(options.command)
            for line in rest:
                say(line)
        sys.stdout.flush()
    except LocalError as error:
        print(f"error: {as_here(str(error))}", file=sys.stderr)
        return 1
    except (BotoCoreError, ClientError) as error:
        print(f"error: {_server_problem(error)}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # `… | head`
        _discard_output()
        return 128 + signal.SIGPIPE
    except OSError as error:
        if not (problem := storage_problem(error)):
            raise
        if error.filename is None:
            _discard_output()
        print(f"error: {problem}", file=sys.stderr)
        return 1
    return 0


def _server_problem(error: Exception) -> str:
    """Return why the server gave no answer: it may have ended meanwhile."""
    try:
        running = aws_server.running()
    except LocalError as ended:
        return str(ended)
    space = f"\n{state_folder()}: {FREE_SPACE}" if _is_full(str(error)) else ""
    return (
        f"{error}{space}\n"
        f"{running.endpoint} is the local AWS server (process {running.pid}). {aws_server.SERVICE.log_end()}"
    )


def _is_full(said: str) -> bool:
    """Return whether the server had no space, as the system says it, or SQLite."""
    return any(words in said for words in ("disk is full", *map(os.strerror, FULL)))


def _discard_output() -> None:
    """Discard what isn't written yet: Python would try it once more at its end, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m local",
        description="Deploy the stack to an AWS API server on this machine, look at it, end it.",
        epilog=f"the options of a command: {command('up -h')}",
    )
    commands_ = parser.add_subparsers(dest="command", required=True, metavar="command")

    def add(
        run: Callable[[argparse.Namespace], Iterator[str] | None], name: str, help_: str, *examples: str
    ) -> argparse.ArgumentParser:
        lines = "\n".join(f"  {command(name)} {example}".rstrip() for example in examples)
        added = commands_.add_parser(
            name,
            help=help_,
            description=f"{help_[0].upper()}{help_[1:]}.",
            epilog=f"examples:\n{lines}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,  # it would mean another option, or none, once there is a new one
        )
        added.set_defaults(run=run)
        if run is not _down:
            added.add_argument("--stack", default="dev", help="the stack of Pulumi.<stack>.yaml (default: dev)")
        if run in (_up, _preview):
            added.add_argument(
                "-c",
                dest="overrides",
                action="append",
                default=[],
                metavar="key=value",
                help="a setting for this run, instead of the one in Pulumi.<stack>.yaml (lists and objects as JSON)",
            )
        return added

    examples = ("", "-c lease=100", '-c \'regions=["us-east-1", "eu-west-1"]\'')
    up = add(_up, "up", "start the server if needed, and deploy; again after a change", *examples)
    up.add_argument(
        "--port",
        type=_number(0, MAX_PORT, f"a port; 1 to {MAX_PORT} are allowed, and 0 for a free one"),
        help=f"the server's port; 0: any free one (default: the last one, at first {USUAL_PORT}; "
        "a new server takes a free one if that is taken)",
    )
    up.add_argument("--suppress-outputs", action="store_true", help="don't print the outputs")
    add(_preview, "preview", "print what `up` would do, and change nothing", "", "-c window=1000000")
    add(lambda options: print(status(options.stack)), "status", "ask each region whether it mints, and print it", "")

    examples = ("", "urls.eu-west-1", "--json > outputs.json")
    outputs = add(_outputs, "outputs", "print what the last deployment exported", *examples)
    outputs.add_argument("--json", action="store_true", help="print JSON")
    outputs.add_argument("path", nargs="?", help="only this one, like regions or urls.eu-west-1")

    add(lambda options: demo(options.stack), "demo", "mint from every region and show it", "")

    def show_logs(options: argparse.Namespace) -> Iterator[str] | None:
        if options.follow:
            return follow(options.stack, options.region, options.lines)
        print(logs(options.stack, options.region, options.lines))
        return None

    logged = add(show_logs, "logs", "print what the functions have logged", "", "eu-west-1", "-n 200", "--follow")
    logged.add_argument("region", nargs="?", help="only this region's")
    lines = _number(1, 999_999, "a number of lines; 1 to 999999 are allowed")
    logged.add_argument("-n", dest="lines", type=lines, default=50, metavar="N", help="how many lines (default: 50)")
    logged.add_argument("-f", "--follow", action="store_true", help="print new lines as they are logged, until Ctrl-C")

    def lose_tables(options: argparse.Namespace) -> None:
        whole = [table for table in AT_HOME if getattr(options, table)]
        print(lose(options.stack, options.region, *whole, receipts=options.receipts))

    what = "delete a table, as if AWS had lost it; `up` recreates it"
    lost = add(lose_tables, "lose", what, "eu-west-1", "eu-west-1 --receipts", "--layouts")
    lost.add_argument("region", nargs="?", help="delete this region's counters table")
    lost.add_argument("--receipts", action="store_true", help="delete the region's receipts table instead")
    for table in AT_HOME:
        lost.add_argument(f"--{table}", action="store_true", help=f"delete the {table} table")

    what = "send an event to the coordinator, and print its answer"
    events: tuple[dict[str, Any], ...] = (
        {"schedule": True},
        {"back": True},
        {"create": ["invoices"]},
        {"counters": True},
    )
    examples = (shlex.quote(json.dumps(event)) for event in events)
    sent = add(lambda options: print(send(options.stack, options.event)), "send", what, *examples)
    sent.add_argument("event", help="a JSON object, like the `--payload` of `aws lambda invoke` in docs/tasks.md")

    add(_down, "down", "end the server and forget everything, integers too", "")
    return parser


def _number(least: int, most: int, refusal: str) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch("[0-9]{1,6}", text) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text} is not {refusal}")
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
    config, zone = _settings(stack, options.overrides)
    ended = aws_server.has_saved() and not aws_server.SERVICE.runs()
    started = _server(options.port) if ended else None
    # What is refused changes nothing, and starts nothing.
    expected, messages = _planned(stack, config, options.overrides)
    first = all(event == "create" for event, _, _ in expected)
    started = started or _server(options.port)
    for line in [] if first else messages:
        say(as_here(line))
    if first:
        say(f"creating {len(expected)} resources")
    write_stack_of_server(started.endpoint)
    if zone.islower():
        make_zone(Aws(started.endpoint), zone)
    counts: Counter[str] = Counter()

    def report(event: str, kind: str, name: str) -> None:
        counts[event] += 1
        if first and sys.stdout.isatty():
            show(f"  {counts.total()} of {len(expected)} resources: {name}")
        else:
            _show(event, kind, name)

    try:
        aws = Aws(started.endpoint)
        made = deploy(project()["name"], stack, config, aws, report, overrides=options.overrides)
        exported = serve(stack, made, started.endpoint)
    except LocalError as error:
        clear()
        over = ""
        if not aws_server.SERVICE.runs():
            again = f"To start it again and go on, run the same command.\n{aws_server.SERVICE.log_end()}"
            over = f"\nthe local AWS server has ended. {again}"
        full = f"\n{state_folder()}: {FREE_SPACE}" if _is_full(f"{error}{over}") else ""
        raise LocalError(f"{error}{full}{over}") from error
    say(f"{stack}: {_summary(counts)}")
    receipts = any(event == "create" and name.endswith("-receipts") for event, _, name in expected)
    if receipts and not first:  # nothing else starts scheduled runs here
        with suppress(LocalError):
            send(stack, json.dumps({"schedule": True}))
            say(
                "receipts tables were created: a scheduled run has recorded the layouts there, as on AWS within minutes"
            )
    if options.suppress_outputs:
        return
    print(places(exported))
    if exported["gatewayUrls"]:
        print("gatewayUrls are served by a small process here, by the same templates that API Gateway gets.")
    print(how_to(exported), end="")
    print(f"all outputs: {command(f'outputs --stack {stack}')}")


def _preview(options: argparse.Namespace) -> None:
    config, _ = _settings(options.stack, options.overrides)
    events, said = _planned(options.stack, config, options.overrides)
    for event in events:
        _show(*event)
    for line in said:
        say(as_here(line))
    to_do = Counter(event if event == "unchanged" else f"to {event}" for event, _, _ in events)
    print(f"{options.stack}: {_summary(to_do)}; nothing was changed")


def _settings(stack: str, overrides: Sequence[str]) -> tuple[dict[str, str], str]:
    """Return the configuration, and the name of the hosted zone in it."""
    config = configuration(stack, overrides)
    zone = config.get(f"{project()['name']}:hostedZone", "").removesuffix(".")
    if zone.isupper() and "." not in zone:
        raise LocalError(
            f"hostedZone: {zone} is an id; here, give the zone's name, like example.com. `up` makes the zone"
        )
    if zone:
        only_one(stack, config.get(f"{project()['name']}:domain", ""))
    return config, zone


def _planned(
    stack: str, config: Mapping[str, str], overrides: Sequence[str]
) -> tuple[list[tuple[str, str, str]], list[str]]:
    """Return what `up` would do, as a report's event, type and name of each resource, and the program's messages."""
    events: list[tuple[str, str, str]] = []
    there = aws_server.SERVICE.recorded() or aws_server.has_saved()
    aws = Aws(aws_server.running(State(stack).up).endpoint) if there else None
    name = project()["name"]
    try:
        said = preview(name, stack, config, aws, lambda what, kind, name: events.append((what, kind, name)))
    except LocalError as error:
        raise LocalError(_with_options(str(error), f"Pulumi.{stack}.yaml", name, overrides)) from error
    return events, said


def _with_options(message: str, file: str, project_name: str, overrides: Sequence[str]) -> str:
    """Return an error about settings so that it names the options that set them, and not the file."""
    for override in overrides:
        setting = re.escape(override.partition("=")[0].removeprefix(f"{project_name}:"))
        message = re.sub(rf"^(  )({setting}\b)", r"\1-c \2", message, flags=re.MULTILINE)
        example = rf"in {re.escape(file)}, {re.escape(project_name)}:({setting}): (.*)$"
        written = re.compile(example, re.MULTILINE)
        message = written.sub(lambda found: f"-c {shlex.quote(f'{found[1]}={found[2]}')}", message)
    return message


def _show(event: str, kind: str, name: str) -> None:
    if event != "unchanged":
        say(f"  {event:<9} {kind.rsplit(':')[-1]:<25} {name}")


def _summary(counts: Mapping[str, int]) -> str:
    """Return how much of what happened, in this order: resources are reported by threads."""
    stems = ("unchanged", "create", "update", "replace", "delete")
    found = (f"{n} {event}" for stem in stems for event, n in sorted(counts.items()) if stem in event)
    return ", ".join(found) or "nothing"


def _server(port: int | None) -> aws_server.Server:
    before = aws_server.SERVICE.recorded()
    if before and before.version != VERSION:
        raise LocalError(
            f"the local AWS server is of version {before.version} of the local deployment, this is version {VERSION}; "
            f"{start_afresh()}"
        )
    preferred = aws_server.preferred_port()
    if aws_server.has_saved() and not aws_server.SERVICE.runs():
        started = aws_server.start(preferred if port is None else port)
        print(f"local AWS server: started again on {started.endpoint} (process {started.pid}), from what it saved")
        return started
    if before is None:
        _forget()  # what an interrupted `down` has left
        started = aws_server.start(port)
        print(f"local AWS server: started on {started.endpoint} (process {started.pid})")
        if port is None and started.port != preferred:
            print(aws_server.taken(preferred))
        return started
    started = aws_server.running()
    if port not in (None, 0, started.port):
        raise LocalError(
            f"--port {port}: the server runs on port {started.port}. To move it, which changes the URLs: "
            f"kill {started.pid}, then: {command(f'up --port {port}')}"
        )
    print(f"local AWS server: running on {started.endpoint} (process {started.pid})")
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


def _down(_options: argparse.Namespace) -> None:
    """End the server and remove what it left. Files of others in the state folder stay."""
    recorded = aws_server.SERVICE.recorded() is not None or aws_server.has_saved()
    DOMAIN.stop()
    GATEWAY.stop()
    ended = aws_server.SERVICE.end(signal.SIGKILL)  # it needn't save anything
    for folder in (state_folder() / "tmp", state_folder() / "apis", aws_server.saved()):
        shutil.rmtree(folder, ignore_errors=True)
    _forget()
    aws_server.SERVICE.record.unlink(missing_ok=True)
    if recorded and not ended:
        print("the server had ended already; what it left is removed")
    else:
        print("ended; everything minted here is forgotten" if ended else "nothing ran here")
