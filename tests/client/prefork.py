"""A server like uWSGI: its master uses a client, forks in C, and the threads of each child then use it at once.

Arguments: the regions' URLs as JSON, and how many children are forked. Prints all integers, those of each process in a
line. It is run by `test_forks.py`, in a process of its own: a fork in C leaves nothing behind that may go on.
"""

import ctypes
import faulthandler
import json
import os
import sys
import threading
import time
from typing import Any

import psutil
from global_integers import Integers

from tests.client.region_proxies import HANG, PATIENT

THREADS = 4
EACH = 25
"""Integers that each thread of a child mints."""


def main(urls: dict[str, str], children: int) -> None:
    """Mint in this process, and in the threads of its children."""
    integers = Integers(urls, lease=50, prefer="us-east-1", **PATIENT)
    counters = [integers, *(integers[f"c{number}"] for number in range(50))]
    mine = [integers.next() for _ in range(EACH)]
    while psutil.Process().num_threads() > 1:  # one that a child lacks may hold the interpreter's own locks
        time.sleep(0.01)
    fork = ctypes.PyDLL(None).fork  # with the interpreter's lock, and without Python's hooks
    for _ in range(children):
        read, write = os.pipe()
        child = fork()
        if child == 0:
            try:
                os.write(write, json.dumps(minted_at_once(counters)).encode() + b"\n")
            finally:
                os._exit(0)  # what else Python does at its end isn't for such a child
        os.close(write)
        with os.fdopen(read) as pipe:
            print(pipe.read().strip() or "a child has failed")
        os.waitpid(child, 0)
    print(json.dumps(mine + [integers.next() for _ in range(EACH)]))


def minted_at_once(counters: list[Any]) -> list[int]:
    """Return what the threads of this process have minted, or raise the first error of one of them."""
    faulthandler.dump_traceback_later(HANG, exit=True)
    minted, errors, together = list[int](), list[BaseException](), threading.Barrier(THREADS)

    def mint() -> None:
        try:
            together.wait()
            for counter in counters[1:]:
                counter.take(0)
            minted.extend(counters[0].next() for _ in range(EACH))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=mint) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return minted


if __name__ == "__main__":
    sys.setswitchinterval(1e-6)  # seconds: threads take turns as often as on many processors
    main(json.loads(sys.argv[1]), int(sys.argv[2]))
