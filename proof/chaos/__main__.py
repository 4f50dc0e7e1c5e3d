"""`make chaos`: mint through all URLs of all regions while everything fails that can fail, and look for duplicates."""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from random import Random
from threading import Event, Thread

from local.environment import isolate

from .clients import CLIENTS, ChaosClient, minting
from .events import EVENTS, Events
from .history import History
from .proxy import BY_CHANCE, mints
from .stack import COORDINATORS, COUNTERS, REGIONS, NotHealed, Stack, running_stack, wait_until

INTEGERS = 100_000
LONGEST = 3600
"""Seconds after which a run ends, whatever was minted."""

FAULTS = (*BY_CHANCE, "kills", "coordinator")
"""`kills` ends functions' processes; `coordinator` includes the coordinator's, and then healing takes longer."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run. Return 0 if no integer was handed out twice and enough were minted, else 1."""
    options = _options(arguments)
    seed = options.seed if options.seed is not None else Random().randrange(10**6)
    events, faults = (", ".join(names) or "none" for names in (options.events, options.faults))
    print(f"seed {seed}; {options.integers:,} integers; events: {events}; faults: {faults}", flush=True)
    by_chance = [name for name in BY_CHANCE if name in options.faults]
    history, stop, random = History(), Event(), Random(seed + 1)
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:5.0f} s  {history.integers:>9,} integers  {text}", flush=True)

    problems: list[str] = []
    with running_stack(Random(seed), by_chance, history, say) as stack:
        regions = list(REGIONS[: 4 if options.strict else 3])
        stack.deploy(regions=regions, lease=1)
        say(f"deployed: {', '.join(regions)}")
        events = Events(stack, random, stay=regions if options.strict else ())
        targets = [*product(regions, ("function", "gateway"))] if options.strict else [("", "")] * CLIENTS
        clients = [
            ChaosClient(history, COUNTERS, partial(stack.targets, *target), Random(seed + 2 + n), stop, options.pace)
            for n, target in enumerate(targets)
        ]
        share = COORDINATORS if "coordinator" in options.faults else 0
        killer = Thread(target=stack.kill_functions, args=(Random(seed), stop, share), daemon=True)
        try:
            with minting(clients, stop):
                if "kills" in options.faults:
                    killer.start()
                enough = False
                while not enough:  # rounds of all events, each in another order
                    for name in random.sample(options.events, len(options.events)):
                        events.happen(name)
                        time.sleep(random.uniform(0, 1))
                    time.sleep(0 if options.events else 1)
                    enough = history.integers >= options.integers or time.monotonic() - began > LONGEST
            stack.proxy.faults.clear()
            problems += _reconciled(stack)
        except NotHealed as failure:
            problems.append(f"not healed: {failure}")
    duplicates = _report(events, time.monotonic() - began)
    problems += events.problems + history.contradictions
    if history.integers < options.integers:
        problems.append(f"fewer than {options.integers:,} integers were minted")
    print(*problems, f"duplicates: {duplicates:,}", sep="\n")
    return 1 if duplicates or problems else 0


def _reconciled(stack: Stack) -> list[str]:
    """Return which URLs don't mint, now that nothing fails any more, or raise `NotHealed`."""
    stack.deploy()
    stack.reconcile()
    client = ChaosClient(History(), COUNTERS, stack.targets, Random(0), Event())

    def minted(url: str, counter: str) -> bool:
        return not isinstance(client.mint(url, counter, None, {}), str)

    return [
        f"not healed: {region} doesn't mint {counter} by {kind}"
        for (region, kind, url), counter in product(stack.targets(), COUNTERS)
        if not wait_until(partial(minted, url, counter), 20)
    ]


def _report(events: Events, seconds: float) -> int:
    """Print what happened. Return how many integers were handed out twice."""
    stack = events.stack
    history, proxy = stack.history, stack.proxy
    kinds = sum(history.failures.values(), Counter[str]())
    excepted = history.excepted(proxy.writes)
    duplicates = history.duplicates(excepted)
    sent = len(history.mints) + history.replays + kinds.total()
    print(
        f"ran: {seconds:.0f} s; deployments and runs of the coordinator that failed: {_counts(stack.failed)}",
        f"events: {_counts(events.happened)}",
        f"faults: {_counts(proxy.injected)}",
        f"requests: {sent:,}, of them {history.replays:,} repeated an Idempotency-Key and got the same",
        f"failures: {kinds.total():,}: {_counts(kinds)}",
        f"excepted: {excepted.total():,} integers minted in {len(history.restorations)} restored tables, each from its "
        "restoration to the end of the coordinator's next run that began after it "
        f"({len(history.repeated()) - len(duplicates):,} of them had been handed out before); nothing else is excepted",
        f"integers: {history.integers:,}",
        *by_region(events),
        *duplicates[:10],
        sep="\n",
    )
    return len(duplicates)


def by_region(events: Events) -> Iterator[str]:
    """Yield a table of the regions that stay. A failure in one that nothing has struck is a problem."""
    if events.stay:
        yield "| region | requests | failures | longest pause |\n|---|---|---|---|"
    for region in events.stay:
        kinds = events.stack.history.failures[region]
        minted, pause = events.stack.history.pauses(region)
        struck, failures = ", ".join(events.struck.get(region, ())), kinds.total()
        note = f" ({struck})" if struck else ""
        yield f"| {region}{note} | {minted + failures:,} | {failures:,} | {pause:.1f} s |"
        late = sum(call.scope[0] == region and mints(call) for call in events.stack.proxy.given_up)
        if late and not struck:
            yield f"{region}: the machine was so busy that {late:,} mints had given up when DynamoDB answered"
        if failures > late and not struck:
            events.problems.append(f"{region}: nothing struck it, but clients saw failures: {_counts(kinds)}")


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in sorted(counts.items())) or "none"


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m proof.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, help="seed of all random choices (default: another one each time)")
    parser.add_argument("--integers", type=int, default=INTEGERS, help="mint at least this many (default: %(default)s)")
    parser.add_argument("--pace", type=float, default=0.0, help="seconds between a client's requests (default: 0)")
    parser.add_argument(
        "--strict",
        action="store_true",
        help="four regions that stay, a client for each URL, and no failure where no event strikes "
        "(not for `leaving`, nor for faults that take longer than a client waits)",
    )
    for option, names in (("--events", EVENTS), ("--faults", FAULTS)):
        parser.add_argument(option, nargs="*", choices=names, default=names, help="only these (default: all)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    isolate()
    sys.exit(main())
