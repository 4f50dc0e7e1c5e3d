"""What a warm function has seen of its table. `exchanges/restored.txt` has what callers get then."""

import pytest
from coordinate.protocol.model import Item
from mint.model import WentBackwards
from mint.table import MAX_COUNTERS, UNSEEN, HighestSeen, RollbackGuard

from tests.lambda_.coordinator_calls import put_item
from tests.lambda_.fixtures import HOME, Ask, Stack


def test_a_restoration_is_logged_once(ask: Ask, stack: Stack, caplog: pytest.LogCaptureFixture) -> None:
    for issued in (10, 1):
        put_item(stack, HOME, Item(issued=issued, stride=3, ceiling=30_001, epoch=2))
        for path in ("/", "/?count=2", "/"):
            ask("POST", path, warm=True)

    (record,) = caplog.records
    assert record.levelname == "ERROR"
    assert "integers had issued 22 in epoch 2, and now 1 in epoch 2" in record.getMessage()


def test_an_answer_is_compared_with_what_was_seen_before() -> None:
    seen = RollbackGuard()

    def add(last: HighestSeen, before: int) -> None:
        seen.add("integers", last, HighestSeen(1, before), HighestSeen(1, before + 3))

    add(UNSEEN, 4)
    at_its_call = seen.last("integers")
    add(at_its_call, 10)  # overtook the other one
    add(at_its_call, 7)
    assert seen.last("integers") == HighestSeen(1, 13)
    with pytest.raises(WentBackwards):
        add(seen.last("integers"), 10)
    for before in (1, 7):  # of calls that were under way
        with pytest.raises(WentBackwards):
            add(at_its_call, before)
    assert (seen.refused("integers"), seen.findings) == (True, 1)


def test_a_function_remembers_all_that_are_refused() -> None:
    seen = RollbackGuard()
    with pytest.raises(WentBackwards):
        seen.add("lost", HighestSeen(1, 7), HighestSeen(1, 1), HighestSeen(1, 1))
    for n in range(MAX_COUNTERS + 50):
        seen.add(f"c{n}", UNSEEN, HighestSeen(1, 1), HighestSeen(1, 4))

    assert sum(seen.last(f"c{n}") != UNSEEN for n in range(MAX_COUNTERS + 50)) == MAX_COUNTERS - 1
    assert seen.refused("lost")
