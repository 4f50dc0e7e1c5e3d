"""Which variables a suspended generator may still read."""

from collections.abc import Generator
from typing import Any

import pytest

from simulation.live import live

Steps = Generator[int, int, Any]


def overwritten(kept: int) -> Steps:
    found = kept
    yield 1
    found = 2
    return found


def read_later(kept: int) -> Steps:
    answer = yield 1
    return answer + kept


def read_on_one_way(kept: int, other: int) -> Steps:
    answer = yield 1
    if answer:
        return kept
    return other


def read_in_the_next_turn(kept: int) -> Steps:
    while True:
        answer = yield kept
        kept += answer


def in_a_loop(numbers: list[int], kept: int) -> Steps:
    for number in numbers:
        yield kept + number
    return None


def read_by_a_handler(kept: int) -> Steps:
    try:
        yield 1
    except ValueError:
        return kept
    return None


def read_by_a_function(kept: int) -> Steps:
    def later() -> int:
        return kept

    yield 1
    return later


def read_by_a_comprehension(kept: list[int]) -> Steps:
    yield 1
    return [each + 1 for each in kept]


def read_before_it_is_suspended(kept: int) -> Steps:
    kept += yield 1
    return kept


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (overwritten(1), ""),
        (read_later(1), "kept"),
        (read_on_one_way(1, 2), "kept other"),
        (read_in_the_next_turn(1), "kept"),
        (in_a_loop([1], 2), "kept number numbers"),
        (read_by_a_handler(1), "kept"),
        (read_by_a_function(1), "kept later"),
        (read_by_a_comprehension([1]), "kept"),
        (read_before_it_is_suspended(1), "kept"),
    ],
    ids=lambda value: "" if isinstance(value, str) else value.__name__,
)
def test_what_may_still_be_read_is_live(steps: Any, expected: str) -> None:
    next(steps)

    found = live(steps.gi_code, steps.gi_frame.f_lasti) - {"each"}  # Python 3.12 and later count it, without need
    assert " ".join(sorted(found)) == expected
