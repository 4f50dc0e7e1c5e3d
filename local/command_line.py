"""The commands of `python -m local`: deploy the stack to an AWS API server on this machine, look at it, end it."""

import argparse
import fcntl
import json
import os
import shutil
import signal
import sys
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, cast

from . import server
from .apigateway.resources import GATEWAY
from .configuration import configuration, project, stacks
from .demo import how_to_go_on, table
from .engine import deploy
from .paths import LocalError, state_folder
from .process import Service
from .resources import Aws
from .state import State


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Return 0 on success, 1 after an error (which is printed), 130 on Ctrl-C."""
    options = _parser().parse_args(arguments)
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with _alone():
            options.command(options)
    except LocalError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # `… | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except KeyboardInterrupt:
        print("\ninterrupted; what was made is kept, and the same command goes on from here", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m local", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="command")

    up = commands.add_parser("up", help="start the server if need be, and deploy; again after a change")
    up.add_argument("--stack", default="dev", help="deploy with Pulumi.<stack>.yaml (default: dev)")
    up.add_argument("-c", dest="overrides", action="append", default=[], metavar="key=value", help="set for this run")
    up.add_argument("--port", type=int, help=f"the server's port (default: {server.USUAL_PORT}, or a free one)")
    up.set_defaults(command=_up)

    outputs = commands.add_parser("outputs", help="print what the last deployment gave out")
    outputs.add_argument("--stack", default="dev")
    outputs.add_argument("--json", action="store_true")
    outputs.add_argument("path", nargs="?", help="only this one, like regions or urls.eu-west-1")
    outputs.set_defaults(command=_outputs)

    demo = commands.add_parser("demo", help="mint from every region and show it")
    demo.add_argument("--stack", default="dev")
    demo.set_defaults(command=_demo)

    down = commands.add_parser("down", help="end the server and forget everything, integers too")
    down.set_defaults(command=_down)
    return parser


def _up(options: argparse.Namespace) -> None:
    config = configuration(options.stack, options.overrides)
    if server.recorded() is None:
        started = server.start(options.port)
        print(f"local AWS server: started on {started.endpoint} (process {started.pid})")
        if started.port != (options.port or server.USUAL_PORT):
            print(f"port {server.USUAL_PORT} is taken by something else")
    else:
        started = server.running()
        server.check_version()
        if options.port not in (None, started.port):
            raise LocalError(
                f"--port {options.port}: the server runs on port {started.port}; end it: python -m local down"
            )
        print(f"local AWS server: running on {started.endpoint} (process {started.pid})")
    done: Counter[str] = Counter()

    def report(what: str, kind: str, name: str) -> None:
        done[what] += 1
        if what != "unchanged":
            sys.stdout.write(f"  {what:<9} {kind.rsplit(':')[-1]:<12} {name}\n")  # one write: threads report

    try:
        outputs = deploy(project()["name"], options.stack, config, Aws(started.endpoint), report)
    except LocalError as error:
        raise LocalError(f"{error}{_if_ended(started)}") from error
    print(f"{options.stack}: {', '.join(f'{n} {what}' for what, n in done.items())}")
    _print(outputs)
    if outputs["gatewayUrls"]:
        print("gatewayUrls are served by a small process here, by the same templates that API Gateway gets.")


def _if_ended(started: server.Server) -> str:
    return "" if started.alive() else f"\nthe local AWS server has ended.\n{server.SERVICE.log_end()}"


def _outputs(options: argparse.Namespace) -> None:
    outputs = _deployed(options.stack)
    chosen = _chosen(outputs, options.path) if options.path else outputs
    if isinstance(chosen, dict) and not options.json:
        _print(cast("dict[str, Any]", chosen))
    else:
        print(chosen if isinstance(chosen, str) and not options.json else json.dumps(chosen, indent=2))


def _chosen(outputs: dict[str, Any], path: str) -> Any:
    chosen: Any = outputs
    for key in path.split("."):
        if not isinstance(chosen, dict) or key not in chosen:
            known = cast("dict[str, Any]", chosen) if isinstance(chosen, dict) else {}
            raise LocalError(f"outputs {path}: there is no {key!r}; there is {', '.join(known) or 'nothing below'}")
        chosen = cast("dict[str, Any]", chosen)[key]
    return chosen


def _demo(options: argparse.Namespace) -> None:
    outputs = _deployed(options.stack)
    try:
        print(f"\n{table(outputs)}\n\n{how_to_go_on(outputs)}")
    except OSError as error:
        raise LocalError(f"minting failed: {error}\n{server.SERVICE.log_end()}") from error


def _deployed(stack: str) -> dict[str, Any]:
    server.running()
    outputs = State(stack).outputs
    if not outputs:
        raise LocalError(f"stack {stack} is not deployed here; deploy it: python -m local up --stack {stack}")
    return outputs


def _down(_: argparse.Namespace) -> None:
    recorded = server.recorded() is not None
    GATEWAY.stop()
    Service("door", "local.door").stop()  # what version 1 called it
    ended = server.SERVICE.stop()
    for name in ("tmp", "apis"):
        shutil.rmtree(state_folder() / name, ignore_errors=True)
    for name in stacks():
        (state_folder() / f"{name}.json").unlink(missing_ok=True)
    if recorded and not ended:
        print("the server had ended already; what it left is removed")
    else:
        print("ended; everything minted here is forgotten" if ended else "nothing ran here")


def _print(outputs: dict[str, Any]) -> None:
    for name, value in outputs.items():
        if isinstance(value, dict) and value:
            print(f"{name}:")
            for key, entry in value.items():  # pyright: ignore[reportUnknownVariableType]
                print(f"  {key}: {entry if isinstance(entry, str) else json.dumps(entry)}")
        else:
            print(f"{name}: {value if isinstance(value, str) else json.dumps(value)}")


@contextmanager
def _alone() -> Generator[None]:
    """One command at a time: a second one waits, and says so."""
    state_folder().mkdir(parents=True, exist_ok=True)
    with (state_folder() / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("another `python -m local` is at work; waiting for it", file=sys.stderr)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
