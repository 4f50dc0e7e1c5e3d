"""A run is driven with threads: what happens at the same time, and what a refusal stops."""

from collections.abc import Iterable
from threading import Barrier, Event
from typing import Any

import pytest
from aws_client.service import KEPT
from coordinate.handler import CALLS, COUNTERS, drive
from coordinate.protocol.model import Refused
from coordinate.protocol.operations import CarryOut, Operation, Parallel, ReadRegister, Steps

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


def test_what_is_refused_refuses_its_counter_only() -> None:
    """The results are in the order of the counters."""

    def unreachable(operation: Operation) -> str:
        if operation == ReadRegister("c"):
            raise Refused("can't be reached")
        return answer(operation)

    stopped = settling("c")
    many = [f"d{number}" for number in range(3 * COUNTERS)]
    parts = [settling("a"), refused("b"), stopped, *(settling(name, 1 + n % 3) for n, name in enumerate(many))]

    assert drive_all(parts, unreachable) == ["a", "b is refused", "can't be reached", *many]
    assert next(stopped, "closed") == "closed"


@pytest.mark.parametrize("raised", [ZeroDivisionError, Refused])
def test_an_unexpected_error_or_one_of_the_whole_run_surfaces(raised: type[Exception]) -> None:
    def broken(operation: Operation) -> str:
        if operation == ReadRegister("b"):
            raise raised
        return answer(operation)

    stopped = settling("b")
    with pytest.raises(raised):
        drive(stopped, broken) if raised is Refused else drive_all([settling("a"), stopped], broken)
    assert next(stopped, "closed") == "closed"


def test_calls_of_a_batch_and_of_all_counters_run_together() -> None:
    together, names = Barrier(COUNTERS), [f"c{number}" for number in range(COUNTERS)]

    def wait(operation: Operation) -> str:
        together.wait(SECONDS)
        return answer(operation)

    def batch() -> Steps[list[str]]:
        return [*(yield [ReadRegister(name) for name in names])]

    assert drive(batch(), wait) == [answer(ReadRegister(name)) for name in names]
    assert drive_all([settling(name) for name in names], wait) == names
    assert COUNTERS <= CALLS


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


def test_no_run_opens_more_files_than_a_function_may() -> None:
    """A connection is a file: those that are kept, and one for each thread, which may be a further one."""
    regions = [region for region, partition in partitions().items() if partition == "aws"]

    assert KEPT * len(regions) + CALLS + COUNTERS <= 1024 - 100, "Lambda quotas: 1,024 file descriptors"
