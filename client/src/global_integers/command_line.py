"""The command `global-integers`."""

import argparse
import json
import logging
import os
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from io import TextIOWrapper
from itertools import chain
from math import inf
from secrets import token_hex
from string import Formatter
from time import monotonic, sleep
from typing import Any, TypeVar

from . import __version__
from .above import find, seconds_to_wait
from .errors import Event, GlobalIntegersError, Refused, Requested, Unavailable
from .integers import Integers
from .listing import CounterState, look, names_of
from .minting import Client, api
from .minting.api import MAX_BLOCK, MAX_INTEGER, ApiRequest, Failure
from .minting.options import DAY, VARIABLE, urls_from, urls_from_environment
from .minting.threads import run

SPECIFICATION = re.compile(r"(?:.?[<>=^])?[-+ ]?#?0?[0-9]{0,3}[,_]?[bdnoxX]?")
"""How `--format` may show an integer (Python's format specification): whole, and up to 999 characters wide."""

PATIENCE = 2.5
"""Seconds without an answer after which a user at a terminal is told which region failed."""

EACH = 3
"""How many integers `check` mints from every region, besides two requests with one key."""

SLOW = 1.0
"""Seconds that a region's health check may take over an open connection."""

UNKNOWN_LEASES = (
    "Name the longest lease_seconds of your clients, and this command waits for it: --leases 0 if none leases, 60 if "
    f"none sets it, up to {DAY:,}"
)
"""What to do if nobody says for how long clients hand out what they have leased."""

Row = dict[str, Any]
T = TypeVar("T")

DEFAULTS: dict[str, Any] = {"urls": None, "prefer": None, "timeout": 10.0, "sign": None, "verbose": False}
"""The options that may come before the command's name or after it."""

UNLISTED = "it is in the layout, and isn't among the URLs"
"""What is wrong with a region that others name, and that has no URL here."""

COLUMNS = ("region", "state", "latency", "position", "left", "epoch", "counter", "version")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Return its exit status: 0; 1 if it failed; 2 if an option is wrong; 130 if interrupted."""
    parser = _parser()
    options = parser.parse_args(arguments, argparse.Namespace(**DEFAULTS, above=None))
    logging.basicConfig(level=logging.INFO if options.verbose else logging.ERROR, format="%(message)s")
    status: int | None = None
    try:
        if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison] (it was closed by whoever started this)
            raise ValueError("the standard output is closed, so nothing could be shown")
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")  # what was minted is shown, whatever is around it
        leaving = options.above is not None
        urls = (
            urls_from_environment(leaving=leaving) if options.urls is None else urls_from(options.urls, leaving=leaving)
        )
        with Integers(
            urls,
            counter=options.counter,
            sign=options.sign,
            timeout=options.timeout,
            prefer=options.prefer,
            observer=_Waiting(),
        ) as integers:
            status = int(options.run(integers, options))
            sys.stdout.flush()
        return status
    except (ValueError, GlobalIntegersError) as error:
        _say(str(error))
        return 2 if isinstance(error, ValueError) else 1
    except BrokenPipeError:  # the reader wants no more
        _drop_output()
        return 1
    except OSError as error:  # no space left, for instance
        _drop_output()
        lost = ", and integers in it are lost" if options.run is _mint else ""
        _say(f"the output could not be written{lost}: {error}")
        return 1
    except KeyboardInterrupt:
        if status is not None:  # all was shown
            return status
        lost = ""
        if options.run is _mint:
            with_key = "repeat the command with the same key to get them" if options.key else "they are lost"
            lost = f"; integers may have been minted that were not shown: {with_key}"
        _say(f"interrupted{lost}")
        return 130


class _Waiting:
    """An observer that prints one failure while the command goes on. Only at a terminal: a script gets the error."""

    def __init__(self) -> None:
        self._says_at = monotonic() + PATIENCE

    def __call__(self, event: Event) -> None:
        if not isinstance(event, Requested) or not event.failure or event.subject == "health":
            return
        if monotonic() >= self._says_at and sys.stderr.isatty():
            self._says_at = inf
            _say(f"no answer yet, trying again: {event.region}: {event.failure}")


def _say(text: str) -> None:
    """Print a message, if there is somewhere to print it."""
    with suppress(OSError, AttributeError):  # no space is left there, or it was closed
        sys.stderr.write(f"global-integers: {text}\n")
        sys.stderr.flush()


def _drop_output() -> None:
    """Let Python not write the rest when it ends, which would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _mint(integers: Integers, options: argparse.Namespace) -> int:
    if options.format is not None:
        _check_format(options.format)
    counter = integers[options.counter] if options.counter else integers
    minted = counter.take(options.n, key=options.key)
    shown = [str(integer) if options.format is None else options.format.format(integer) for integer in minted]
    print(json.dumps(minted if options.format is None else shown) if options.json else "\n".join(shown))
    return 0


