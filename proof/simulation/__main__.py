"""Searches every combination of losses, and random schedules: `python -m proof.simulation`, or `make search`."""

import argparse
from collections.abc import Generator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from random import Random, SystemRandom

from .losses import Losses, all_losses, outcome
from .schedule import RandomSchedule

CHUNK = 50
"""Schedules that a process runs before it reports."""


@contextmanager
def failing_as(what: str) -> Generator[None]:
    """Say in a failure what repeats it."""
    try:
        yield
    except AssertionError as error:
        error.add_note(what)
        raise


def search(first: int, losses: int) -> int:
    """Run `CHUNK` schedules. Return how many integers they minted."""
    minted = 0
    for seed in range(first, first + CHUNK):
        with failing_as(f"RandomSchedule({seed}, losses={losses}).run()"):
            minted += len(RandomSchedule(seed, losses=losses).run().minted)
    return minted


def lose(losses: Losses) -> None:
    """Lose this, and do what the refusals say."""
    with failing_as(f"outcome({losses})"):
        outcome(losses)


def main() -> None:
    """Search, and exit with 1 if something failed: the rest isn't run then."""
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
        list(pool.map(lose, cells, chunksize=CHUNK))
        print(f"{len(cells):,} combinations of losses, no duplicate, all reconciled")
        firsts = [arguments.first + CHUNK * chunk for chunk in range(chunks)]
        for done, minted in enumerate(pool.map(search, firsts, (1 + n % 3 for n in range(chunks))), 1):
            total += minted
            print(f"\r{done * CHUNK} schedules, {total:,} integers, no duplicate, all reconciled", end="", flush=True)
    print()


if __name__ == "__main__":
    main()
