"""The commands of `python -m local`, and their options."""

import argparse
import fcntl
import os
import re
import signal
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from . import commands, operations
from .paths import LocalError, command, state_folder
from .server.server import MAX_PORT, USUAL_PORT


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Return 0 on success, 1 after an error (which is printed)."""
    options = _parser().parse_args(arguments)
    try:
        with _one_at_a_time():
            _run(options)
    except LocalError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # `… | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m local",
        description="Deploy the stack to an AWS API server on this machine, look at it, end it.",
        epilog=f"the options of a command: {command('up -h')}",
    )
    commands_ = parser.add_subparsers(dest="command", required=True, metavar="command")

    def add(name: str, help_: str, *examples: str) -> argparse.ArgumentParser:
        lines = "\n".join(f"  {command(name)} {example}".rstrip() for example in examples)
        return commands_.add_parser(
            name,
            help=help_,
            description=f"{help_[0].upper()}{help_[1:]}.",
            epilog=f"examples:\n{lines}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    def of_a_stack(name: str, help_: str, *examples: str) -> argparse.ArgumentParser:
        one = add(name, help_, *examples)
        one.add_argument("--stack", default="dev", help="the stack of Pulumi.<stack>.yaml (default: dev)")
        return one

    def overridden(parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "-c",
            dest="overrides",
            action="append",
            default=[],
            metavar="key=value",
            help="a setting for this run, instead of the one in Pulumi.<stack>.yaml (lists and objects as JSON)",
        )

    up = of_a_stack(
        "up",
        "start the server if need be, and deploy; again after a change",
        *("", "-c lease=100", '-c \'regions=["us-east-1", "eu-west-1"]\''),
    )
    overridden(up)
    up.add_argument(
        "--port",
        type=_port,
        help=f"the server's port; 0: any free one (default: the last one, at first {USUAL_PORT}; if taken, a free one)",
    )

    preview = of_a_stack("preview", "print what `up` would do, and change nothing", "", "-c window=1000000")
    overridden(preview)

    of_a_stack("status", "print regions, URLs, layouts and alarms", "")

    outputs = of_a_stack(
        "outputs", "print what the last deployment exported", "", "urls.eu-west-1", "--json > outputs.json"
    )
    outputs.add_argument("--json", action="store_true", help="print JSON")
    outputs.add_argument("path", nargs="?", help="only this one, like regions or urls.eu-west-1")

    of_a_stack("demo", "mint from every region and show it", "")

    logs = of_a_stack("logs", "print what the functions have logged", "", "eu-west-1", "-n 200")
    logs.add_argument("region", nargs="?", help="only this region's")
    logs.add_argument("-n", dest="lines", type=_count, default=50, metavar="N", help="how many lines (default: 50)")

    lose = of_a_stack("lose", "delete a table, as if AWS had lost it; `up` recreates it", "eu-west-1", "--layouts")
    lose.add_argument("region", nargs="?", help="delete this region's counters table")
    lose.add_argument("--layouts", action="store_true", help="delete the layouts table")

    add("down", "end the server and forget everything, integers too", "")
    return parser


def _run(options: argparse.Namespace) -> None:
    match options.command:
        case "up":
            commands.up(options.stack, options.overrides, options.port)
        case "preview":
            commands.preview(options.stack, options.overrides)
        case "status":
            print(operations.status(options.stack))
        case "outputs":
            commands.outputs(options.stack, options.path, as_json=options.json)
        case "demo":
            commands.demo(options.stack)
        case "logs":
            for line in operations.logs(options.stack, options.region, options.lines):
                print(line)
        case "lose":
            print(operations.lose(options.stack, options.region, layouts=options.layouts))
        case _:
            commands.down()


def _count(text: str) -> int:
    count = int(text) if re.fullmatch("[0-9]{1,6}", text) else 0
    if count < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number of lines; 1 to 999999 are allowed")
    return count


def _port(text: str) -> int:
    port = int(text) if re.fullmatch("[0-9]{1,5}", text) else -1
    if not 0 <= port <= MAX_PORT:
        raise argparse.ArgumentTypeError(f"{text} is not a port; 1 to {MAX_PORT} are allowed, and 0 for a free one")
    return port


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