def _check_format(text: str) -> None:
    """Check a format before anything is minted.

    Raises:
        ValueError: it doesn't show every integer as a whole.
    """
    try:
        fields = [(name, spec or "") for _, name, spec, _ in Formatter().parse(text) if name is not None]
        if not fields:
            raise ValueError("it doesn't show the integer")
        for name, spec in fields:
            if name not in ("", "0") or not SPECIFICATION.fullmatch(spec):
                raise ValueError(f"{{{name}{spec and ':'}{spec}}} is not possible")
        text.format(MAX_INTEGER)
    except (ValueError, IndexError) as error:
        raise ValueError(f"--format {text!r}: {error}; it should look like 'INV-{{:06d}}'") from None


def _owner(integers: Integers, options: argparse.Namespace) -> int:
    owner = integers.owner(options.integer, options.counter)
    if options.json:
        print(json.dumps(owner._asdict()))
        return 0
    minted = {True: "minted", False: "not minted", None: "not known whether minted"}[owner.minted]
    print(f"{owner.integer} of {owner.counter}: {owner.region}, offset {owner.offset} of {owner.stride}, {minted}")
    if owner.reason:
        print(f"why: {owner.reason}")
    return 0


def _create(integers: Integers, options: argparse.Namespace) -> int:
    created = integers.create(options.counter)
    text = f"{options.counter}: {'created' if created else 'exists'}"
    print(json.dumps({"counter": options.counter, "created": created}) if options.json else text)
    return 0


def _status(integers: Integers, options: argparse.Namespace) -> int:
    rows: list[Row] = []
    for region, health in integers.health().items():
        row: Row = {
            "region": region,
            "reachable": health.seconds is not None,
            "latency_ms": None if health.seconds is None else round(health.seconds * 1000, 1),
        }
        answer = run(integers.client.state.ask(region, api.status(options.counter or ""))) if row["reachable"] else None
        if isinstance(answer, Mapping):
            of_item = ("base", "position", "ceiling", "left", "epoch", "stride")
            names = ("ok", "counter", *of_item, "version", "pending", "regions")
            row |= {name: answer.get(name) for name in names} | {"reason": answer.get("reason", "")}
        else:
            row |= {"ok": False, "reason": answer.reason if answer is not None else health.reason}
            row |= {"hint": answer.hint} if answer is not None and answer.hint else {}
        rows.append(row)
    of_none: Row = {"reachable": None, "latency_ms": None, "ok": False, "reason": UNLISTED, "hint": api.OUTDATED}
    unlisted = _unlisted({row["region"]: row.get("regions") or [] for row in rows})
    rows += [{"region": region, **of_none} for region in unlisted]
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    print(json.dumps(rows) if options.json else _table(rows, colour=colour))
    return 0 if all(row["ok"] for row in rows) else 1


def _unlisted(layouts: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the regions that others name, but those that have left, and that aren't asked.

    Args:
        layouts: each region that is asked, with the regions that it names.
    """
    named = (names for region, names in layouts.items() if region in names)
    return [region for region in dict.fromkeys(chain.from_iterable(named)) if region not in layouts]


def _lines(cells: Sequence[Sequence[str]]) -> list[str]:
    """Return a table's lines: its heading, a rule, and its rows."""
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    rows = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells]
    return [rows[0], "  ".join("─" * width for width in widths), *rows[1:]]


def _table(found: list[Row], *, colour: bool) -> str:
    """Return rows as a table, in colour for a terminal. The reasons of regions that can't mint are below it."""
    lines = _lines([COLUMNS, *(_cells(row) for row in found)])
    if colour:
        lines[2:] = [
            f"\x1b[{32 if row['ok'] else 31}m{line}\x1b[0m" for row, line in zip(found, lines[2:], strict=True)
        ]
    lines += [f"{row['region']}: {row['reason']}" for row in found if row.get("reason")]
    return "\n".join([*lines, *dict.fromkeys(row["hint"] for row in found if row.get("hint"))])


