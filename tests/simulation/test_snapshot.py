"""Runs with equal snapshots go on alike, whatever came before."""

from collections import defaultdict
from collections.abc import Generator
from random import Random
from typing import Any

import pytest

from simulation.interleavings import AFTER, joining
from simulation.snapshot import snapshot
from simulation.turns import Answers, Run, run_after

WALKS = 60


def adding(total: int, more: list[int]) -> Generator[int, int, int]:
    for number in more:
        total += yield number
    total += yield from waiting()
    return total


def waiting() -> Generator[int, int, int]:
    answer = yield 0
    return answer


def looking_again(first: int) -> Generator[int, int, int]:
    for number in range(first, first + 3):
        found = yield number
        if found > 10:
            return found
    return 0


def sent(generator: Generator[int, int, int], *answers: int) -> Generator[int, int, int]:
    next(generator)
    for answer in answers:
        generator.send(answer)
    return generator


def test_runs_that_come_to_the_same_are_equal() -> None:
    assert snapshot(sent(adding(0, [7, 8]), 5)) == snapshot(sent(adding(2, [7, 8]), 3))


@pytest.mark.parametrize(
    "other",
    [sent(adding(0, [7, 8])), sent(adding(0, [7, 8]), 6), sent(adding(0, [7, 9]), 5), sent(adding(0, [7, 8]), 5, 0)],
    ids=["another place", "another value", "another list", "a delegate"],
)
def test_runs_that_differ_are_not_equal(other: Generator[int, int, int]) -> None:
    assert snapshot(sent(adding(0, [7, 8]), 5)) != snapshot(other)


def test_what_is_not_read_again_makes_no_difference() -> None:
    assert snapshot(sent(looking_again(0), 5)) == snapshot(sent(looking_again(0), 6))
    assert snapshot(sent(looking_again(0), 5)) != snapshot(sent(looking_again(1), 5))


def test_a_delegate_is_part_of_it() -> None:
    assert len(snapshot(sent(adding(0, [])))) == 2


def test_a_generator_that_has_ended_stands_nowhere() -> None:
    generator = adding(0, [])
    generator.close()

    with pytest.raises(ValueError, match="has ended"):
        snapshot(generator)


def test_coordinators_with_equal_snapshots_go_on_alike() -> None:
    histories: dict[Run, dict[Answers, tuple[Any, ...]]] = defaultdict(dict)
    for seed in range(WALKS):
        for run, given in walk(Random(seed)):
            histories[run][run.answers] = given

    met = {run: after for run, after in histories.items() if len(after) > 1}
    assert len(met) > 30, "hardly any runs with different histories met: this shows nothing"
    for run, after in met.items():
        for given in set(after.values()):
            successors = [Run(run.name, (*answers, given)) for answers in after]
            assert {successor.key for successor in successors} == {successors[0].key}
            assert {successor.batch for successor in successors} == {successors[0].batch}


def walk(random: Random) -> list[tuple[Run, tuple[Any, ...]]]:
    """Let two coordinators add a region. Return each with what it was answered next, batch by batch."""
    world = joining()
    runs = [run_after("one", ()), run_after("two", ())]
    steps: list[tuple[Run, tuple[Any, ...]]] = []
    while runs:
        if random.random() < 0.3:
            world.mint(random.choice(AFTER))
        if random.random() < 0.05:
            world.away ^= {random.choice(AFTER)}
        if random.random() < 0.02:
            world.lose(random.choice(AFTER), "recreated", random)
        run = runs.pop(random.randrange(len(runs)))
        if run.batch:
            given = tuple(world.carry_out(operation) for operation in run.batch)
            steps.append((run, given))
            runs.append(run_after(run.name, (*run.answers, given)))
    return steps
