"""Which deployments are admitted, and that one that is refused has changed nothing."""

from contextlib import suppress
from threading import Thread
from typing import Any

import pytest
from coordinate.handler import CoordinatorError

from tests.lambda_.coordinator_calls import (
    REGIONS,
    create,
    deploy,
    deployment,
    laid_out,
    send,
)
from tests.lambda_.fixtures import Stack
from tests.lambda_.table_losses import everything

TWO = ("us-east-1", "eu-west-1")


def test_runs_of_one_deployment_at_the_same_time_report_the_same(stack: Stack) -> None:
    laid_out()
    event = deployment("us-east-1", "us-west-2")
    done: list[dict[str, Any]] = []

    def run() -> None:
        with suppress(CoordinatorError):  # another one has taken over
            done.append(send(event))

    threads = [Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert done
    assert done == [done[0]] * len(done)
    assert send(event) == done[0]
    assert done[0]["counters"]["integers"]["epoch"] == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"floors": {"orders": 5}}, "floors: there is no counter orders; add it to counters"),
        ({"window": 0}, "window: 0 is not"),
    ],
)
def test_a_refused_deployment_has_written_nothing(stack: Stack, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(CoordinatorError, match=message):
        deploy(*TWO, **settings)
    assert everything(stack, *REGIONS) == {name: [] for name in ("layouts", "mirror", *REGIONS)}

    deploy()
    before = everything(stack, *REGIONS)
    with pytest.raises(CoordinatorError, match=message):
        deploy(*TWO, **settings)
    assert everything(stack, *REGIONS) == before
    assert create("invoices")["counters"]["invoices"]["regions"].keys() == {*REGIONS}
