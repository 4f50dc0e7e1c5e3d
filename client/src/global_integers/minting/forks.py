"""Notices that the process was forked: a child must not hand out what its parent has leased.

Each buffer of leased integers keeps a mark of its process, and looks at it last, before it hands one out. The kernel
wipes the mark in a child, however it was forked: by `os.fork`, by a server written in C that runs none of Python's
hooks, or in a signal handler in the middle of a call, into which the child returns.

Locks, connections and waiting calls are of one process, too. A client has them all in one object (`State`), which a
child replaces by its own. No lock is made usable again while other threads run.

Some systems accept `MADV_WIPEONFORK` and ignore it, such as QEMU's user mode, in which images for another
processor run. So the page is used only if the kernel lists it as one that it will wipe.
"""

import logging
import mmap
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakSet

WIPE_ON_FORK = 18
"""Linux's `MADV_WIPEONFORK` (madvise(2), Linux 4.14), which Python doesn't name."""

WIPED = "wf"
"""How `/proc/<pid>/smaps` flags a mapping that is wiped in a child (proc_pid_smaps(5), `VmFlags`)."""

log = logging.getLogger("global_integers")


class _Process:
    """A mark for systems that wipe nothing. It takes several times as long to look at."""

    def __init__(self) -> None:
        self._process = os.getpid()

    def __getitem__(self, index: int, /) -> int:
        return os.getpid() == self._process


Mark = mmap.mmap | _Process
"""`mark[0]` is true in the process that made the mark, and false in every other one."""


class Stale(Exception):
    """The state that a call has begun with is over: the process was forked, or the client was closed."""


streams: WeakSet[Any] = WeakSet()
"""All connections. Each has a method `close`."""

_locks: WeakSet[Any] = WeakSet()
_mark: Mark | None = None
_following: dict[Mark | None, Mark] = {}
"""After each mark, that of the child. The first of a child's threads decides which one."""
_loading: dict[Mark, threading.RLock] = {}


def here() -> Mark:
    """Return this process's mark."""
    global _mark
    mark = _mark
    while mark is None or not mark[0]:
        mark = _mark = _following.setdefault(mark, _new_mark())
    return mark


def make_lock() -> threading.RLock:
    """Return a lock for which a child of `os.fork` doesn't wait, also if this thread waited for it then.

    It is reentrant, since a signal handler may come where its thread is. `with` takes and gives back Python's own
    `RLock` in one step each, so an exception of a signal handler doesn't leave it locked.
    """
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def loading() -> threading.RLock:
    """Return the lock that this process holds while modules are imported.

    A process that is forked meanwhile would wait for ever for Python's own locks.
    """
    mark = here()
    return _loading.get(mark) or _loading.setdefault(mark, make_lock())


def _new_mark() -> Mark:
    if sys.platform == "linux":
        try:
            page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            page.madvise(WIPE_ON_FORK)
            page[0] = 1
            if _will_be_wiped(page):
                return page
        except OSError:
            log.debug("this system wipes no memory in a forked process", exc_info=True)
    return _Process()


def _will_be_wiped(page: mmap.mmap) -> bool:
    """Return whether the kernel says so. That it took the advice says nothing."""
    import ctypes  # here, because importing this package loads nothing that only a client needs

    view = ctypes.c_char.from_buffer(page)
    address = ctypes.addressof(view)
    del view  # while it exists, the page can't be closed
    found = False
    with Path("/proc/self/smaps").open(encoding="ascii", errors="replace") as mappings:
        for line in mappings:
            name, _, rest = line.partition(" ")
            if not name.endswith(":"):  # the first line of a mapping: `7f00-7f01 rw-p …`
                start, _, end = name.partition("-")
                found = int(start, 16) <= address < int(end, 16)
            elif found and name == "VmFlags:":
                return WIPED in rest.split()
    return False


def _forked() -> None:
    """Free this thread, the only one in a child of `os.fork`, from what it holds of the parent.

    It may be in the middle of a call. Then it waits neither for a lock of another thread nor for the parent's response.
    """
    for lock in list(_locks):
        if not lock._is_owned():  # it is of a thread that only the parent has (threading.Condition looks, too)
            lock._at_fork_reinit()
    for stream in list(streams):
        with suppress(OSError):
            stream.close()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(
        before=lambda: loading().acquire(),
        after_in_parent=lambda: loading().release(),
        after_in_child=_forked,
    )
