"""The commands of `python -m local`, and their options."""

import argparse
import fcntl
import os
import re
import signal
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from . import commands
from .paths import LocalError, state_folder
from .server import USUAL_PORT

MAX_PORT = 65535


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
    )
    add = parser.add_subparsers(dest="command", required=True, metavar="command").add_parser

    up = add("up", help="start the server if need be, and deploy; again after a change")
    up.add_argument("--stack", default="dev", help="deploy with Pulumi.<stack>.yaml (default: dev)")
    up.add_argument("-c", dest="overrides", action="append", default=[], metavar="key=value", help="set for this run")
    up.add_argument(
        "--port", type=_port, help=f"the server's port; 0: any free one (default: {USUAL_PORT}, or a free one)"
    )

    preview = add("preview", help="print what `up` would do")
    preview.add_argument("--stack", default="dev")
    preview.add_argument("-c", dest="overrides", action="append", default=[], metavar="key=value", help="as for `up`")

    outputs = add("outputs", help="print what the last deployment exported")
    outputs.add_argument("--stack", default="dev")
    outputs.add_argument("--json", action="store_true")
    outputs.add_argument("path", nargs="?", help="only this one, like regions or urls.eu-west-1")

    demo = add("demo", help="mint from every region and show it")
    demo.add_argument("--stack", default="dev")

    add("down", help="end the server and forget everything, integers too")
    return parser


def _run(options: argparse.Namespace) -> None:
    match options.command:
        case "up":
            commands.up(options.stack, options.overrides, options.port)
        case "preview":
            commands.preview(options.stack, options.overrides)
        case "outputs":
            commands.outputs(options.stack, options.path, as_json=options.json)
        case "demo":
            commands.demo(options.stack)
        case _:
            commands.down()


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
