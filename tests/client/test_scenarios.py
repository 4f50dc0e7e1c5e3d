"""Both clients do what scenarios/*.json says, with the testing kits, with servers that fail, and with a deployment."""

import json
from collections.abc import Generator, Sequence
from itertools import count
from typing import Any

import pytest
from global_integers.testing import Stack

from tests.client.callers import Caller, PythonCaller, TypeScriptCaller
from tests.client.region_proxies import answered_by, proxies_to
from tests.client.scenarios import REGIONS, SCENARIOS, AtDomain, InMemory, Run, Served, created, places

CALLERS = ("threads", "tasks", "TypeScript")
MARKS: dict[tuple[str, str], Sequence[pytest.MarkDecorator]] = {
    **{("deployment", caller): [pytest.mark.server] for caller in CALLERS},
    **{("deployment", caller): [pytest.mark.server, pytest.mark.long] for caller in ("tasks", "TypeScript")},
    **{("loopback", caller): [pytest.mark.slow] for caller in CALLERS},
    ("memory", "tasks"): [pytest.mark.slow],
}
CASES = [
    pytest.param(name, place, caller, marks=MARKS.get((place, caller), ()), id=f"{name}, {place}, {caller}")
    for name, scenario in SCENARIOS.items()
    for place in places(scenario)
    for caller in CALLERS
]
NUMBERS = count(1)


@pytest.fixture(scope="module")
def typescript() -> Generator[TypeScriptCaller]:
    """A process of Node.js for all scenarios."""
    caller = TypeScriptCaller()
    yield caller
    caller.end()


@pytest.fixture
def caller(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Generator[Caller]:
    """A program with clients."""
    kind = request.getfixturevalue("kind")
    if kind == "TypeScript":
        made = request.getfixturevalue("typescript")
        made.silent, made.hosts = (), {}
        yield made
        return
    made = PythonCaller(monkeypatch, tasks=kind == "tasks")
    yield made
    made.end()


@pytest.mark.parametrize(("name", "place", "kind"), CASES)
def test_a_scenario(name: str, place: str, kind: str, caller: Caller, request: pytest.FixtureRequest) -> None:
    counter = f"scenario-{next(NUMBERS)}"
    scenario: Any = json.loads(json.dumps(SCENARIOS[name]).replace("$counter", counter))
    if place == "memory":
        Run(scenario, InMemory(caller, counter), caller).carry_out()
    elif place == "loopback":
        stack = Stack(REGIONS, counters=["integers", "orders", counter], max_counters=1000)
        with proxies_to({region.name: answered_by(region) for region in stack.regions}) as proxies:
            place_of = AtDomain if "domain" in scenario else Served
            Run(scenario, place_of(caller, proxies), caller).carry_out()
    else:
        created(counter, request.getfixturevalue("direct"))
        Run(scenario, Served(caller, request.getfixturevalue("proxies")), caller).carry_out()
