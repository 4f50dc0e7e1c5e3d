"""The recipe's service takes orders, as it stands on the page: in uvicorn on a deployment, and quickly without both."""

import asyncio
import json
import re
import runpy
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
from global_integers import AsyncIntegers
from global_integers.testing import Stack

from local.paths import ROOT
from tests.local.machine import OPENER, Machine
from tests.recipes.conftest import as_a_new_user
from tests.recipes.recipe_page import HANG, SET_UP, blocks

(_, SHOP), (_, START), (_, CURL) = blocks("Order numbers in a FastAPI service")
URL = "http://127.0.0.1:8000/orders"


@contextmanager
def service(machine: Machine, folder: Path) -> Generator[str]:
    """Start the service by the page's commands, on a free port. Yields the URL of its orders."""
    (folder / "shop.py").write_text(SHOP)
    install, *commands = START.splitlines()
    assert "pip install fastapi uvicorn ./client" in install
    script = "\n".join(commands).replace(".venv/bin/python", sys.executable)
    script = script.replace("GLOBAL_INTEGERS_URLS", "exec env GLOBAL_INTEGERS_URLS")  # no shell is left
    script = script.replace("shop:app", "shop:app --port 0 --no-access-log")
    environment = {**machine.environment, "PYTHONPATH": f"{ROOT}:{ROOT / 'client' / 'src'}", "NO_PROXY": "127.0.0.1"}
    command = ["bash", "-euc", script]
    with subprocess.Popen(command, env=environment, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        try:
            said = ""
            while not (running := re.search(r"running on (http://127\.0\.0\.1:\d+)", said)):
                line = process.stderr.readline()
                assert line, said
                said += line
            yield f"{running[1]}/orders"
        finally:
            process.terminate()
            _, rest = process.communicate(timeout=HANG)
    assert "Application shutdown complete" in rest
    assert "ERROR" not in rest


def ordered(url: str, orders: int, at_once: int) -> list[int]:
    """Place orders, so many at the same time. Returns their numbers."""

    def order(n: int) -> dict[str, Any]:
        body, headers = json.dumps({"item": f"item {n}"}).encode(), {"Content-Type": "application/json"}
        with OPENER.open(urllib.request.Request(url, body, headers), timeout=HANG) as response:
            return json.load(response)

    with ThreadPoolExecutor(at_once) as pool:
        answers = list(pool.map(order, range(orders)))
    assert [answer["item"] for answer in answers] == [f"item {n}" for n in range(orders)]
    return [answer["number"] for answer in answers]


@pytest.mark.long
def test_an_order_gets_a_number(machine: Machine, tmp_path: Path) -> None:
    with service(machine, tmp_path) as url:
        done = subprocess.run(
            ["sh", "-euc", CURL.replace("curl", "curl -sS --noproxy '*'").replace(URL, url)],
            capture_output=True,
            text=True,
            timeout=HANG,
        )
        minted = ordered(url, 20, at_once=5)

    answer = json.loads(done.stdout)
    assert answer == {"number": answer["number"], "item": "tea"}
    assert len({answer["number"], *minted}) == 21


@pytest.mark.long
def test_it_goes_on_after_the_server_was_killed(machine: Machine, tmp_path: Path) -> None:
    with service(machine, tmp_path) as url:
        before = ordered(url, 20, at_once=5)
        machine.kill()
        again = as_a_new_user(machine, SET_UP.splitlines()[0])
        after = ordered(url, 1001, at_once=20)  # more than a lease

    assert again.returncode == 0, again.stderr
    assert len({*before, *after}) == 1021


@pytest.mark.long
def test_a_thousand_orders_of_two_hundred_at_once(machine: Machine, tmp_path: Path) -> None:
    with service(machine, tmp_path) as url:
        assert len(set(ordered(url, 1000, at_once=200))) == 1000


class Region:
    """Mints without a server, or knows no counter."""

    def __init__(self) -> None:
        self.free = count(1)
        self.absent = False

    def respond(self, request: httpx.Request) -> httpx.Response:
        if self.absent:
            headers = {"Content-Type": "application/problem+json"}
            return httpx.Response(404, headers=headers, content=b'{"detail": "there is no counter"}')
        block = [next(self.free) for _ in range(int(request.url.params["count"]))]
        of = {"counter": "orders", "region": "eu-west-1", "stride": 1}
        return httpx.Response(200, json={**of, "first": block[0], "last": block[-1], "count": len(block)})

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.MockTransport(self.respond))


@pytest.fixture
def region(monkeypatch: pytest.MonkeyPatch) -> Region:
    """The only region of the environment's stack."""
    region = Region()
    original: Callable[..., Any] = AsyncIntegers.from_env
    monkeypatch.setenv("GLOBAL_INTEGERS_URLS", '{"eu-west-1": "http://eu-west-1.test/"}')
    monkeypatch.setattr(AsyncIntegers, "from_env", partial(original, http=region.client))
    return region


@pytest.mark.slow
def test_orders_have_numbers_of_their_own_or_are_refused(region: Region, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    app = runpy.run_path(str(tmp_path / "shop.py"))["app"]

    async def take() -> tuple[list[httpx.Response], httpx.Response]:
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://shop.test") as http,
        ):
            taken = await asyncio.gather(*(http.post("/orders", json={"item": "tea"}) for _ in range(100)))
            region.absent = True
            app.state.numbers.drop()
            return taken, await http.post("/orders", json={"item": "tea"})

    taken, refused = asyncio.run(take())
    assert len({answer.json()["number"] for answer in taken}) == 100
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")


def test_an_order_waits_for_one_silent_region_but_not_for_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    stack = Stack(counters=["orders"])
    monkeypatch.setattr(AsyncIntegers, "from_env", stack.async_integers)
    app = runpy.run_path(str(tmp_path / "shop.py"))["app"]

    async def take() -> tuple[list[int], float]:
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://shop.test") as http,
        ):
            statuses: list[int] = []
            began = stack._clock()
            for silent in (0, 1, 3):
                for region in stack.regions[:silent]:
                    region.fail("timeout")
                app.state.numbers.drop()
                began = stack._clock()
                statuses.append((await http.post("/orders", json={"item": "tea"})).status_code)
            return statuses, stack._clock() - began

    statuses, seconds = asyncio.run(take())
    assert statuses == [201, 201, 503]
    assert seconds < 6, "by the clock of the stack"
