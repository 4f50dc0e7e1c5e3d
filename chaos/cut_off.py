"""`python -m chaos.cut_off`: a table lost, the layouts table lost, then a region cut off while regions change.

Clients mint in every region all the time. It prints what they saw, region by region, and exits 1 if a client saw a
failure in a region that lost nothing and wasn't cut off, or if an integer was handed out twice.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from random import Random
from threading import Event

from .clients import ChaosClient, minting
from .events import Events
from .history import History
from .proxy import Faults
from .stack import COUNTERS, HOME, NotHealed, running_stack

BEFORE = [HOME, "eu-west-1", "ap-southeast-2", "us-west-2"]
AFTER = ["us-west-2", HOME, "ap-southeast-2", "eu-west-1", "sa-east-1"]
LOSES, CUT_OFF = "eu-west-1", "ap-southeast-2"
QUIET = 3.0
"""Seconds between two steps."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run. Return 0 if the other regions' clients saw no failure and no integer was handed out twice, else 1."""
    parser = argparse.ArgumentParser(prog="python -m chaos.cut_off", description=__doc__)
    parser.add_argument("--quiet", type=float, default=QUIET, help="seconds between two steps (default: %(default)s)")
    parser.add_argument("--pace", type=float, default=0.0, help="seconds between a client's requests (default: 0)")
    options = parser.parse_args(arguments)
    stop, whole, problems = Event(), History(), list[str]()
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:5.0f} s  {text}", flush=True)

    with running_stack(Faults(Random(0), cuts=0, throttles=0, delays=0), whole, say) as stack:
        events = Events(stack, Random(0))
        stack.deploy(regions=BEFORE)
        say(f"deployed: {', '.join(BEFORE)}")
        clients = {
            (region, kind): ChaosClient(
                History(), COUNTERS, partial(stack.doors, region, kind), Random(n), stop, options.pace
            )
            for n, region in enumerate(BEFORE)
            for kind in ("function", "gateway")
        }
        with minting([*clients.values()], stop):
            try:
                time.sleep(options.quiet)
                events.lost_table(LOSES)
                time.sleep(options.quiet)
                events.lost_layouts()
                time.sleep(options.quiet)
                events.cut_off(CUT_OFF, AFTER)
                time.sleep(options.quiet)
            except NotHealed as failure:
                problems.append(f"not healed: {failure}")
    for client in clients.values():
        whole.mints += client.history.mints
    print("| region | requests | failures | longest pause |", "|---|---|---|---|", sep="\n")
    for region in BEFORE:
        own = [client.history for (place, _), client in clients.items() if place == region]
        failures = sum(history.failures.total() for history in own)
        note = {LOSES: " (lost its table)", CUT_OFF: " (cut off)"}.get(region, "")
        pause = max(_longest_pause(history) for history in own)
        print(f"| {region}{note} | {sum(history.requests for history in own):,} | {failures:,} | {pause:.1f} s |")
        if failures and not note:
            kinds = sum((history.failures for history in own), type(own[0].failures)())
            problems.append(f"{region}: clients saw failures: {dict(kinds)}")
    duplicates = len(whole.duplicates(whole.excepted(stack.proxy.writes)))
    print(*problems, f"duplicates: {duplicates:,}", sep="\n")
    return 1 if duplicates or problems else 0


def _longest_pause(history: History) -> float:
    """Return the longest time between two successful requests of one client, in seconds."""
    moments = [mint.ended for mint in history.mints]
    return max((following - moment for moment, following in pairwise(moments)), default=0)


if __name__ == "__main__":
    sys.exit(main())
