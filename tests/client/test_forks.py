"""A process is forked with the client in it, and event loops share one: nothing of another process or loop is used."""

import asyncio
import gc
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from global_integers import AsyncIntegers
from global_integers.minting import State

from local.paths import ROOT
from proof.faulty_server import Request, Response, Server, json_response
from tests.client.region_proxies import HANG, PATIENT
from tools.programs import PROGRAMS

PATH = os.pathsep.join([str(ROOT), str(ROOT / "client" / "src")])


@pytest.fixture
def urls() -> Generator[dict[str, str]]:
    """A server that stands for three regions: they mint integers one after the other."""
    following = count(1)
    regions = {"localhost": "us-east-1", "127.0.0.1": "eu-west-1", "127.1": "ap-southeast-2"}

    async def answer(request: Request) -> Response:
        path = urlsplit(request.path)
        region = regions[request.headers["host"].partition(":")[0]]
        document: dict[str, Any] = {"region": region, "counter": path.path.strip("/") or "integers", "status": "ok"}
        if request.method == "POST":
            size = int(parse_qs(path.query)["count"][0])
            integers = [next(following) for _ in range(size)]
            document |= {"first": integers[0], "last": integers[-1], "stride": 1, "count": size}
        return json_response(document)

    with Server(answer, recording=False) as server:
        yield {region: server.url.replace("127.0.0.1", host) + "/" for host, region in regions.items()}


@pytest.mark.slow
def test_threads_of_a_child_forked_in_c_mint_at_once(urls: dict[str, str]) -> None:
    command = [sys.executable, "-m", "tests.client.prefork", json.dumps(urls), "5"]
    environment = {**os.environ, "PYTHONPATH": PATH}
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=4 * HANG)

    assert done.returncode == 0, done.stderr
    assert done.stderr == "", done.stderr
    minted = [integer for line in done.stdout.splitlines() for integer in json.loads(line)]
    assert len(set(minted)) == len(minted) == 5 * 4 * 25 + 2 * 25


def test_event_loops_of_several_threads_share_a_client(urls: dict[str, str]) -> None:
    integers, together = AsyncIntegers(urls, lease=20, **PATIENT), threading.Barrier(4)

    async def some() -> list[int]:
        await asyncio.to_thread(together.wait)
        async with integers:
            return [await integers.next() for _ in range(100)]

    with ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(asyncio.run, some()) for _ in range(4)]
        minted = [run.result() for run in runs]

    assert all(mine == sorted(mine) for mine in minted)
    assert len({integer for mine in minted for integer in mine}) == 400


@pytest.mark.slow
def test_event_loops_that_have_ended_leave_nothing(urls: dict[str, str]) -> None:
    """A program that calls `asyncio.run` for each job may run for months."""
    integers = AsyncIntegers(urls, lease=20, **PATIENT)

    async def one() -> int:
        return await integers.next()

    async def with_another_loop() -> list[int]:
        mine = [await integers.next()]
        minted = [await asyncio.to_thread(asyncio.run, one()) for _ in range(10)]
        gc.collect()
        found = [state for state in gc.get_objects() if isinstance(state, State)]
        states = [state for state in found if state._client is integers.client]
        assert len(states) <= 4, "a template, this loop's, the last one, and one that is being freed"
        return [*mine, *minted, await integers.next()]

    minted = asyncio.run(with_another_loop())
    assert len(set(minted)) == 12


def test_a_lease_of_an_event_loop_that_has_ended_is_dropped_with_the_client(urls: dict[str, str]) -> None:
    integers = AsyncIntegers(urls, lease=20, **PATIENT)

    async def mint(count: int) -> list[int]:
        return [await integers.next() for _ in range(count)]

    async def mint_and_close() -> None:
        await integers.next()
        await integers.aclose()

    before = asyncio.run(mint(30))
    asyncio.run(mint_and_close())
    after = asyncio.run(mint(30))
    assert min(after) > max(before) + 1
    assert after == sorted(after)


@pytest.mark.needs("uwsgi")
def test_uwsgi_mints_in_processes_with_threads(urls: dict[str, str], tmp_path: Path) -> None:
    log = tmp_path / "uwsgi.log"
    options = ["--master", "--processes", "3", "--threads", "4", "--need-app", "--die-on-term", "--http-socket"]
    app = ["--virtualenv", sys.prefix, "--module", "tests.client.uwsgi_app", "--logto", str(log)]
    command = [*PROGRAMS["uwsgi"].paths(), *options, "127.0.0.1:0", *app]
    environment = {**os.environ, "PYTHONPATH": PATH, "GLOBAL_INTEGERS_URLS": json.dumps(urls)}

    def asked(path: str) -> tuple[int, list[int]]:
        with suppress(httpx.RemoteProtocolError):  # uWSGI closes one connection of a thousand, whatever it serves
            return client.get(f"http://127.0.0.1:{port}/{path}").raise_for_status().json()
        return asked(path)

    with (
        httpx.Client(timeout=HANG, trust_env=False) as client,
        subprocess.Popen(command, env=environment, cwd=ROOT, stderr=subprocess.DEVNULL) as server,
    ):
        try:
            ends = time.monotonic() + HANG
            while not (port := bound_to(log)):
                assert server.poll() is None, log.read_text()
                assert time.monotonic() < ends
                time.sleep(0.05)
            with ThreadPoolExecutor(24) as pool:
                answers = list(pool.map(asked, [""] * 240))
            answers.append(asked("first"))
        finally:
            server.terminate()

    assert "Traceback" not in log.read_text()
    minted = [integer for _, integers in answers for integer in integers]
    assert len(set(minted)) == len(minted) == 2410
    assert len({process for process, _ in answers}) == 3


def bound_to(log: Path) -> int:
    """Return the port that uWSGI was given, once it responds there; 0 before."""
    text = log.read_text() if log.exists() else ""
    found = re.search(r"127\.0\.0\.1:(\d+) \(port auto-assigned\)", text)
    return int(found[1]) if found and "spawned uWSGI worker 3" in text else 0
