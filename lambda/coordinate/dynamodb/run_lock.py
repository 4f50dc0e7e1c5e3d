"""Keeps two scheduled runs from doing the same work. No integer depends on it: runs may race."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from aws_client.connection import NoResponse
from aws_client.service import DynamoDB, ServiceError

from global_integers_core.records import RUN_LOCK_KEY

from .calls import held, retried

SECONDS = 120
"""How long the run lock lasts after it was taken or renewed. A killed run holds up the next ones for so long."""

CHECK_SECONDS = 10
"""How often a run looks whether it still holds the run lock."""


class RunLock:
    """The run lock in the layouts table, for one run. A wrong clock of the function costs work, but no integer."""

    def __init__(self, client: DynamoDB, table: str, holder: str, clock: Callable[[], float] = time.time) -> None:
        self._client = client
        self._table = table
        self._holder = holder
        self._clock = clock
        self._own = {"ConditionExpression": "holder = :holder", "ExpressionAttributeValues": {":holder": {"S": holder}}}
        self._checked = 0.0
        self._taken = False
        self._lost = False
        self._asking = threading.Lock()

    def take(self, *, over: bool = False) -> bool:
        """Take the run lock if nobody has it, or it has expired. Return whether this run has it now.

        With `over`, it is taken whoever has it: the other run stops before its next counter.
        """
        now = int(self._clock())
        # A time that is no number, or too late, is a mistake. A repeated request finds its own.
        free = {
            "ConditionExpression": "attribute_not_exists(expires) OR NOT attribute_type(expires, :number) "
            "OR expires < :now OR expires > :latest OR holder = :holder",
            "ExpressionAttributeValues": {
                ":now": {"N": str(now)},
                ":latest": {"N": str(now + 2 * SECONDS)},
                ":number": {"S": "N"},
                ":holder": {"S": self._holder},
            },
        }
        self._taken = self._write({} if over else free)
        return self._taken

    def still_held(self) -> bool:
        """Return whether nobody has taken the run lock over, and renew it. A run that took none needs none."""
        with self._asking:
            if self._taken and not self._lost and self._clock() - self._checked > CHECK_SECONDS:
                self._lost = not self._write(self._own)
            return not self._lost

    def give_back(self) -> None:
        """Delete the run lock, if this run has it."""
        if self._taken:
            request: Any = {"TableName": self._table, "Key": {"counter": {"S": RUN_LOCK_KEY}}, **self._own}
            with suppress(NoResponse, ServiceError):  # then it expires
                held(lambda: self._client.call("DeleteItem", request))

    def _write(self, condition: dict[str, Any]) -> bool:
        self._checked = self._clock()
        item = {
            "counter": {"S": RUN_LOCK_KEY},
            "holder": {"S": self._holder},
            "expires": {"N": str(int(self._checked) + SECONDS)},
        }
        request: Any = {"TableName": self._table, "Item": item, **condition}
        return bool(retried(self._client.region, lambda: held(lambda: self._client.call("PutItem", request))))
