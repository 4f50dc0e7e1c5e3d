"""The command `global-integers`."""

import argparse
import json
import logging
import os
import sys
from collections.abc import Callable, Sequence

from . import status, verify
from .errors import GlobalIntegersError
from .integers import Integers
from .names import MAX_BLOCK
from .options import VARIABLE, urls_from, urls_from_environment


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Return its exit status: 0; 1 if it failed; 2 if an option is wrong; 130 if interrupted."""
    parser = _parser()
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO if options.verbose else logging.ERROR, format="%(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    try:
        urls = urls_from(options.urls) if options.urls else urls_from_environment()
        with Integers(
            urls, counter=options.counter or "", sign=options.sign, timeout=options.timeout, prefer=options.prefer
        ) as integers:
            return options.run(integers, options)
    except ValueError as error:
        print(f"global-integers: {error}", file=sys.stderr)
        return 2
    except GlobalIntegersError as error:
        print(f"global-integers: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would report it again when it ends
        return 1
    except OSError as error:  # no space left, for instance
        print(f"global-integers: what was minted could not be printed, and is lost: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _mint(integers: Integers, options: argparse.Namespace) -> int:
    counter = integers[options.counter] if options.counter else integers
    if options.format is not None and _formatted(options.format, 1) == _formatted(options.format, 2):
        raise ValueError(f"--format {options.format!r} doesn't show the integer; it should look like 'INV-{{:06d}}'")
    minted = counter.take(options.n, key=options.key)
    shown = [_formatted(options.format, integer) for integer in minted]
    print(json.dumps(minted if options.format is None else shown) if options.json else "\n".join(shown))
    return 0


def _formatted(text: str | None, integer: int) -> str:
    if text is None:
        return str(integer)
    try:
        return text.format(integer)
    except (ValueError, IndexError, KeyError, AttributeError) as error:
        raise ValueError(f"--format {text!r}: {error}; it should look like 'INV-{{:06d}}'") from None


def _owner(integers: Integers, options: argparse.Namespace) -> int:
    owner = integers.owner(options.integer, options.counter)
    if options.json:
        print(json.dumps(owner._asdict()))
        return 0
    minted = {True: "minted", False: "not minted", None: "not known whether minted"}[owner.minted]
    print(f"{owner.integer} of {owner.counter}: {owner.region}, offset {owner.offset} of {owner.stride}, {minted}")
    return 0


def _create(integers: Integers, options: argparse.Namespace) -> int:
    new = integers.create(options.counter)
    print(
        json.dumps({"counter": options.counter, "created": new})
        if options.json
        else f"{options.counter}: {'created' if new else 'exists'}"
    )
    return 0


def _status(integers: Integers, options: argparse.Namespace) -> int:
    rows = status.rows(integers, options.counter or "")
    print(
        json.dumps(rows)
        if options.json
        else status.table(rows, colour=sys.stdout.isatty() and "NO_COLOR" not in os.environ)
    )
    return 0 if all(row["ok"] for row in rows) else 1


def _check(integers: Integers, options: argparse.Namespace) -> int:
    report = verify.verify(integers, options.counter or "")
    if options.json:
        print(json.dumps({"ok": not report.wrong, "minted": report.minted, "wrong": report.wrong}))
    else:
        for region, line in report.regions.items():
            print(f"{region}: {line}")
        for wrong in report.wrong:
            print(f"wrong: {wrong}")
        found = f"problems: {len(report.wrong)}" if report.wrong else "all is well"
        print(f"{report.minted} integers minted; {found}")
    return 1 if report.wrong else 0


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 10_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer from 1 to 10000000")
    return int(text)


def _integer(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 2**53 - 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not an integer from 1 to {2**53 - 1}")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="global-integers",
        description="Unique integers from the nearest healthy region.",
        epilog=f"{VARIABLE} has the stack's address (https://integers.example.com/), the regions' URLs as JSON, or the "
        "path of a file with the output of `pulumi stack output --json`.",
    )
    parser.add_argument("--urls", metavar="ADDRESS|JSON|FILE", help=f"instead of {VARIABLE}")
    parser.add_argument(
        "--prefer", metavar="REGION", help="ask this region as long as it is healthy (by default the nearest)"
    )
    parser.add_argument(
        "--timeout", type=float, default=10.0, metavar="SECONDS", help="for each call, except create (10)"
    )
    parser.add_argument(
        "--sign",
        action=argparse.BooleanOptionalAction,
        help="sign requests (by default those to *.on.aws, and to an address that refuses unsigned ones)",
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="log which regions fail")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[Integers, argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text)
        added.add_argument("--json", action="store_true", help="print JSON, for scripts")
        added.set_defaults(run=run)
        return added

    mint = command("mint", _mint, "mint integers")
    mint.add_argument("counter", nargs="?", help="by default the stack's first one")
    mint.add_argument("-n", type=_count, default=1, metavar="COUNT", help="how many (1)")
    mint.add_argument("--format", metavar="TEXT", help="such as 'INV-{:06d}'")
    mint.add_argument(
        "--key", help=f"an idempotency key: the same key returns the same integers; COUNT is at most {MAX_BLOCK:,}"
    )
    owner = command("owner", _owner, "say which region mints an integer, and whether it was minted")
    owner.add_argument("integer", type=_integer)
    owner.add_argument("counter", nargs="?", help="by default the stack's first one")
    command("create", _create, "create a counter in every region").add_argument("counter")
    for name, run, text in (
        ("status", _status, "show whether each region can mint, its latency, position and epoch"),
        ("check", _check, "mint a few integers from every region and check them; exit with 1 if anything is wrong"),
    ):
        command(name, run, text).add_argument("counter", nargs="?", help="by default the stack's first one")
    return parser
