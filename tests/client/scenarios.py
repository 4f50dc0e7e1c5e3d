"""The specification of both clients: scenarios/*.json says what servers do, what a caller does, and what it gets.

A scenario has

- `name`, and `where` if it isn't for all places (see `places`)
- `options` of its client, by their names in Python; `$counter` is the name of a counter of which nothing is minted
- `each`: values of `"$each"`, one after the other; `"$each.0"` is the first member of a list
- `domain`: whether it knows only the domain's URL
- `regions`: those that the client knows, by default all
- `clock`: whether the clock of leases stands still, but for `passes`
- `ends_after`: regions; the time of calls is over once all of them have failed, however long that takes
- `steps`, one after the other: a change of the servers or the time, or a call with what it `gets` or `raises`
- `requests`: how many each region has seen, without health checks; and `events`, of each kind all that were observed

Where a client in another language has other words (`undefined` for None), a message is checked in parts.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from socket import create_server
from typing import Any, Protocol, cast, get_args

import httpx
from global_integers.testing import Fault as KitFault

from local.paths import ROOT
from proof.faulty_server import Fault, Request, Response
from tests.client.callers import Caller, Outcome
from tests.client.region_proxies import DOMAIN_URL, FAULTS, HOST, PATIENT, RegionProxy, to_check

REGIONS = ["us-east-1", "eu-west-1", "ap-southeast-2"]
FILES = sorted((ROOT / "tests" / "client" / "scenarios").glob("*.json"))


def _scenarios() -> Iterator[tuple[str, Mapping[str, Any]]]:
    for file in FILES:
        found: list[Mapping[str, Any]] = json.loads(file.read_text())
        for scenario in found:
            for number, value in enumerate(scenario.get("each", [None])):
                text = json.dumps(scenario).replace('"$each"', json.dumps(value))
                parts = cast("list[Any]", value) if isinstance(value, list) else []
                for nth, part in enumerate(parts):
                    text = text.replace(f'"$each.{nth}"', json.dumps(part))
                yield f"{file.stem}: {scenario['name']}{f' ({number})' if 'each' in scenario else ''}", json.loads(text)


SCENARIOS: Mapping[str, Mapping[str, Any]] = dict(_scenarios())
CALLS = ("next", "take", "iterate", "owner", "create", "health")
CHANGES = ("fail", "recover", "reply", "tick", "jump", "delete", "stack", "leads", "vanishes")
KIT = get_args(KitFault)
AS_SERVED: Mapping[str, Any] = {
    "timeout": "hang",
    "response lost": "cut after",
    "throttled": "429",
    "forbidden": "403",
    "error": "500",
    "unavailable": "503",
    "left": "410",
    "used up": "503",
}
"""How a server fails in the way of a region in memory."""


def places(scenario: Mapping[str, Any]) -> Sequence[str]:
    """Return where a scenario runs. What replies something else than a region needs no deployment.

    "memory" is the testing kit of the client's language; "loopback", servers of the regions of Python's kit;
    "deployment", servers before those of a deployment, whose functions are the real ones.
    """
    if "domain" in scenario:
        return ("loopback",)
    replies = any("reply" in step or step.get("fault", "refused") not in KIT for step in scenario["steps"])
    return scenario.get("where", ("loopback",) if replies else ("memory", "loopback", "deployment"))


class Place(Protocol):
    """Where the regions are."""

    urls: Any
    """None: in the memory of the caller's program."""

    def change(self, step: Mapping[str, Any]) -> Outcome:
        """Let a region fail, reply something else or recover, or let time pass."""
        ...

    def seen(self, events: Sequence[Sequence[Any]]) -> Mapping[str, int]:
        """Return how many requests each region has seen, without health checks."""
        ...


def seen_by(events: Sequence[Sequence[Any]]) -> Mapping[str, int]:
    """Return how many requests each region was sent, without health checks."""
    return Counter(event[1] for event in events if event[0] == "requested" and event[2] != "health")


