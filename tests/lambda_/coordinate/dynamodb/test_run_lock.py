"""The run lock: one scheduled run at a time, until the lock expires, is taken over or given back."""

import pytest
from aws_client.service import DynamoDB
from coordinate.dynamodb.run_lock import CHECK_SECONDS, SECONDS, RunLock

from global_integers_core.records import RUN_LOCK_KEY
from tests.lambda_.coordinator_calls import HOME
from tests.lambda_.fixtures import Stack
from tests.lambda_.table_losses import everything

NOW = 1_795_000_000


class Locks:
    """The run lock as two runs see it, and a clock that stands until it is set."""

    def __init__(self, stack: Stack) -> None:
        self.now = float(NOW)
        self.one, self.other = (
            RunLock(DynamoDB(HOME), stack.layouts, name, lambda: self.now) for name in ("one", "other")
        )


@pytest.fixture
def locks(stack: Stack) -> Locks:
    return Locks(stack)


def test_one_run_has_it_until_it_gives_it_back(stack: Stack, locks: Locks) -> None:
    one, other = locks.one, locks.other

    assert (one.take(), other.take()) == (True, False)
    assert [found["counter"]["S"] for found in everything(stack)["layouts"]] == [RUN_LOCK_KEY]
    other.give_back()
    assert not other.take(), "only the holder can give it back"
    one.give_back()
    assert other.take()
    other.give_back()
    assert everything(stack)["layouts"] == []


def test_it_expires(locks: Locks) -> None:
    one, other = locks.one, locks.other
    one.take()
    locks.now += SECONDS
    assert not other.take()
    locks.now += 1
    assert other.take()
    assert not one.still_held()


def test_a_long_run_renews_it(locks: Locks) -> None:
    one, other = locks.one, locks.other
    one.take()
    for _ in range(20):
        locks.now += CHECK_SECONDS + 1
        assert one.still_held()
        assert not other.take()


def test_a_deployment_takes_it_over(locks: Locks) -> None:
    one, other = locks.one, locks.other
    one.take()
    other.take(over=True)
    locks.now += CHECK_SECONDS
    assert one.still_held(), "it looks only now and then"

    locks.now += 1
    assert (one.still_held(), other.still_held()) == (False, True)
    one.give_back()
    locks.now += CHECK_SECONDS + 1
    assert (one.still_held(), other.still_held()) == (False, True), "what was lost stays lost"


LATEST = NOW + 2 * SECONDS
"""The latest time at which a run lock may expire, if clocks differ by as much as it lasts."""


@pytest.mark.parametrize(
    ("expires", "free"),
    [({"S": "soon"}, True), ({"N": "99999999999"}, True), ({"N": str(LATEST + 1)}, True), ({"N": str(LATEST)}, False)],
)
def test_a_mistaken_run_lock_holds_up_nobody(stack: Stack, locks: Locks, expires: dict[str, str], free: bool) -> None:
    mistaken = {"counter": {"S": RUN_LOCK_KEY}, "holder": {"S": "nobody"}, "expires": expires}
    stack.aws.client("dynamodb", HOME).put_item(TableName=stack.layouts, Item=mistaken)

    assert locks.one.take() == free
