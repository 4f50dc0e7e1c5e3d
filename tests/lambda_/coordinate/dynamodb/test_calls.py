"""Answers that threads share, and the condition by which one record replaces another."""

from concurrent.futures import ThreadPoolExecutor
from threading import Condition, Event, Lock

import pytest
from coordinate.dynamodb.calls import Shared
from coordinate.dynamodb.store import replacement
from coordinate.protocol.model import Admitted, Claim

from global_integers_core.records import ADMITTED_KEY

SECONDS = 60  # nothing waits for their end


class Calls:
    """Calls that are counted when they begin, and end when they are let."""

    def __init__(self) -> None:
        self.begun = 0
        self.first = Event()
        self.go_on = Event()
        self._lock = Lock()

    def __call__(self) -> int:
        with self._lock:
            self.begun += 1
            number = self.begun
        self.first.set()
        assert self.go_on.wait(SECONDS)
        return number


def test_an_answer_serves_those_who_asked_before_its_call() -> None:
    calls = Calls()
    shared = Shared(calls)
    with ThreadPoolExecutor(9) as pool:
        early = pool.submit(shared.ask)
        assert calls.first.wait(SECONDS)  # its call is under way
        late = [pool.submit(shared.ask) for _ in range(8)]
        assert calls.begun == 1, "the late ones wait"
        calls.go_on.set()

        assert early.result(SECONDS) == 1
        assert min(future.result(SECONDS) for future in late) >= 2


class Counted:
    """Numbers, of which a test waits until so many were taken."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._taken = 0

    def __iter__(self) -> "Counted":
        return self

    def __next__(self) -> int:
        with self._changed:
            self._taken += 1
            self._changed.notify_all()
            return self._taken

    def wait_for(self, times: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self._taken >= times, SECONDS)


def test_threads_that_ask_together_share_a_call() -> None:
    calls, asked = Calls(), Counted()
    shared = Shared(calls, asked)
    with ThreadPoolExecutor(33) as pool:
        first = pool.submit(shared.ask)
        assert calls.first.wait(SECONDS)
        rest = [pool.submit(shared.ask) for _ in range(32)]
        asked.wait_for(2 + 32)  # the first one's question and the beginning of its call, and all other questions
        calls.go_on.set()

        assert first.result(SECONDS) == 1
        assert {future.result(SECONDS) for future in rest} == {2}


@pytest.mark.parametrize("failure", [ZeroDivisionError, SystemExit])
def test_an_error_is_everybodys_and_only_of_one_call(failure: type[BaseException]) -> None:
    answers = iter([failure(), 7])

    def call() -> int:
        answer = next(answers)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    shared = Shared(call, iter([1, 3, 2, 4, 5]))
    with pytest.raises(failure):
        shared.ask()
    with pytest.raises(failure):
        shared.ask()  # this question came before the call began
    assert shared.ask() == 7


KEY = {"counter": {"S": ADMITTED_KEY}}
NEW, ITEM = Admitted("id", "b"), {**KEY, "layoutsId": {"S": "id"}, "token": {"S": "b"}}


def test_what_was_not_there_must_still_not_be_there() -> None:
    assert replacement("t", None, NEW) == {
        "TableName": "t",
        "Item": ITEM,
        "ConditionExpression": "attribute_not_exists(#counter)",
        "ExpressionAttributeNames": {"#counter": "counter"},
    }


def test_a_replacement_compares_every_attribute() -> None:
    assert replacement("t", Claim("r", token="a"), NEW) == {
        "TableName": "t",
        "Item": ITEM,
        "ConditionExpression": "#home = :home AND #token = :token AND attribute_not_exists(#layoutsId)",
        "ExpressionAttributeNames": {"#home": "home", "#token": "token", "#layoutsId": "layoutsId"},
        "ExpressionAttributeValues": {":home": {"S": "r"}, ":token": {"S": "a"}},
    }
