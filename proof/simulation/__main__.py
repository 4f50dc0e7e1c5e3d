"""Searches every combination of losses, and random schedules: `python -m proof.simulation`, or `make search`."""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from random import Random, SystemRandom

from .losses import Losses, all_losses, outcome
from .schedule import RandomSchedule

CHUNK = 50
"""Schedules that a process runs before it reports."""


def search(first: int, losses: int) -> tuple[int, str | None]:
    """Run `CHUNK` schedules. Return how many integers they minted, and what went wrong in the first that failed."""
    minted = 0
    for seed in range(first, first + CHUNK):
        try:
            minted += len(RandomSchedule(seed, losses=losses).run().minted)
        except AssertionError as error:
            return minted, f"RandomSchedule({seed}, losses={losses}).run(): {type(error).__name__}: {error}"
    return minted, None


def lose(losses: Losses) -> str | None:
    """Return what went wrong after these losses."""
    try:
        outcome(losses)
    except AssertionError as error:
        return f"outcome({losses}): {type(error).__name__}: {error}"
    return None


def main() -> None:
    """Search, and exit with 1 if something failed."""
    parser = argparse.ArgumentParser(prog="python -m proof.simulation", description=__doc__)
    parser.add_argument("--schedules", type=int, default=100_000, help="how many (100000)")
    parser.add_argument("--losses", type=int, help="how many combinations of losses (all)")
    parser.add_argument("--first", type=int, default=SystemRandom().randrange(2**40), help="the first seed (random)")
    arguments = parser.parse_args()
    chunks = -(-arguments.schedules // CHUNK)
    total, cells = 0, [*all_losses()]
    cells = Random(arguments.first).sample(cells, len(cells) if arguments.losses is None else arguments.losses)
    print(f"{chunks * CHUNK} schedules from seed {arguments.first}; one, two or three tables may be lost, {CHUNK} each")
    with ProcessPoolExecutor() as pool:
        for wrong in filter(None, pool.map(lose, cells, chunksize=CHUNK)):
            pool.shutdown(cancel_futures=True)
            sys.exit(f"\n{wrong}")
        print(f"{len(cells):,} combinations of losses, no duplicate, all reconciled")
        firsts = [arguments.first + CHUNK * chunk for chunk in range(chunks)]
        for done, (minted, wrong) in zip(count(1), pool.map(search, firsts, (1 + n % 3 for n in range(chunks)))):
            total += minted
            if wrong is not None:
                pool.shutdown(cancel_futures=True)
                sys.exit(f"\n{wrong}")
            print(f"\r{done * CHUNK} schedules, {total:,} integers, no duplicate, all reconciled", end="", flush=True)
    print()


if __name__ == "__main__":
    main()