def _cells(row: Row) -> tuple[str, ...]:
    def shown(name: str) -> str:
        return "-" if row.get(name) is None else str(row[name])

    states = {None: "no URL", False: "no response", True: "unhealthy"}
    state = "healthy" if row["ok"] else states[row["reachable"]]
    if row.get("pending"):
        state += ", pending"
    named = api.REGION.fullmatch(row["region"])  # else it is a domain on one machine, with a region behind it
    if named and row.get("regions") and row["region"] not in row["regions"]:
        state = "left"
    position = _position(row.get("position"), row.get("base"))
    latency = "-" if row["latency_ms"] is None else f"{row['latency_ms']:.0f} ms"
    left, epoch = shown("left"), shown("epoch")
    return (row["region"], state, latency, position, left, epoch, shown("counter"), shown("version"))


def _position(position: int | None, base: int | None) -> str:
    """Return the last integer of an epoch; before the first one, where it begins. `base`: None if it isn't known."""
    if position is None:
        return "-"
    least = base or 1
    return str(position) if position >= least else f"begins at {least}" if least > 1 else "none yet"


def _counters(integers: Integers, options: argparse.Namespace) -> int:
    """Print the counters, and how fast they are minted from if two looks are asked for."""
    client = integers.client
    try:
        names = [api.checked_counter(name) for name in options.counters] or names_of(client)
    except Refused as refused:
        _say(f"{refused}\nOr name those to show: global-integers counters <counter> …")
        return 1
    before = states = look(client, names)
    if options.rate is not None:
        sleep(options.rate)
        states = look(client, names)
    rates = [None if options.rate is None else now.rate(then) for now, then in zip(states, before, strict=True)]
    if options.json:
        print(json.dumps([_row(state, rate) for state, rate in zip(states, rates, strict=True)]))
    else:
        cells = [_counter_cells(state, rate) for state, rate in zip(states, rates, strict=True)]
        print(*_lines([("counter", "epoch", "position", "per second"), *cells]), *_reasons(states), sep="\n")
    return 1 if any(state.reasons for state in states) else 0


def _row(state: CounterState, rate: float | None) -> Row:
    def minted(position: int | None) -> int | None:
        """Return what was minted last in the epoch; None: nothing was. Then a position is below the base."""
        return None if position is None or position < state.base else position

    regions = {region: minted(position) for region, (position, _) in state.positions.items()}
    of_counter = {"counter": state.counter, "epoch": state.epoch, "base": state.base}
    of_counter |= {"position": minted(state.position)}
    of_counter |= {"rate": rate}
    return {**of_counter, "regions": regions, "reasons": state.reasons}


def _counter_cells(state: CounterState, rate: float | None) -> tuple[str, ...]:
    position = _position(state.position, state.base)
    return state.counter, str(state.epoch or "-"), position, "-" if rate is None else f"{rate:.1f}"


def _reasons(states: Sequence[CounterState]) -> list[str]:
    """Return why regions don't mint counters, each reason once, with all regions that gave it."""
    regions: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for state in states:
        for region, reason in state.reasons.items():
            regions[reason][region] = None
    return [f"{', '.join(names)}: {reason}" for reason, names in regions.items()]


def _check(integers: Integers, options: argparse.Namespace) -> int:
    """Mint from every region, which leaves small gaps, and print what is wrong with the responses.

    No two regions may mint the same integer. Each integer must be its region's own by offset and stride. A key must
    return its integer again. With `--above`, nothing is minted: see `_check_above`.
    """
    client = integers.client
    if options.above is None and (options.leases is not None or options.deleted):
        raise ValueError("--leases and --deleted need --above")
    if client.domain is not None and client.domain.alone:
        raise ValueError(f"{client.domain.name} has no names for its regions; give the regions' URLs instead")
    counters = [api.checked_counter(name) for name in options.counters] or [""]
    if options.above is not None:
        return _check_above(client, counters, options)
    run(client.state.locate(client.options.deadline()))
    found = _Check(client)
    for counter in counters:
        for region in client.state.regions.names:
            try:
                found.check_region(region, counter)
            except Unavailable as failed:
                found.wrong.append(f"{region}: {failed.reasons[region]}")
                found.hints += failed.hints
    for (_, epoch), strides in found.strides.items():
        if len(strides) > 1:
            found.wrong.append(f"epoch {epoch} has strides {sorted(strides)}: the URLs are of different stacks")
    for region in _unlisted(found.layouts):
        found.wrong.append(f"{region}: {UNLISTED}")
        found.hints.append(api.OUTDATED)
    minted = len(found.minted)
    problems = f"problems: {len(found.wrong)}" if found.wrong else "no problems"
    end = [*dict.fromkeys(found.hints), f"{minted} integers minted; {problems}"]
    return _checked(options, found.regions, found.wrong, end, minted=minted)


