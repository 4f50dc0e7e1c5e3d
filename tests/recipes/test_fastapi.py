"""The recipe's service takes orders, as it stands on the page: in uvicorn on a deployment, and quickly without both."""

import asyncio
import json
import re
import runpy
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from global_integers import AsyncIntegers
from global_integers.testing import Stack

from tests.recipes.conftest import HANG, SET_UP, User, recipe

(_, SHOP), (_, START), (_, CURL) = recipe("Order numbers in a FastAPI service")
URL = "http://127.0.0.1:8000/orders"


@contextmanager
def service(user: User) -> Generator[str]:
    """Start the service by the page's commands, on a free port. Yields the URL of its orders."""
    (user.folder / "shop.py").write_text(SHOP)
    install, outputs, start = START.splitlines()
    assert "pip install fastapi uvicorn ./client" in install
    start = start.replace("shop:app", "shop:app --port 0 --no-access-log")
    with user.start("bash", f"{outputs}\nexec env {start}") as process:  # no shell is left
        assert process.stderr
        said = ""
        while not (running := re.search(r"running on (http://127\.0\.0\.1:\d+)", said)):
            line = process.stderr.readline()
            assert line, said
            said += line
        try:
            yield f"{running[1]}/orders"
        finally:
            process.terminate()
        _, rest = process.communicate(timeout=HANG)
    assert "Application shutdown complete" in rest
    assert "Traceback" not in rest  # an error that says when to come again may be in the log


def ordered(url: str, orders: int, at_once: int) -> list[int]:
    """Place orders, so many at the same time. Returns their numbers.

    Whoever is told to come later does so: on a busy machine, the service's deadline may pass.
    """
    with httpx.Client(trust_env=False, timeout=HANG) as http, ThreadPoolExecutor(at_once) as pool:

        def order(n: int) -> int:
            while (answer := http.post(url, json={"item": f"item {n}"})).status_code == 503:
                time.sleep(0.1)  # shorter than Retry-After
            assert answer.json()["item"] == f"item {n}"
            return answer.json()["number"]

        return list(pool.map(order, range(orders)))


@pytest.mark.long
def test_orders_get_numbers_also_after_the_server_was_killed(user: User) -> None:
    with service(user) as url:
        answer = json.loads(user.output("sh", CURL.replace("curl", "curl -sS").replace(URL, url)))
        before = ordered(url, 20, at_once=5)
        user.machine.kill()
        user.output("sh", SET_UP.splitlines()[0])
        after = ordered(url, 1001, at_once=50)  # more than a lease

    assert answer == {"number": answer["number"], "item": "tea"}
    assert len({answer["number"], *before, *after}) == 1022


def test_an_order_waits_for_one_silent_region_but_not_for_all(
    integers_stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    app = runpy.run_path(str(tmp_path / "shop.py"))["app"]
    monkeypatch.setattr(AsyncIntegers, "from_env", integers_stack.async_integers)

    async def take() -> tuple[list[httpx.Response], float]:
        answers: list[httpx.Response] = []
        began = 0.0
        http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://shop.test")
        async with app.router.lifespan_context(app), http:
            for silent in (0, 1, 3):
                for region in integers_stack.regions[:silent]:
                    region.fail("timeout")
                await app.state.numbers.client.close()  # what is leased is dropped
                began = integers_stack._clock()
                answers.append(await http.post("/orders", json={"item": "tea"}))
            return answers, integers_stack._clock() - began

    answers, seconds = asyncio.run(take())
    assert [answer.status_code for answer in answers] == [201, 201, 503]
    assert answers[-1].headers["retry-after"] == "5"
    assert seconds < 6, "by the clock of the stack"
