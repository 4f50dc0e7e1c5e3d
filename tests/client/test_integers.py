"""Threads and tasks mint from a real deployment, while proxies to its regions cut off, delay and spoil responses."""

import asyncio
import ctypes
import json
import logging
import mmap
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from math import inf
from typing import Any

import httpx
import pytest
from global_integers import (
    AsyncIntegers,
    Event,
    Integers,
    Leased,
    Refused,
    Requested,
)
from global_integers.minting import domain, forks
from global_integers.minting.lease_buffer import SPLIT, LeaseBuffer
from global_integers.minting.threads import Threads

from local.aws_clients import Aws
from local.paths import ROOT
from proof.faulty_server import Fault, Request
from tests.client.clients import Clock, EventRecorder, Lines, Tasks, in_a_child, wait_for_background
from tests.client.interrupted import RETURN
from tests.client.region_proxies import DOMAIN_URL, FAULTS, HANG, HOST, PATIENT, Names, RegionProxy, to_mint
from tests.local.callers import allowing, user
from tests.local.machine import Machine

pytestmark = pytest.mark.server
LONG = pytest.mark.long

Client = Callable[..., Any]
WaitUntilIdle = Callable[[Any], None]
Urls = dict[str, str]
RegionProxies = dict[str, RegionProxy]
SOURCES = str(ROOT / "client" / "src")
REGIONS = ["us-east-1", "eu-west-1", "ap-southeast-2"]
FIRST: dict[str, Any] = {"prefer": "us-east-1", **PATIENT}
"""Asks us-east-1 first, however long the health checks take."""

SMALL = SPLIT - 1
"""A lease of which no part is fetched in the background."""


def test_the_first_call_asks_the_nearest_region(client: Client, proxies: RegionProxies, urls: Urls) -> None:
    seen = EventRecorder()
    *far, _ = proxies.values()
    for proxy in far:
        proxy.hold_checks()
    with client(urls, observer=seen, **PATIENT) as integers:
        assert not any(proxy.requests for proxy in proxies.values()), "nothing is asked before"
        assert integers.next()
        assert [proxy.mints for proxy in proxies.values()] == [0, 0, 1]

    assert [event.region for event in seen.of(Requested)][:2] == ["ap-southeast-2"] * 2
    (request,) = [event for event in seen.of(Requested) if event.subject == "the default counter"]
    assert request.failure is None
    assert request.seconds > 0


def test_the_nearest_of_all_that_were_measured_is_asked(client: Client, proxies: RegionProxies, urls: Urls) -> None:
    *far, _ = proxies.values()

    def answer_the_others(event: Event) -> None:
        if isinstance(event, Requested) and event.region == "ap-southeast-2":
            for proxy in far:  # they take longer, since they are answered later and wait for as long again
                proxy.release_checks(delay=2 * event.seconds)

    for proxy in far:
        proxy.hold_checks()
    with (
        client(urls, observer=answer_the_others, **PATIENT) as integers,
        client(urls, prefer="eu-west-1", **PATIENT) as choosy,
    ):
        assert all(health.ok for health in integers.health().values())
        for proxy in proxies.values():
            proxy.hold_checks()  # what was measured stays
        integers.take(1)
        assert integers.take(5)
        assert [proxy.mints for proxy in proxies.values()] == [0, 0, 2]
        choosy.next()
        assert [proxy.mints for proxy in proxies.values()] == [0, 1, 2]


class Duck:
    """An HTTP client that is none of httpx's own, but has what is needed of one."""

    def __init__(self, http: Any) -> None:
        self._http = http

    def __getattr__(self, name: str) -> Any:
        return getattr(self._http, name)


def mocked(client: Client, respond: Callable[[httpx.Request], httpx.Response], **options: Any) -> Any:
    """Return a client of one region, whose responses are made up."""
    options["transport"] = httpx.MockTransport(respond)
    made = httpx.AsyncClient if client is Tasks else httpx.Client
    return client({"eu-west-1": "http://eu-west-1.test/"}, http=lambda: Duck(made(**options)), **PATIENT)