class InMemory:
    """The testing kit of the caller's language."""

    def __init__(self, caller: Caller, counter: str) -> None:
        self._caller = caller
        self.urls = None
        caller.stack(REGIONS, ["integers", "orders", counter])

    def change(self, step: Mapping[str, Any]) -> Outcome:
        if "stack" in step:
            return self._caller.stack(**{"regions": REGIONS, "counters": ["integers"], **step["stack"]})
        if "fail" in step:
            return self._caller.change("fail", region=step["fail"], fault=step.get("fault", "refused"))
        if "recover" in step:
            return self._caller.change("recover", region=step["recover"])
        if "tick" in step:
            return self._caller.change("tick", seconds=step["tick"])
        return (
            self._caller.change("delete", counter=step["delete"]) if "delete" in step else self._caller.change("jump")
        )

    def seen(self, events: Sequence[Sequence[Any]]) -> Mapping[str, int]:
        return seen_by(events)


class Served:
    """Servers before the regions of a kit or of a deployment."""

    def __init__(self, caller: Caller, proxies: Mapping[str, RegionProxy]) -> None:
        self._caller = caller
        self._proxies = proxies
        self.urls: Any = {region: proxy.url for region, proxy in proxies.items()}
        caller.hosts = {}

    def change(self, step: Mapping[str, Any]) -> Outcome:
        region = step.get("recover") or step.get("reply") or step["fail"]
        if "recover" in step:
            self._proxies[region].recover()
        elif "reply" in step:
            self._reply(self._proxies[region], step)
        elif step.get("fault", "refused") == "refused":
            with closing(create_server(("127.0.0.1", 0))) as server:
                self.urls[region] = f"http://127.0.0.1:{server.getsockname()[1]}/"
        else:
            self._proxies[region].fail(AS_SERVED.get(step["fault"], step["fault"]))
        hang = FAULTS["hang"]
        self._caller.silent = [proxy.url for proxy in self._proxies.values() if hang in proxy.faults]
        return {"value": None}

    def _reply(self, proxy: RegionProxy, step: Mapping[str, Any]) -> None:
        body, method = step.get("body", ""), step.get("to", "")

        def strikes(request: Request) -> bool:
            return not to_check(request) if method == "" else request.method == method

        document = body if isinstance(body, str) else json.dumps(body)
        json_type = "application/problem+json" if step.get("status", 200) >= 400 else "application/json"
        headers = {"Content-Type": "text/html" if isinstance(body, str) else json_type, **step.get("headers", {})}
        reply = Response(step.get("status", 200), document.encode(), headers)
        proxy.faults.append(Fault(matches=strikes, replies=(reply,), times=step.get("times")))

    def seen(self, events: Sequence[Sequence[Any]]) -> Mapping[str, int]:
        return {
            region: sum(not to_check(request) for request in proxy.requests) for region, proxy in self._proxies.items()
        }


class AtDomain(Served):
    """The same servers, behind the names of a domain."""

    def __init__(self, caller: Caller, proxies: Mapping[str, RegionProxy]) -> None:
        super().__init__(caller, proxies)
        self._servers = {f"{region}.{HOST}": url for region, url in self.urls.items()}
        self.urls = DOMAIN_URL
        caller.hosts = {**self._servers, HOST: proxies[REGIONS[0]].url}

    def change(self, step: Mapping[str, Any]) -> Outcome:
        hosts = dict(self._caller.hosts)
        if "leads" in step:
            hosts[HOST] = self._servers[f"{step['leads']}.{HOST}"]
        elif "vanishes" in step:
            del hosts[HOST if step["vanishes"] == HOST else f"{step['vanishes']}.{HOST}"]
        else:
            return super().change(step)
        self._caller.hosts = hosts
        return {"value": None}

    def seen(self, events: Sequence[Sequence[Any]]) -> Mapping[str, int]:
        return seen_by(events)


