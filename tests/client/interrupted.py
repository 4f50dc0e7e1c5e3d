"""A program that interrupts a call before each line of Python that it runs. Arguments: action, call, step, URL.

It is run by `test_interrupts.py`, in a process of its own: what it looks for are calls that never return.
"""

import asyncio
import faulthandler
import json
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any

import httpx
from global_integers import AsyncIntegers, Integers

from tests.client.clients import Lines
from tests.client.region_proxies import HANG

RETURN = 10
"""More lines than run from the last look at the mark until a call has returned: parent and child have its integer."""

Call = Callable[[Any], Any]


class Interrupted(Exception):
    """What a signal handler raises, such as Celery's SoftTimeLimitExceeded."""


def interrupt() -> None:
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


def options(kind: type[Any], url: str) -> dict[str, Any]:
    """Return the client's options. Whoever waits for the end of an attempt takes too long."""
    urls = {"eu-west-1": url, "us-east-1": url.replace("127.0.0.1", "localhost")}
    patient = {"timeout": 4 * HANG, "attempt_timeout": 2 * HANG, "prefer": "us-east-1"}
    return {"urls": urls, "http": lambda: kind(trust_env=False, verify=False), **patient}  # without TLS, it is fast


def raises(call: Call, step: int, url: str) -> list[int]:
    """Raise an error before each line of a call. Return all integers that were handed out."""
    integers, minted = Integers(**options(httpx.Client, url)), list[int]()
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


def raises_in_tasks(_: Call, step: int, url: str) -> list[int]:
    """Raise an error before each line of a task's call, and of its event loop meanwhile."""
    integers, minted, at = AsyncIntegers(**options(httpx.AsyncClient, url)), list[int](), 1
    ended = False

    async def work() -> None:
        nonlocal at, ended
        minted.append(await integers.next())
        while not ended:
            at += step
            try:
                with Lines(at, act=interrupt) as ran:
                    minted.append(await integers.next())
                ended = ran.count < at
            except Interrupted:
                minted.append(await integers.next())

    while not ended:
        with suppress(Interrupted):  # it was raised in the event loop, which then ends
            asyncio.run(work())
    return minted


def forks(call: Call, step: int, url: str) -> list[int]:
    """Fork before each line of a call. Return all integers that were handed out, also to the children."""
    integers, minted, parent = Integers(**options(httpx.Client, url)), list[int](), os.getpid()
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


ACTIONS = {"raises": raises, "raises_in_tasks": raises_in_tasks, "forks": forks}

if __name__ == "__main__":
    faulthandler.dump_traceback_later(HANG, exit=True)
    minted = [integer for integer in ACTIONS[sys.argv[1]](CALLS[sys.argv[2]], int(sys.argv[3]), sys.argv[4]) if integer]
    assert len(set(minted)) == len(minted), "an integer was handed out twice"
    print(len(minted))