def _check_above(client: Client, counters: Sequence[str], options: argparse.Namespace) -> int:
    """Print whether nobody gets an integer up to `--above` any more. Wait for what may be leased, if that is enough."""
    findings = [find(client, counter, options.above, options.deleted) for counter in counters]
    wrong = [f"{found.counter}: {message}" for found in findings for message in found.wrong]
    hints = [hint for found in findings for hint in found.hints]
    minted = [found.counter for found in findings if found.minted]
    if minted and not wrong and options.leases is None:
        wrong = [f"{counter}: what was minted up to {options.above} before may still be leased" for counter in minted]
        hints = [UNKNOWN_LEASES]
    elif minted and not wrong:
        seconds = seconds_to_wait(options.leases)
        _say(f"waiting {seconds} s for calls that may be under way, and for what may be leased")
        sleep(seconds)
    ok = [f"{found.counter}: nobody gets an integer up to {options.above} any more" for found in findings]
    end = [*dict.fromkeys(hints), *([] if wrong else ok)]
    return _checked(options, [], wrong, end, above=options.above)


def _checked(
    options: argparse.Namespace, begin: Sequence[str], wrong: Sequence[str], end: Sequence[str], **members: int
) -> int:
    """Print what a check has found: lines, of which some say what is wrong, or JSON. Return the exit status."""
    if options.json:
        print(json.dumps({"ok": not wrong, **members, "wrong": wrong}))
    else:
        print(*begin, *(f"wrong: {message}" for message in wrong), *end, sep="\n")
    return 1 if wrong else 0


class _Check:
    """What a check has found: a line for each region that answered, what is wrong, and hints."""

    def __init__(self, client: Client) -> None:
        self.regions: list[str] = []
        self.wrong: list[str] = []
        self.hints: list[str] = []
        self.minted: dict[tuple[str, int], str] = {}
        """The region that minted an integer of a counter."""
        self.strides: defaultdict[tuple[str, int], set[int]] = defaultdict(set)
        """Those of each counter's epoch."""
        self.layouts = {region: list[str]() for region in client.state.regions.names}
        """The regions that each region names."""
        self._client = client

    def check_region(self, region: str, counter: str) -> None:
        key = f"check-{token_hex(8)}"
        first = self._ask(region, api.mint(counter, EACH))
        keyed = self._ask(region, api.mint(counter, 1, key))
        again = self._ask(region, api.mint(counter, 1, key))
        if again.first != keyed.first or not again.replayed:
            self.wrong.append(f"{region}: a repeated key returned {again.first} after {keyed.first}")
        name = first.counter
        self.layouts[region] = self._ask(region, api.regions(region, name))
        minted = (*first.integers(), keyed.first)
        for integer in minted:
            before = self.minted.get((name, integer))
            if before is not None:
                self.wrong.append(f"{region}: minted {integer}, which {before} has minted before")
            self.minted[name, integer] = region
        run(self._client.state.check(region))  # it may open the connection
        health = run(self._client.state.check(region))
        latency = "-" if health.seconds is None else f"{health.seconds * 1000:.0f} ms"
        self.regions.append(f"{region}: {', '.join(map(str, minted))}, stride {first.stride}, {latency}")
        if not health.ok:
            self.wrong.append(f"{region}: {health.reason or 'no response'}")
        if health.seconds is not None and health.seconds > SLOW:
            self.wrong.append(f"{region}: a health check takes {health.seconds:.1f} s")
        owner, _ = self._ask(region, api.owner(name, first.first))
        self.strides[name, owner.epoch].add(owner.stride)
        if owner.region != region:
            self.wrong.append(f"{region}: minted {first.first}, which belongs to {owner.region}")
        if first.stride != owner.stride or (first.first - owner.offset) % owner.stride:
            own = f"offset {owner.offset}, stride {owner.stride}"
            self.wrong.append(f"{region}: {first.first} with stride {first.stride} is not of {own}")

    def _ask(self, region: str, request: ApiRequest[T]) -> T:
        """Return a region's own answer, or raise `Unavailable`."""
        answer = run(self._client.state.ask(region, request))
        if isinstance(answer, Failure):
            raise Unavailable("", {region: f"{request.subject}: {answer.reason}"}, [answer.hint])
        return answer


