"""A client's counters: the default one stays the same whatever is deployed, and their memory is bounded."""

import gc
import os
import threading
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from global_integers import AsyncIntegers, Counter, Integers, UnknownCounter
from global_integers.minting import MAX_COUNTERS
from global_integers.minting.api import BLOCK

from tests.client.clients import Tasks, in_a_child
from tests.client.region_proxies import HANG, PATIENT

Client = Callable[..., Any]


class Stack:
    """A stack of one region, whose deployments change which counter is the default one."""

    def __init__(self, default: str = "integers") -> None:
        self.default = default
        self.absent: set[str] = set()
        self.paths: list[str] = []
        self.issued: defaultdict[str, int] = defaultdict(int)
        self.responds: Callable[[], None] = lambda: None
        """Called when a response is made up, and before it is sent."""

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.strip("/")
        self.paths.append(path)
        name, _, integer = path.partition("/")
        document: dict[str, Any] = {"counter": self.default if name in ("", "-") else name, "region": "eu-west-1"}
        if document["counter"] in self.absent:
            problem = {"Content-Type": "application/problem+json"}
            return httpx.Response(404, json={"detail": "no such counter"}, headers=problem)
        if path == "-/status":
            document |= {"ok": True}
        elif integer:
            document |= {"integer": int(integer), "offset": 1, "stride": 1, "epoch": 1, "minted": True}
        else:
            count = int(request.url.params["count"])
            first = self.issued[document["counter"]] + 1
            self.issued[document["counter"]] += count
            document |= {"first": first, "last": first + count - 1, "stride": 1, "count": count}
            assert request.headers["accept"] == BLOCK
        self.responds()
        return httpx.Response(200, json=document)

    def client(self, client: Client, urls: Any = None, **options: Any) -> Any:
        """Return a client of this stack."""
        asynchronous = client in (Tasks, AsyncIntegers)

        def http() -> Any:
            transport = httpx.MockTransport(self)
            return httpx.AsyncClient(transport=transport) if asynchronous else httpx.Client(transport=transport)

        return client(urls or {"eu-west-1": "http://eu-west-1.test/"}, http=http, **PATIENT, **options)


FIRST: dict[str, Callable[[Any], object]] = {
    "next": lambda integers: integers.next(),
    "take": lambda integers: integers.take(3),
    "key": lambda integers: integers.next(key="k"),
    "owner": lambda integers: integers.owner(1),
}


@pytest.mark.parametrize("lease", [1, 10])
@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("urls", [None, "http://127.0.0.1:1/"], ids=["urls", "domain"])
def test_the_default_counter_stays_the_same(client: Client, first: str, lease: int, urls: str | None) -> None:
    stack = Stack()
    with stack.client(client, urls, lease=lease) as integers:
        FIRST[first](integers)
        stack.default = "invoices"
        for call in FIRST.values():
            call(integers)
        integers.take(20)  # more than are leased
        assert integers.owner(1).counter == "integers"

    assert set(stack.issued) == {"integers"}


def test_of_two_first_responses_one_names_the_counter() -> None:
    """A deployment happens between them. The integers of the other one are a gap."""
    stack, both = Stack(), threading.Barrier(2)

    def responds() -> None:
        stack.responds = lambda: None
        stack.default = "invoices"
        both.wait(HANG)  # the other thread's whole call
        both.wait(HANG)

    stack.responds = responds
    minted: list[int] = []
    with stack.client(Integers) as integers:
        thread = threading.Thread(target=lambda: minted.append(integers.next()))
        thread.start()
        both.wait(HANG)
        minted.append(integers.next())  # pins invoices
        both.wait(HANG)
        thread.join(HANG)
        assert integers.client.default_name == "invoices"

    assert sorted(minted) == [1, 2]
    assert stack.issued == {"integers": 1, "invoices": 2}


def test_a_forked_child_has_its_parents_default_counter() -> None:
    stack = Stack()
    with stack.client(Integers, lease=5) as integers:
        integers.next()
        stack.default = "invoices"

        def minted_of() -> list[str]:
            integers.take(20)
            return list(stack.issued)

        assert in_a_child(os.fork, minted_of) == ["integers"]


def counters_in_memory(client: Any) -> int:
    gc.collect()
    return sum(isinstance(found, Counter) and found.client is client for found in gc.get_objects())


@pytest.mark.slow
def test_a_client_keeps_a_bounded_number_of_counters() -> None:
    stack = Stack()
    stack.absent = {f"absent-{number}" for number in range(50)}
    with stack.client(Integers) as integers:
        for number in range(MAX_COUNTERS + 200):
            integers[f"c{number}"].next()
        for name in stack.absent:
            with pytest.raises(UnknownCounter):
                integers[name].next()
        assert counters_in_memory(integers.client) == MAX_COUNTERS + 1, "and the client's own one"


def test_a_counter_that_is_held_stays_the_same(client: Client) -> None:
    stack = Stack()
    with stack.client(client, lease=100) as integers:
        held = integers["held"]
        minted = [held.next(), *held.take(7)]
        for number in range(MAX_COUNTERS + 1):
            integers[f"c{number}"]
        minted += [integers["held"].next(), held.next(), *integers["held"].take(3)]
        if client is Integers:
            assert integers["held"] is held

    assert len(set(minted)) == len(minted) == 13


def test_a_call_goes_on_while_its_counter_is_forgotten() -> None:
    stack = Stack()
    with stack.client(Integers, lease=9) as integers:

        def forget() -> None:
            stack.responds = lambda: None
            for number in range(MAX_COUNTERS + 1):
                integers[f"c{number}"]

        stack.responds = forget
        minted = [integers["orders"].next() for _ in range(30)]

    assert len(set(minted)) == 30
