"""Notices that the process was forked: a child must not hand out what its parent has leased.

Whoever hands out integers has the mark of the process in which they were leased, and looks at it last. The kernel
wipes the mark in a child, however it was forked: by `os.fork`, by a server written in C that runs none of Python's
hooks, or in a signal handler in the middle of a call, into which the child returns.
"""

import logging
import mmap
import os
import sys
from typing import Protocol
from weakref import WeakSet

WIPE_ON_FORK = 18
"""Linux's `MADV_WIPEONFORK` (madvise(2), Linux 4.14), which Python doesn't name."""

log = logging.getLogger("global_integers")


class Mark(Protocol):
    """`mark[0]` is true in the process that made the mark, and false in every other one."""

    def __getitem__(self, index: int, /) -> int:
        """Return whether this is the process that made the mark."""
        ...


class _Process:
    """A mark for systems that wipe nothing. It takes ten times as long to look at."""

    def __init__(self) -> None:
        self._process = os.getpid()

    def __getitem__(self, index: int, /) -> int:
        return os.getpid() == self._process


class Forgetful(Protocol):
    """Has something that a child must not share with its parent."""

    def forget(self) -> None:
        """Drop it."""
        ...


_clients: WeakSet[Forgetful] = WeakSet()


def forget_in_children(client: Forgetful) -> None:
    """Let the client forget in every process that is forked from now on."""
    _clients.add(client)


def here() -> Mark:
    """Return this process's mark. In a process that was just forked, let all clients forget first."""
    global _mark
    if not _mark[0]:
        _mark = _new_mark()
        for client in list(_clients):
            try:
                client.forget()
            except Exception:  # its leases have another mark, so nothing is handed out twice
                log.exception("a forked process could not prepare a client")
    return _mark


def _new_mark() -> Mark:
    if sys.platform == "linux":
        try:
            page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            page.madvise(WIPE_ON_FORK)
        except OSError:
            return _Process()
        page[0] = 1
        return page
    return _Process()


_mark = _new_mark()
if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(after_in_child=here)
