"""The recipe's service takes orders, as it stands on the page: in uvicorn on a deployment, and quickly without both."""

import asyncio
import json
import re
import runpy
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from global_integers import AsyncCounter, AsyncIntegers
from global_integers.testing import Stack

from local.paths import ROOT
from tests.local.machine import OPENER, Machine
from tests.recipes.conftest import as_a_new_user
from tests.recipes.recipe_page import HANG, SET_UP, blocks

(_, SHOP), (_, START), (_, CURL) = blocks("Order numbers in a FastAPI service")
URL = "http://127.0.0.1:8000/orders"
Order = Callable[[], Awaitable[httpx.Response]]


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
    """Place orders, so many at the same time. Returns their numbers.

    Whoever is told to come later does so: on a busy machine, the service's deadline may pass.
    """

    def order(n: int) -> dict[str, Any]:
        body, headers = json.dumps({"item": f"item {n}"}).encode(), {"Content-Type": "application/json"}
        ends = time.monotonic() + HANG
        while True:
            try:
                with OPENER.open(urllib.request.Request(url, body, headers), timeout=HANG) as response:
                    return json.load(response)
            except urllib.error.HTTPError as error:
                with error:
                    if error.code != 503 or time.monotonic() > ends:
                        raise
                time.sleep(0.1)  # shorter than Retry-After

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


@asynccontextmanager
async def shop(stack: Stack, folder: Path) -> AsyncGenerator[tuple[AsyncCounter, Order]]:
    """Run the service in this process, on a stack in memory. Yields its counter, and what places an order."""
    (folder / "shop.py").write_text(SHOP)
    app = runpy.run_path(str(folder / "shop.py"))["app"]
    http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://shop.test")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AsyncIntegers, "from_env", stack.async_integers)
        async with app.router.lifespan_context(app), http:
            yield app.state.numbers, partial(http.post, "/orders", json={"item": "tea"})


@pytest.mark.slow
def test_orders_have_numbers_of_their_own_or_are_refused(integers_stack: Stack, tmp_path: Path) -> None:
    async def take() -> tuple[list[httpx.Response], httpx.Response]:
        async with shop(integers_stack, tmp_path) as (numbers, order):
            taken = await asyncio.gather(*(order() for _ in range(100)))
            integers_stack.delete("orders")
            numbers.drop()
            return taken, await order()

    taken, refused = asyncio.run(take())
    assert len({answer.json()["number"] for answer in taken}) == 100
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")


def test_an_order_waits_for_one_silent_region_but_not_for_all(integers_stack: Stack, tmp_path: Path) -> None:
    async def take() -> tuple[list[int], float]:
        async with shop(integers_stack, tmp_path) as (numbers, order):
            statuses: list[int] = []
            began = 0.0
            for silent in (0, 1, 3):
                for region in integers_stack.regions[:silent]:
                    region.fail("timeout")
                numbers.drop()
                began = integers_stack._clock()
                statuses.append((await order()).status_code)
            return statuses, integers_stack._clock() - began

    statuses, seconds = asyncio.run(take())
    assert statuses == [201, 201, 503]
    assert seconds < 6, "by the clock of the stack"