def test_an_http_client_of_ones_own_keeps_its_authorization(client: Client) -> None:
    """As for a stack behind a company's proxy."""
    seen: list[str | None] = []

    def respond(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.get("authorization"))
        return httpx.Response(400, json={"detail": "why"})

    with mocked(client, respond, auth=("user", "secret")) as integers, pytest.raises(Refused):
        integers.next()

    assert seen == ["Basic dXNlcjpzZWNyZXQ="]


def test_an_http_client_that_does_not_do_is_the_callers_error(client: Client, direct: Urls) -> None:
    def fail() -> Any:
        raise LookupError("as the test says")

    with client(direct, http=fail, **PATIENT) as integers:
        for call in (integers.next, integers.health):
            with pytest.raises(LookupError, match="as the test says"):
                call()
    wrong, right = (httpx.Client, httpx.AsyncClient) if client is Tasks else (httpx.AsyncClient, httpx.Client)
    with client(direct, http=wrong, **PATIENT) as integers, pytest.raises(TypeError) as error:
        integers.next()

    assert f"httpx.{wrong.__name__}; " in str(error.value)
    assert str(error.value).endswith(f"Integers needs an httpx.{right.__name__}")


@pytest.mark.parametrize("closes", [False, True], ids=["expired", "closed"])
def test_who_wakes_after_its_block_was_dropped_asks_again(clock: Clock, closes: bool) -> None:
    firsts = [1]

    async def respond(request: httpx.Request) -> httpx.Response:
        first, size = firsts[-1], int(request.url.params["count"])
        firsts.append(first + size)
        await asyncio.sleep(0)  # others come and wait for it
        block = {"counter": "integers", "region": "eu-west-1", "count": size, "first": first, "stride": 1}
        block["last"] = first + size - 1
        return httpx.Response(200, json=block)

    async def ask() -> None:
        urls, transport = {"eu-west-1": "http://eu-west-1.test/"}, httpx.MockTransport(respond)
        async with AsyncIntegers(
            urls, lease=SMALL, http=lambda: httpx.AsyncClient(transport=transport), **PATIENT
        ) as integers:
            for _ in range(5):  # two blocks: of one, and of four
                await integers.next()

            async def fetch() -> int:
                integer = await integers.next()
                if closes:
                    await integers.aclose()
                else:
                    clock.now += 61
                return integer

            fetched, late = await asyncio.gather(fetch(), integers.next())
        assert (fetched, late) == (firsts[2], firsts[3])

    asyncio.run(ask())


