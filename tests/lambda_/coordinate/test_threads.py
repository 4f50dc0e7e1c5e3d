"""A run is driven with threads: what happens at the same time, and what a refusal stops."""

from collections.abc import Iterable
from threading import Barrier, Event
from typing import Any

import pytest
from aws_client.service import KEPT
from coordinate.handler import CALLS, COUNTERS, drive
from coordinate.protocol.model import Refused
from coordinate.protocol.operations import CarryOut, Operation, Parallel, ReadItem, ReadRegister, Steps

from components.settings.aws_regions import partitions

SECONDS = 60  # nothing waits for their end


def settling(counter: str, batches: int = 1) -> Steps[str]:
    """Read the register so many times."""
    for _ in range(batches):
        assert (yield [ReadRegister(counter)]) == [f"answer for {counter}"]
    return counter


def refused(counter: str) -> Steps[str]:
    yield [ReadRegister(counter)]
    raise Refused(f"{counter} is refused")


def answer(operation: Operation) -> str:
    assert isinstance(operation, ReadRegister)
    return f"answer for {operation.counter}"


def drive_all(parts: Iterable[Steps[str]], carry_out: CarryOut) -> list[str]:
    """Return what the parts return, or why they were refused."""

    def whole() -> Steps[list[Any]]:
        return list((yield Parallel(parts)))

    return [str(found) for found in drive(whole(), carry_out)]


def test_the_results_are_in_the_order_of_the_counters() -> None:
    names = [f"c{number}" for number in range(3 * COUNTERS)]

    assert drive_all([settling(name, 1 + number % 3) for number, name in enumerate(names)], answer) == names


def test_a_counter_that_is_refused_does_not_keep_others() -> None:
    found = drive_all([settling("a"), refused("b"), settling("c"), refused("d")], answer)

    assert found == ["a", "b is refused", "c", "d is refused"]


def test_a_call_that_is_refused_refuses_its_counter_only() -> None:
    def unreachable(operation: Operation) -> str:
        if operation == ReadRegister("b"):
            raise Refused("can't be reached")
        return answer(operation)

    stopped = settling("b")

    assert drive_all([settling("a"), stopped, settling("c")], unreachable) == ["a", "can't be reached", "c"]
    assert next(stopped, "closed") == "closed"


def test_without_counters_nothing_is_called() -> None:
    assert drive_all([], answer) == []


def test_an_unexpected_exception_surfaces() -> None:
    def broken(operation: Operation) -> str:
        if operation == ReadRegister("b"):
            raise ZeroDivisionError
        return answer(operation)

    with pytest.raises(ZeroDivisionError):
        drive_all([settling("a"), settling("b"), settling("c")], broken)


def test_an_empty_batch_is_answered_with_nothing() -> None:
    def empty() -> Steps[str]:
        assert (yield []) == []
        return "a"

    assert drive_all([empty()], answer) == ["a"]


def test_the_calls_of_a_batch_happen_at_the_same_time() -> None:
    together = Barrier(10)

    def wait(operation: Operation) -> str:
        together.wait(SECONDS)
        return operation.region if isinstance(operation, ReadItem) else ""

    regions = [f"r{number}" for number in range(10)]

    def batch() -> Steps[str]:
        assert (yield [ReadItem(region, "a") for region in regions]) == regions
        return "a"

    assert drive_all([batch()], wait) == ["a"]


def test_the_calls_of_all_counters_happen_at_the_same_time() -> None:
    together = Barrier(COUNTERS)

    def wait(operation: Operation) -> str:
        together.wait(SECONDS)
        return answer(operation)

    assert len(drive_all([settling(f"c{number}") for number in range(COUNTERS)], wait)) == COUNTERS <= CALLS


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

    parts = [settling("slow"), *(settling(f"c{number}") for number in range(others))]
    assert len(drive_all(parts, slow)) == others + 1


def test_one_generator_is_driven_to_its_end() -> None:
    def reading() -> Steps[str]:
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
    assert next(stopped, "closed") == "closed"


def test_no_run_opens_more_files_than_a_function_may() -> None:
    """A connection is a file: those that are kept, and one for each thread, which may be a further one."""
    regions = [region for region, partition in partitions().items() if partition == "aws"]

    assert KEPT * len(regions) + CALLS + COUNTERS <= 1024 - 100, "Lambda quotas: 1,024 file descriptors"
