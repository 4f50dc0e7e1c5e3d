"""Tells clients that the process was forked. A child must not hand out what its parent has leased."""

import os
from typing import Protocol
from weakref import WeakSet


class Forgetful(Protocol):
    """Has something that a child must not share with its parent."""

    def forget(self) -> None:
        """Drop it."""
        ...


_clients: WeakSet[Forgetful] = WeakSet()


def forget_in_children(client: Forgetful) -> None:
    """Call the client's `forget` in every process that is forked from now on."""
    _clients.add(client)


def _forget() -> None:
    for client in list(_clients):
        client.forget()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(after_in_child=_forget)
