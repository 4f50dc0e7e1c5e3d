"""A service for uWSGI: the master makes a client and mints, and each process mints in its threads."""

import json
import os
import time
from collections.abc import Callable, Iterable
from typing import Any

import psutil
from global_integers import Integers

from tests.client.region_proxies import PATIENT

integers = Integers.from_env(lease=50, prefer="us-east-1", **PATIENT)
first = [integers.next() for _ in range(10)]
while psutil.Process().num_threads() > 1:  # a worker that is forked meanwhile may lack who holds the interpreter's lock
    time.sleep(0.01)


def application(environ: dict[str, Any], respond: Callable[[str, list[tuple[str, str]]], object]) -> Iterable[bytes]:
    """Return some integers, and in which process they were minted; for /first, those that the master has minted."""
    minted = first if environ["PATH_INFO"] == "/first" else [integers.next() for _ in range(10)]
    respond("200 OK", [("Content-Type", "application/json")])
    return [json.dumps([os.getpid(), minted]).encode()]
