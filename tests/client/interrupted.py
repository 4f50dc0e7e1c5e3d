"""A program that interrupts a call before each line of Python that it runs. Arguments: action, call, step, URL.

It is run by `test_interrupts.py`, in a process of its own: what it looks for are calls that never return.
"""

import faulthandler
import json
import os
import signal
import ssl
import sys
from collections.abc import Callable
from itertools import count
from typing import Any

import httpx
from global_integers import Integers

from tests.client.clients import Lines
from tests.client.region_proxies import HANG

RETURN = 10
"""More lines than run from the last look at the mark until a call has returned: parent and child have its integer."""

Call = Callable[[Any], Any]


class Interrupted(Exception):
    """What a signal handler raises, such as Celery's SoftTimeLimitExceeded."""


def interrupt() -> None:
    """Raise the error, but not in an import: Python's own locks of modules don't survive that."""
    frame = sys._getframe()
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return
        frame = frame.f_back
    raise Interrupted


def cold(integers: Integers) -> int:
    """Mint over a new connection."""
    integers.close()
    return integers.next()


CALLS: dict[str, Call] = {
    "warm": lambda integers: integers.next(),
    "cold": cold,
    "health": lambda integers: integers.health() and 0,
}


def client(url: str) -> Integers:
    """Return a client of two regions. Whoever waits for the end of an attempt takes too long."""
    urls = {"eu-west-1": url, "us-east-1": url.replace("127.0.0.1", "localhost")}
    patient: dict[str, Any] = {"timeout": 4 * HANG, "attempt_timeout": 2 * HANG, "prefer": "us-east-1"}
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # without certificates, so a client is made fast
    return Integers(urls, http=lambda: httpx.Client(trust_env=False, verify=context), **patient)


def raises(call: Call, step: int, url: str) -> list[int]:
    """Raise an error before each line of a call. Return all integers that were handed out."""
    integers, minted = client(url), list[int]()
    minted.append(integers.next())
    for at in count(1, step):
        try:
            with Lines(at, act=interrupt) as ran:
                minted.append(call(integers))
            if ran.count < at:
                return minted
        except Interrupted:
            minted.append(integers.next())
    raise AssertionError


def forks(call: Call, step: int, url: str) -> list[int]:
    """Fork before each line of a call. Return all integers that were handed out, also to the children."""
    integers, minted, parent = client(url), list[int](), os.getpid()
    minted.append(integers.next())
    for at in count(1, step):
        read, write = os.pipe()

        def fork(read: int = read, write: int = write) -> None:
            child = os.fork()
            if child == 0:
                signal.alarm(int(HANG))  # ends it, should it hang
                return
            os.close(write)
            with os.fdopen(read) as pipe:
                minted.extend(json.load(pipe))
            assert os.waitpid(child, 0)[1] == 0

        try:
            with Lines(at, act=fork) as ran:
                mine = call(integers)
            if os.getpid() != parent:
                own = [mine] if ran.count - at > RETURN else []
                os.write(write, json.dumps([*own, integers.next(), integers.next()]).encode())
                os._exit(0)
        finally:
            if os.getpid() != parent:
                faulthandler.dump_traceback()
                os._exit(1)
        minted.append(mine)
        if ran.count < at:
            return minted
    raise AssertionError


def asks(call: Call, step: int, url: str) -> list[int]:
    """Ask for the regions' health before each line of a call. Return all integers that were handed out."""
    integers, minted = client(url), list[int]()
    minted.append(integers.next())

    def ask() -> None:
        found = integers.health()
        assert len(found) == 2
        assert all(health.ok for health in found.values()), found

    for at in count(1, step):
        with Lines(at, act=ask) as ran:
            minted.append(call(integers))
        minted.append(integers.next())
        if ran.count < at:
            return minted
    raise AssertionError


ACTIONS = {"raises": raises, "forks": forks, "asks": asks}

if __name__ == "__main__":
    faulthandler.dump_traceback_later(HANG, exit=True)
    minted = [integer for integer in ACTIONS[sys.argv[1]](CALLS[sys.argv[2]], int(sys.argv[3]), sys.argv[4]) if integer]
    assert len(set(minted)) == len(minted), "an integer was handed out twice"
    print(len(minted))