def _integer(least: int, most: int) -> Callable[[str], int]:
    """Return what reads an option that is an integer from `least` to `most`."""

    def integer(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} is not an integer from {least} to {most}")
        return int(text)

    return integer


def _region(text: str) -> str:
    """Read an option that is the name of a region."""
    if not api.REGION.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not the name of an AWS region, such as eu-west-1")
    return text


def _seconds(text: str) -> int:
    """Read an option that is a number of seconds, up to an hour."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 3600:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds from 1 to 3,600")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    common.add_argument("--urls", metavar="URL|JSON|FILE", help=f"instead of {VARIABLE}")
    common.add_argument(
        "--prefer", metavar="REGION", help="ask this region as long as it is healthy (by default the nearest)"
    )
    common.add_argument("--timeout", type=float, metavar="SECONDS", help="for each call, except create (10)")
    common.add_argument(
        "--sign",
        action=argparse.BooleanOptionalAction,
        help="sign requests (by default those to *.on.aws, and to a domain that refuses unsigned ones)",
    )
    common.add_argument("-v", "--verbose", action="store_true", help="log which regions fail")
    parser = argparse.ArgumentParser(
        prog="global-integers",
        parents=[common],
        allow_abbrev=False,
        description="Unique integers from the nearest healthy region.",
        epilog=f"{VARIABLE} has the domain's URL (https://integers.example.com/), the regions' URLs as JSON, or the "
        "path of a file with the output of `pulumi stack output --json` or `.venv/bin/python -m local outputs --json`.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[Integers, argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text, parents=[common], allow_abbrev=False)
        added.add_argument("--json", action="store_true", help="print JSON, for scripts")
        added.set_defaults(run=run)
        return added

    mint = command("mint", _mint, "mint integers")
    mint.add_argument("counter", nargs="?", help="by default the stack's default counter")
    mint.add_argument("-n", type=_integer(1, 10_000_000), default=1, metavar="COUNT", help="how many (1)")
    mint.add_argument("--format", metavar="TEXT", help="such as 'INV-{:06d}'")
    mint.add_argument(
        "--key", help=f"an idempotency key: the same key returns the same integers; COUNT is at most {MAX_BLOCK:,}"
    )
    owner = command("owner", _owner, "say which region mints an integer, and whether it was minted")
    owner.add_argument("integer", type=_integer(1, MAX_INTEGER))
    owner.add_argument("counter", nargs="?", help="by default the stack's default counter")
    command("create", _create, "create a counter in every region").add_argument("counter")
    counters = command("counters", _counters, "list counters: epoch, largest integer so far, and integers per second")
    counters.add_argument("counters", nargs="*", metavar="counter", help="by default all, which needs openCounters")
    counters.add_argument("--rate", type=_seconds, metavar="SECONDS", help="measure the rate over so many seconds")
    counters.set_defaults(counter=None)
    status = command("status", _status, "show whether each region can mint, its latency, position and epoch")
    status.add_argument("counter", nargs="?", help="by default the stack's default counter")
    text = "mint a few integers from every region and check them; exit with 1 if anything is wrong"
    check = command("check", _check, text)
    check.add_argument("counters", nargs="*", metavar="counter", help="by default the stack's default counter")
    check.add_argument(
        "--above",
        type=_integer(0, MAX_INTEGER),
        metavar="N",
        help="mint nothing; exit with 0 only if nobody gets an integer up to N any more",
    )
    check.add_argument(
        "--leases",
        type=_integer(0, DAY),
        metavar="SECONDS",
        help="with --above: the longest lease_seconds of your clients, 0 if none leases; it waits so long",
    )
    check.add_argument(
        "--deleted",
        type=_region,
        action="append",
        default=[],
        metavar="REGION",
        help="with --above: a region that has left, and was deleted; may be repeated",
    )
    check.set_defaults(counter=None)
    return parser
