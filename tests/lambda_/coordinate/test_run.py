"""Many counters at once: refusals, the time limit, and calls at the same time."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from threading import Barrier, Event
from typing import Any

import pytest
from coordinate.model import Refused
from coordinate.operations import Operation, ReadItem, ReadRegister
from coordinate.protocol import Outcome
from coordinate.run import CALLS, COUNTERS, drive, settle_all

from tests.lambda_.coordinate.made_up import register

Settling = Generator[Sequence[Operation], Sequence[Any], Outcome]
SECONDS = 60  # nothing waits for their end


def outcome(counter: str) -> Outcome:
    return Outcome(replace(register("a"), counter=counter), ())


def settling(counter: str, batches: int = 1) -> Settling:
    """Read the register so many times."""
    for _ in range(batches):
        assert (yield [ReadRegister(counter)]) == [f"answer for {counter}"]
    return outcome(counter)


def refused(counter: str) -> Settling:
    yield [ReadRegister(counter)]
    raise Refused(f"{counter} is refused")


def answer(operation: Operation) -> str:
    assert isinstance(operation, ReadRegister)
    return f"answer for {operation.counter}"


def always() -> bool:
    return True


def allowed(times: int) -> Callable[[], bool]:
    """Return a `may_start` that says yes so many times."""
    left = iter([True] * times)
    return lambda: next(left, False)


def test_outcomes_are_returned_in_the_order_of_the_counters() -> None:
    names = [f"c{number}" for number in range(3 * COUNTERS)]
    settlings = [settling(name, batches=1 + number % 3) for number, name in enumerate(names)]

    outcomes, refusals, all_begun = settle_all(settlings, answer, always)

    assert [found.register.counter for found in outcomes] == names
    assert (refusals, all_begun) == ([], True)


def test_a_counter_that_is_refused_does_not_keep_others() -> None:
    settlings = [settling("a"), refused("b"), settling("c"), refused("d")]

    outcomes, refusals, all_begun = settle_all(settlings, answer, always)

    assert [found.register.counter for found in outcomes] == ["a", "c"]
    assert [str(refusal) for refusal in refusals] == ["b is refused", "d is refused"]
    assert all_begun


def test_a_call_that_is_refused_refuses_its_counter_only() -> None:
    def unreachable(operation: Operation) -> str:
        if operation == ReadRegister("b"):
            raise Refused("can't be reached")
        return answer(operation)

    stopped = settling("b")
    outcomes, refusals, _ = settle_all([settling("a"), stopped, settling("c")], unreachable, always)

    assert [found.register.counter for found in outcomes] == ["a", "c"]
    assert [str(refusal) for refusal in refusals] == ["can't be reached"]
    assert stopped.gi_frame is None, "it is closed"  # pyright: ignore[reportAttributeAccessIssue]


def test_when_time_is_short_what_was_begun_is_finished() -> None:
    calls: list[Operation] = []

    def recorded(operation: Operation) -> str:
        calls.append(operation)
        return answer(operation)

    settlings = [settling(f"c{number}", batches=3) for number in range(100)]
    outcomes, refusals, all_begun = settle_all(settlings, recorded, allowed(7))

    assert len(outcomes) == 7
    assert {call.counter for call in calls if isinstance(call, ReadRegister)} == {
        found.register.counter for found in outcomes
    }
    assert (refusals, all_begun) == ([], False)


def test_nothing_is_begun_without_time() -> None:
    assert settle_all([settling("a"), settling("b")], answer, allowed(0)) == ([], [], False)


def test_without_counters_all_are_begun() -> None:
    assert settle_all([], answer, allowed(0)) == ([], [], True)


def test_an_unexpected_exception_surfaces() -> None:
    def broken(operation: Operation) -> str:
        if operation == ReadRegister("b"):
            raise ZeroDivisionError
        return answer(operation)

    with pytest.raises(ZeroDivisionError):
        settle_all([settling("a"), settling("b"), settling("c")], broken, always)


def test_an_empty_batch_is_answered_with_nothing() -> None:
    def empty() -> Settling:
        assert (yield []) == []
        return outcome("a")

    assert settle_all([empty()], answer, always) == ([outcome("a")], [], True)


def test_the_calls_of_a_batch_happen_at_the_same_time() -> None:
    together = Barrier(10)

    def wait(operation: Operation) -> str:
        together.wait(SECONDS)
        return operation.region if isinstance(operation, ReadItem) else ""

    regions = [f"r{number}" for number in range(10)]

    def batch() -> Settling:
        assert (yield [ReadItem(region, "a") for region in regions]) == regions
        return outcome("a")

    assert settle_all([batch()], wait, always)[0] == [outcome("a")]


def test_the_calls_of_all_counters_happen_at_the_same_time() -> None:
    together = Barrier(COUNTERS)

    def wait(operation: Operation) -> str:
        together.wait(SECONDS)
        return answer(operation)

    outcomes, _, _ = settle_all([settling(f"c{number}") for number in range(COUNTERS)], wait, always)

    assert len(outcomes) == COUNTERS <= CALLS


def test_a_slow_counter_does_not_hold_up_others() -> None:
    others = 2 * COUNTERS
    done: list[str] = []
    all_others = Event()

    def slow(operation: Operation) -> str:
        if operation == ReadRegister("slow"):
            assert all_others.wait(SECONDS), "the others wait for the slow one"
        else:
            done.append(answer(operation))
            if len(done) == others:
                all_others.set()
        return answer(operation)

    settlings = [settling("slow"), *(settling(f"c{number}") for number in range(others))]
    assert len(settle_all(settlings, slow, always)[0]) == others + 1


def test_one_generator_is_driven_to_its_end() -> None:
    def reading() -> Generator[Sequence[Operation], Sequence[Any], str]:
        found = yield [ReadRegister("a"), ReadRegister("b")]
        (last,) = yield [ReadRegister("c")]
        return ", ".join([*found, last])

    assert drive(reading(), answer) == "answer for a, answer for b, answer for c"


def test_a_generator_is_closed_if_a_call_is_refused() -> None:
    def unreachable(_: Operation) -> str:
        raise Refused("can't be reached")

    stopped = settling("a")
    with pytest.raises(Refused, match="can't be reached"):
        drive(stopped, unreachable)
    assert stopped.gi_frame is None, "it is closed"  # pyright: ignore[reportAttributeAccessIssue]