class Unread(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that must not be read."""

    def __iter__(self) -> Iterator[bytes]:
        pytest.fail("it was read")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pytest.fail("it was read")
        yield b""


def test_a_compressed_response_is_not_unpacked(client: Client) -> None:
    """A hundred bytes may become a hundred megabytes. The client asks for none of it."""
    asked: list[str] = []

    def respond(request: httpx.Request) -> httpx.Response:
        asked.append(request.headers["accept-encoding"])
        if len(asked) == 1:
            return httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=Unread())
        return httpx.Response(400, json={"detail": "as the test says"})

    with mocked(client, respond) as integers, pytest.raises(Refused, match="as the test says"):
        integers.next()

    assert asked == ["identity", "identity"]


def test_an_observer_that_fails_harms_no_call(client: Client, direct: Urls, caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: Event) -> None:
        raise RuntimeError("as the test says")

    with client(direct, observer=fail, **FIRST) as integers:
        assert integers.next() >= 1

    assert "the observer failed" in caplog.text


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_an_interrupted_first_call_leaves_every_region_to_be_checked(
    direct: Urls, nth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[object] = []
    start: Any = Threads.start

    def interrupted(threads: Threads, call: Any) -> bool:
        started.append(call)
        if len(started) == nth:
            raise KeyboardInterrupt
        return start(threads, call)

    monkeypatch.setattr(Threads, "start", interrupted)
    with Integers(direct, **FIRST) as integers:
        with pytest.raises(KeyboardInterrupt):
            integers.next()
        ends = time.monotonic() + HANG
        while "not measured" in repr(integers) and time.monotonic() < ends:
            integers.next()

        assert "not measured" not in repr(integers)


def test_an_interrupt_while_a_failed_fetch_is_cleaned_up_holds_nobody_up(
    proxies: RegionProxies, urls: Urls, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with Integers({"us-east-1": urls["us-east-1"]}, lease=20, **PATIENT) as integers, ThreadPoolExecutor(1) as pool:
        proxies["us-east-1"].fail("403")
        with monkeypatch.context() as patched:
            patched.setattr(LeaseBuffer, "end", interrupt)
            with pytest.raises(KeyboardInterrupt):
                integers.next()
        proxies["us-east-1"].recover()

        assert pool.submit(integers.next).result() >= 1


def test_closing_in_the_middle_of_a_call_is_no_failure_of_the_region(
    client: Client, proxies: RegionProxies, urls: Urls
) -> None:
    near = proxies["us-east-1"]
    near.hang_once()
    # A thread that waits for a response notices after attempt_timeout that its connection was closed.
    with client(urls, **{**FIRST, "attempt_timeout": 3}) as integers, ThreadPoolExecutor(1) as pool:
        call = pool.submit(integers.next)
        near.until(lambda: near.mints == 1)
        (integers.aclose if client is Tasks else integers.close)()

        near.until(lambda: near.mints == 2)
        near.recover()
        assert call.result() >= 1
        assert "left alone" not in integers.client.last.regions.known("us-east-1")
    assert [proxy.mints for proxy in proxies.values()][1:] == [0, 0]


def test_a_child_forked_while_its_thread_waits_for_a_block_mints(proxies: RegionProxies, urls: Urls) -> None:
    near, forked = proxies["us-east-1"], list[int]()
    parent = os.getpid()

    def fork(*_: object) -> None:
        forked.append(os.fork())
        if forked[0]:
            near.recover()  # the block comes, to the parent

    def fork_the_one_that_waits() -> None:
        waiting.wait(HANG)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGALRM)

    waiting = threading.Event()
    before = signal.signal(signal.SIGALRM, fork)
    near.hang_once()
    try:
        with Integers({"us-east-1": urls["us-east-1"]}, lease=20, **PATIENT) as integers:
            thread = threading.Thread(target=integers.next)
            thread.start()
            near.until(lambda: near.mints == 1)  # it fetches a block
            threading.Thread(target=fork_the_one_that_waits).start()
            with Lines(at=60, act=waiting.set):
                minted = integers.next()  # waits for that block, and is forked there
            if os.getpid() != parent:
                os._exit(0 if minted else 1)
            thread.join()
    finally:
        signal.signal(signal.SIGALRM, before)
        if os.getpid() != parent:
            os._exit(1)
    assert [os.waitpid(child, 0)[1] for child in forked] == [0]


def test_what_goes_on_in_the_background_ends_with_close(proxies: RegionProxies, urls: Urls) -> None:
    near, made = proxies["us-east-1"], list[httpx.Client]()

    def fetched_ahead(request: Request) -> bool:
        return to_mint(request) and bool(integers.client.last.io.background)

    def http() -> httpx.Client:
        made.append(httpx.Client())
        return made[-1]

    # A thread that waits for a response notices after attempt_timeout that its connection was closed.
    integers = Integers({"us-east-1": urls["us-east-1"]}, lease=1000, http=http, timeout=HANG, attempt_timeout=10)
    near.faults.append(Fault("ahead", matches=fetched_ahead, hold=True))
    while not near.injected["ahead"]:
        integers.next()
        if integers.client.last.io.background:
            near.until(lambda: near.injected["ahead"] > 0)
    minted = near.mints
    integers.close()
    near.recover()
    wait_for_background(integers)

    assert [client.is_closed for client in made] == [True]
    assert near.mints == minted
    assert "left alone" not in integers.client.last.regions.known("us-east-1"), "it didn't fail"


@pytest.mark.parametrize("lease", [1, 1000])
def test_a_signal_handler_may_mint_in_the_middle_of_a_call(direct: Urls, lease: int) -> None:
    minted: list[int] = []
    with Integers({"us-east-1": direct["us-east-1"]}, lease=lease, **PATIENT) as integers:
        for at in range(1, 1500, 75):
            with Lines(at=at, act=lambda: minted.append(integers.next())):
                minted.append(integers.next())

    assert len(set(minted)) == len(minted)


def test_threads_go_on_while_another_one_closes(direct: Urls) -> None:
    seen, ended = EventRecorder(), threading.Event()
    # A thread that waits for a response notices after attempt_timeout that its connection was closed.
    integers = Integers(direct, lease=5, observer=seen, prefer="us-east-1", timeout=HANG, attempt_timeout=3)

    def mint() -> list[int]:
        mine: list[int] = []
        while not ended.is_set():
            mine.append(integers.next())
        return mine

    with ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(mint) for _ in range(4)]
        try:
            for _ in range(10):
                since = len(seen.events)
                integers.close()
                seen.until(lambda event: isinstance(event, Leased), since)
        finally:
            ended.set()
        minted = [integer for run in runs for integer in run.result()]
    integers.close()

    assert len(set(minted)) == len(minted)


def test_a_call_that_waits_can_be_interrupted(proxies: RegionProxies, urls: Urls) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    near = proxies["us-east-1"]
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with Integers(urls, lease=20, **FIRST) as integers:
            main = threading.main_thread().ident or 0
            struck = Fault(matches=to_mint, notify=lambda: signal.pthread_kill(main, signal.SIGALRM))
            near.faults += [struck, FAULTS["hang"]]
            with pytest.raises(KeyboardInterrupt):
                integers.next()
            near.recover()
            assert integers.next()
    finally:
        signal.signal(signal.SIGALRM, before)


def fork_in_c() -> int:
    """Fork as a server written in C does, without Python's hooks."""
    return ctypes.PyDLL(None).fork()


def no_file_is_left() -> int:
    """Fork while no file can be opened, so that a child can't prepare its connections."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        return os.fork()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("fork", [os.fork, fork_in_c, no_file_is_left])
def test_a_child_hands_out_nothing_of_its_parents(
    direct: Urls, fork: Callable[[], int], wait_until_idle: WaitUntilIdle
) -> None:
    with Integers({"us-east-1": direct["us-east-1"]}, lease=1000, **PATIENT) as integers:
        for counter in (integers, integers["orders"]):
            minted = [counter.next() for _ in range(300)]
            wait_until_idle(integers)  # a fork in C while another thread runs may leave locks of Python's own behind
            for _ in range(2):
                minted += in_a_child(fork, lambda counter=counter: [counter.next() for _ in range(300)])
            minted += [counter.next() for _ in range(300)]
            assert len(set(minted)) == len(minted) == 1200


FORKED_WHILE_LOADING = """
import json, os, signal, sys, threading

began, forked = threading.Event(), threading.Event()

class Slow:
    def find_spec(self, name, *_):
        if name == "httpx":
            began.set()
            forked.wait(1)  # a fork that doesn't wait for this import has happened by then

sys.meta_path.insert(0, Slow())
from global_integers import Integers

integers = Integers(json.loads(sys.argv[1]), timeout=60)
thread = threading.Thread(target=integers.next)
thread.start()
began.wait()
child = os.fork()
if child == 0:
    signal.alarm(60)  # ends it, should it hang
    os._exit(0 if integers.next() else 1)
forked.set()
thread.join()
sys.exit(os.waitpid(child, 0)[1])
"""


def test_a_child_forked_while_the_first_call_imports_mints(direct: Urls) -> None:
    """Modules are imported with the first call. A child would wait for ever for the lock of one that is half there."""
    command = [sys.executable, "-c", FORKED_WHILE_LOADING, json.dumps(direct)]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": SOURCES}, capture_output=True, timeout=HANG)

    assert done.returncode == 0, done.stderr


class Unwiped(mmap.mmap):
    """A page of a system that takes the advice to wipe it in a child and doesn't follow it, as QEMU's user mode."""

    def madvise(self, *_: int) -> None:
        """Do nothing."""


@pytest.mark.parametrize("fork", [os.fork, fork_in_c])
def test_advice_that_is_only_taken_is_not_trusted(
    direct: Urls, fork: Callable[[], int], wait_until_idle: WaitUntilIdle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forks.mmap, "mmap", Unwiped)
    monkeypatch.setattr(forks, "_mark", None)
    monkeypatch.setattr(forks, "_following", {})
    assert not isinstance(forks.here(), mmap.mmap)

    test_a_child_hands_out_nothing_of_its_parents(direct, fork, wait_until_idle)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("lease", [SMALL, 50], ids=["fetching", "prefetching"])
def test_a_child_forked_in_the_middle_of_a_call_mints(direct: Urls, lease: int, wait_until_idle: WaitUntilIdle) -> None:
    children: list[int] = []
    parent = os.getpid()
    read, write = os.pipe()

    def fork() -> None:
        child = os.fork()
        children.append(child)
        if child == 0:
            signal.alarm(int(HANG))  # ends it, should it hang

    minted: list[int] = []
    try:
        # Parent and child may wait for the same response. One of them gets it, the other asks again after a second.
        with Integers(direct, lease=lease, timeout=HANG, attempt_timeout=1, prefer="us-east-1") as integers:
            with Lines() as fetching:
                minted += integers.take(5)
            lines = 2 * fetching.count if lease == SMALL else 200
            for n in range(10):
                wait_until_idle(integers)
                at = 1 + n * lines // 10
                with Lines(at, act=fork) as ran:
                    while len(children) == n:
                        minted.append(integers.next())
                last = [integers.next() for _ in range(20)]
                if os.getpid() != parent:
                    # Where only the return was left, both processes have the integer, as after any return.
                    own = minted[-1:] if ran.count - at > RETURN else []
                    os.write(write, json.dumps([*own, *last]).encode() + b"\n")
                    os._exit(0)
                minted += last
    finally:
        if os.getpid() != parent:
            os._exit(1)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 10
    os.close(write)
    with os.fdopen(read) as pipe:
        minted += [integer for line in pipe for integer in json.loads(line)]

    assert len(set(minted)) == len(minted)


def test_a_cancelled_call_leaves_the_client_usable(proxies: RegionProxies, urls: Urls) -> None:
    near = proxies["us-east-1"]

    async def mint() -> int:
        async with AsyncIntegers(urls, lease=10, **FIRST) as integers:
            near.fail("hang")
            for calls in range(1, 4):
                call = asyncio.create_task(integers.take(50) if calls == 1 else integers.next())
                await asyncio.to_thread(near.until, lambda calls=calls: near.mints == calls)
                call.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await call
            near.recover()
            return await integers.next()

    assert asyncio.run(mint()) >= 1


def test_event_loops_take_turns_with_a_client(direct: Urls) -> None:
    integers = AsyncIntegers(direct, lease=50, **PATIENT)

    async def some() -> list[int]:
        return [await integers.next() for _ in range(120)]

    minted = [integer for _ in range(3) for integer in asyncio.run(some())]
    asyncio.run(integers.aclose())

    assert len(set(minted)) == len(minted) == 360


def test_a_health_check_that_is_cancelled_is_repeated(proxies: RegionProxies, urls: Urls) -> None:
    far = proxies["eu-west-1"]
    far.hold_checks()

    async def mint() -> None:
        async with AsyncIntegers(urls, **FIRST) as integers:
            await integers.next()
            await asyncio.to_thread(far.until, lambda: far.checks == 1)
            await integers.aclose()
            assert "left alone" not in integers.client.last.regions.known("eu-west-1"), "nothing is known of it"
            far.release_checks()
            async with asyncio.timeout(HANG):
                while integers.client.last.regions.known("eu-west-1") == "not measured":
                    await integers.next()
                    await asyncio.sleep(0.05)

    asyncio.run(mint())


def http(client: Client, names: Names) -> Any:
    """Return what makes an HTTP client that knows the names."""
    return names.async_client if client is Tasks else names.client


def test_a_domains_regions_are_read_again_in_time(
    client: Client, names: Names, monkeypatch: pytest.MonkeyPatch, wait_until_idle: WaitUntilIdle
) -> None:
    with client(DOMAIN_URL, http=http(client, names), **FIRST) as integers:
        integers.next()
        monkeypatch.setattr(domain, "REFRESH", 0.0)
        integers.next()
        monkeypatch.setattr(domain, "REFRESH", inf)
        names.until(lambda: len(names.paths(HOST)) == 2)
        wait_until_idle(integers)

        assert names.paths(HOST) == ["/-/status", "/-/status"]


@pytest.mark.parametrize("leads", ["eu-west-1", "us-east-1"], ids=["it responds", "it fails, too"])
def test_after_a_region_has_left_the_domain_is_asked_again(
    names: Names, proxies: RegionProxies, leads: str, caplog: pytest.LogCaptureFixture
) -> None:
    names.hosts[HOST] = proxies["us-east-1"].url
    with Integers(DOMAIN_URL, http=names.client, **FIRST) as integers:
        integers.next()
        names.hosts[HOST] = proxies[leads].url
        proxies["us-east-1"].fail("410")
        with caplog.at_level(logging.WARNING):
            assert integers.next()
            assert integers.next()

        assert names.paths(HOST)[:2] == ["/-/status", "/-/status"]
    assert ("its regions stay us-east-1, eu-west-1, ap-southeast-2" in caplog.text) == (leads == "us-east-1")


def test_a_domain_on_this_machine_is_the_only_region(proxies: RegionProxies) -> None:
    proxy = proxies["us-east-1"]
    with Integers(proxy.url, counter="orders", **PATIENT) as integers:
        assert integers.next() < integers.next()
        assert integers.next(key="local") == integers.next(key="local")

    assert {request.path for request in proxy.requests} == {"/orders?count=1"}


def test_the_servers_iam_accepts_signatures(opened: Machine, direct: Urls, monkeypatch: pytest.MonkeyPatch) -> None:
    aws = Aws(opened.endpoint)
    functions: Any = aws.client("lambda", "eu-west-1")
    keys = user(aws, allowing("lambda:InvokeFunctionUrl") + allowing("lambda:InvokeFunction"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", keys.access_key)
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    url = {"eu-west-1": direct["eu-west-1"]}
    functions.update_function_url_config(FunctionName="global-integers-dev-mint", Qualifier="live", AuthType="AWS_IAM")
    try:
        for client in (Integers, Tasks):
            monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", keys.secret_key)
            with client(url, sign=True, **PATIENT) as integers:
                first = integers.next()
                assert integers.next(key="signed-too") == integers.next(key="signed-too")
                assert integers.owner(first, "integers").minted
            monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
            for sign in (None, True):
                with client(url, sign=sign, **PATIENT) as unknown, pytest.raises(Refused) as refused:
                    unknown.next()
                assert refused.value.status == 403
                hint = "\n".join(refused.value.hints)
                assert ("pip install botocore" in hint) is (sign is None), "who has signed needn't be told to"
    finally:  # the other tests don't sign
        functions.update_function_url_config(FunctionName="global-integers-dev-mint", Qualifier="live", AuthType="NONE")


@pytest.mark.parametrize(("callers", "calls", "lease"), [(50, 5000, 1000), pytest.param(200, 1000, 1, marks=LONG)])
def test_all_callers_share_a_client(client: Client, direct: Urls, callers: int, calls: int, lease: int) -> None:
    """200 are a web service under its first load test. The local server starts no worker for each of them."""
    with client(direct, lease=lease, **PATIENT) as integers, ThreadPoolExecutor(callers) as pool:
        minted = [call.result() for call in [pool.submit(integers.next) for _ in range(calls)]]

    assert len(set(minted)) == calls
