"""Answers that threads share."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Event
from typing import Any

import pytest
from coordinate.dynamodb.calls import Shared

SECONDS = 60  # nothing waits for their end


def test_an_answer_serves_those_who_asked_before_its_call() -> None:
    numbers, first, go_on = count(1), Event(), Event()

    def call() -> int:
        number = next(numbers)
        first.set()
        assert go_on.wait(SECONDS)
        return number

    shared = Shared(call)
    with ThreadPoolExecutor(9) as pool:
        early = pool.submit(shared.ask)
        assert first.wait(SECONDS)  # its call is under way
        late = [pool.submit(shared.ask) for _ in range(8)]
        assert next(numbers) == 2, "the late ones wait"
        go_on.set()

        assert early.result(SECONDS) == 1
        assert min(future.result(SECONDS) for future in late) >= 3


@pytest.mark.parametrize("failure", [ZeroDivisionError, SystemExit])
def test_an_error_is_everybodys_and_only_of_one_call(failure: type[BaseException]) -> None:
    answers: Iterator[Any] = iter([failure(), 7])

    def call() -> Any:
        answer = next(answers)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    shared = Shared(call, iter([1, 3, 2, 4, 6, 5]))
    for _ in range(2):  # the second question, 2, came before the call began, 3
        with pytest.raises(failure):
            shared.ask()
    assert [shared.ask() for _ in range(2)] == [7, 7], "threads that ask together share a call"
