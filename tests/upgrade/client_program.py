"""A program with the client: `python client_program.py <file with outputs>`. It ends with its input.

The client is the first one on the import path, the present one's or the baseline's. Each round does everything that
the client offers, and prints what it minted as a line of JSON, by counter. What it raises ends the program.
"""

import asyncio
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

from global_integers import AsyncIntegers, ClientSettings, Integers

PATIENCE: ClientSettings[Any] = {"timeout": 120.0, "attempt_timeout": 60.0}
"""Seconds: a machine that is busy doesn't count as an error."""

LEASED: ClientSettings[Any] = {**PATIENCE, "lease": 10}

HELD: ClientSettings[Any] = {**PATIENCE, "lease": 1000, "lease_seconds": 3600.0}


def main() -> None:
    """Mint until the input ends."""
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    os.environ["GLOBAL_INTEGERS_URLS"] = sys.argv[1]
    domain = Integers(json.loads(Path(sys.argv[1]).read_text())["localDomainUrl"], **PATIENCE)
    integers = Integers.from_env(**PATIENCE)
    held = Integers.from_env(**HELD)
    leased = Integers.from_env(**LEASED)
    key = f"old-{uuid4()}"
    keyed = integers.next(key=key)
    # Who takes many gets a large lease. What is left of it is handed out after the upgrade, too.
    first = [keyed, *(held.next() for _ in range(2000))]

    async def asynchronous() -> list[int]:
        async with AsyncIntegers.from_env(**PATIENCE) as client:
            return await client["orders"].take(3)

    while not ended.is_set():
        new = f"new-{uuid4()}"
        minted = integers.take(2, key=new)
        assert integers.take(2, key=new) == minted, "a repeated key"
        assert integers.next(key=key) == keyed, "a key from before"
        assert integers.owner(minted[0]).minted is True
        assert set(integers.health()) == set(json.loads(Path(sys.argv[1]).read_text())["urls"])
        assert integers.create("orders") is False, "it exists"
        of_integers = [*first, *minted, integers.next(), next(integers), held.next(), domain.next()]
        of_orders = [leased["orders"].next() for _ in range(5)] + asyncio.run(asynchronous())
        print(json.dumps({"integers": of_integers, "orders": of_orders}), flush=True)
        first = []
        time.sleep(0.2)  # it shares the machine with the functions


if __name__ == "__main__":
    main()
