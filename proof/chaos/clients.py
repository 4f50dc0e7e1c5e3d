"""Clients that mint all the time, through all URLs of all regions."""

import re
import time
import uuid
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from threading import Event
from typing import Any

import httpx

from .history import History, RecordedMint

CLIENTS = 10
TIMEOUT = 5.0
"""Seconds that a client waits for an answer."""

BLOCKS, KEYS = 0.04, 0.08
"""The share of requests to a function that ask for a block, and that have an Idempotency-Key."""

LATE_CALLERS = 0.01
"""The share of requests to URLs that only an earlier deployment had."""

LARGEST_BLOCK = 300

TRIES = 6
"""How often a request with a key is tried."""

PAUSE = 0.05
"""Seconds that a client waits after a failure, much less than `Retry-After` says."""

Entry = tuple[str, str, str]
"""Region, kind and URL."""


@dataclass
class ChaosClient:
    """One client, which keeps its connections open, as a browser does."""

    history: History
    counters: Sequence[str]
    entries: Callable[[], Sequence[Entry]]
    """Where to mint now."""
    random: Random
    stop: Event
    pace: float = 0.0
    """Seconds between two requests."""
    _http: httpx.Client = field(default_factory=lambda: httpx.Client(timeout=TIMEOUT, trust_env=False))

    def run(self) -> None:
        """Mint until `stop`."""
        seen: dict[Entry, None] = {}
        while not self.stop.is_set():
            entries = self.entries()
            seen |= dict.fromkeys(entries)
            # Now and then one of an earlier deployment: callers learn late that a region has gone.
            self._request(list(seen) if self.random.random() < LATE_CALLERS else entries)
            time.sleep(self.pace)
        self._http.close()

    def _request(self, entries: Sequence[Entry]) -> None:
        """Mint at one of the URLs."""
        random = self.random
        entry, counter = random.choice(entries), random.choice(self.counters)
        function = entry[1] == "function"
        count = random.randint(1, LARGEST_BLOCK) if function and random.random() < BLOCKS else None
        if function and random.random() < KEYS:
            self._with_key(entry, counter, count)
        else:
            self._try(entry, counter, count, {})

    def _try(self, entry: Entry, counter: str, count: int | None, headers: Mapping[str, str]) -> Sequence[int] | None:
        """Send one request and record what it got. Return its integers, None if it failed."""
        region, kind, url = entry
        began = time.monotonic()
        integers = self.mint(url, counter, count, headers)
        if not isinstance(integers, str):
            self.history.mints.append(RecordedMint(region, kind, counter, integers, began, time.monotonic()))
            return integers
        self.history.failed(region, integers)
        time.sleep(PAUSE)
        return None

    def _with_key(self, entry: Entry, counter: str, count: int | None) -> None:
        """Repeat a request with one key until it succeeds, then perhaps once more, as if its answer had been lost."""
        key = uuid.UUID(int=self.random.getrandbits(128)).hex
        headers = {"Idempotency-Key": key}
        tries = (self._try(entry, counter, count, headers) for _ in range(TRIES))
        first = next((integers for integers in tries if integers is not None), None)
        if first is not None and self.random.random() < 0.5:
            again = self.mint(entry[2], counter, count, headers)
            if isinstance(again, str):
                self.history.failed(entry[0], again)
            else:
                self.history.replayed(key, first, again)

    def mint(self, url: str, counter: str, count: int | None, headers: Mapping[str, str]) -> Sequence[int] | str:
        """Return the integers of one request, or the kind of its failure."""
        try:
            response = self._http.post(url + counter, params={"count": count} if count else {}, headers=headers)
        except httpx.TimeoutException:
            return "no answer in time"
        except httpx.TransportError:
            return "no connection"
        if response.status_code != 200:
            detail = re.search('"detail": ?"(.*?)"', response.text)  # without its numbers, so that reports can count it
            return f"status {response.status_code}: {re.sub('[0-9]+', '…', detail[1] if detail else 'no detail')}"
        document: dict[str, Any] = response.json()
        return tuple(document["integers"]) if count is not None else (document["integer"],)


@contextmanager
def minting(clients: Sequence[ChaosClient], stop: Event) -> Generator[None]:
    """Let the clients mint during the block."""
    with ThreadPoolExecutor(len(clients)) as pool:
        running = [pool.submit(client.run) for client in clients]
        try:
            yield
        finally:
            stop.set()
    for client in running:
        client.result()  # what one of them raises ends the run