@dataclass
class Run:
    """A scenario that is carried out."""

    scenario: Mapping[str, Any]
    place: Place
    caller: Caller
    saved: dict[str, Any] = field(default_factory=dict[str, Any])
    clients: list[str] = field(default_factory=list[str])

    def carry_out(self) -> None:
        """Carry out all steps, and check what is got."""
        self.caller.time = 1000.0 if self.scenario.get("clock") else None
        for number, step in enumerate(self.scenario["steps"], 1):
            name = next((name for name in (*CALLS, "open", "outputs", "close") if name in step), None)
            if "passes" in step:
                self.caller.time += step["passes"]
            elif name is None:
                how = next(how for how in CHANGES if how in step)
                for what in REGIONS if step[how] == "everywhere" else [step[how]]:
                    self._check(self.place.change({**step, how: what}), step, f"step {number}: {step}")
            elif name == "close":
                self.caller.close(step.get("client", "a client"))
            else:
                self._check(self._done(name, step), step, f"step {number}: {step}")
        if "requests" in self.scenario or "events" in self.scenario:
            self._check_seen()

    def _done(self, name: str, step: Mapping[str, Any]) -> Outcome:
        client = step.get("client", "a client")
        if name == "outputs":
            return self.caller.outputs(step["outputs"])
        if name == "open":
            client = step["open"] or client
            return self._open(client, step.get("urls", self.place.urls), step.get("options", {}))
        if client not in self.clients:
            self._open(client, self.place.urls, self.scenario.get("options", {}))
        arguments = {**step[name]}
        counter = arguments.pop("counter", None)
        outcomes = [self.caller.call(client, name, counter, arguments) for _ in range(step.get("times", 1))]
        values = [outcome.get("value") for outcome in outcomes]
        return {"value": values} if "times" in step and "raises" not in step else outcomes[-1]

    def _open(self, client: str, urls: Any, options: Mapping[str, Any]) -> Outcome:
        settings = {**PATIENT, **options}
        if "regions" in self.scenario:
            urls = {region: urls[region] for region in self.scenario["regions"]}
        opened = self.caller.open(client, urls, settings, self.scenario.get("ends_after", ()))
        self.clients.append(client)
        return opened

    def _check(self, outcome: Outcome, step: Mapping[str, Any], where: str) -> None:
        if "raises" in step:
            assert "error" in outcome, f"{where} got {outcome}"
            _check_error(outcome["error"], step["raises"], where)
            return
        assert "error" not in outcome, f"{where} raised {outcome['error']}"
        if "gets" in step:
            assert self._is(outcome["value"], step["gets"]), f"{where} got {outcome['value']}"
        if "saves" in step:
            self.saved[step["saves"]] = outcome["value"]

    def _is(self, value: Any, expected: Any) -> bool:
        if not isinstance(expected, dict):
            return value == expected
        ((how, what),) = cast("Mapping[str, Any]", expected).items()
        if how == "any_of":
            return value in what
        return value == self.saved[what] if how == "saved" else how == "has" and _has(value, what)

    def _check_seen(self) -> None:
        events = [event for client in self.clients for event in self.caller.events(client)]
        seen = self.place.seen(events)
        wanted = self.scenario.get("requests", {})
        assert {region: seen[region] for region in wanted} == wanted
        for kind, expected in self.scenario.get("events", {}).items():
            assert [event[1:] for event in events if event[0] == kind] == expected


def _has(value: Any, expected: Any) -> bool:
    """Return whether the members of a result are as expected. What isn't known may be left out."""
    if not isinstance(expected, dict):
        return value == expected
    return all(_has(value.get(name), of) for name, of in cast("Mapping[str, Any]", expected).items())


def _check_error(error: Mapping[str, Any], expected: Mapping[str, Any], where: str) -> None:
    message = re.sub(r"\((127\.0\.0\.1:\d+|[\w-]+\.integers\.test)\)", "(URL)", error["message"])
    assert error["type"] == expected["type"], f"{where} raised {error}"
    parts = expected.get("message", [])
    for part in [parts] if isinstance(parts, str) else parts:
        assert part in message, f"{where} said {message}"
    for part in expected.get("says_not", []):
        assert part not in message, f"{where} said {message}"
    for part in expected.get("says_once", []):
        assert message.count(part) == 1, f"{where} said {message}"
    if "status" in expected:
        assert error["status"] == expected["status"]
    if "reasons" in expected:
        assert sorted(error["reasons"]) == sorted(expected["reasons"]), f"{where} said {message}"
        assert all(why in error["reasons"][region] for region, why in expected["reasons"].items()), message


def created(counter: str, urls: Mapping[str, str]) -> None:
    """Create a counter at the regions' own URLs."""
    made = httpx.put(f"{urls['us-east-1']}{counter}", timeout=PATIENT["timeout"])
    assert made.status_code == 201, made.text
