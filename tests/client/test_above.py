"""`global-integers check --above`: it says yes only if nobody gets an integer up to a number any more."""

import json
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from global_integers import Integers, command_line
from global_integers.above import CALL, LEASED, judge, seconds_to_wait
from global_integers.minting.api import Failure, FailureKind
from global_integers.minting.options import urls_from
from global_integers.testing import Stack
from mint.api.problems import status
from mint.leases import LIFETIME

from local.paths import ROOT
from proof.faulty_server import Fault, Request, Response, Server
from proof.simulation import schedule
from proof.simulation.checks import CheckedWorld
from tests.client.commands import Command, Done
from tests.client.region_proxies import PATIENT
from tests.local.machine import Machine, mint, up

THREE = ("us-east-1", "eu-west-1", "ap-southeast-2")
ABOVE = 5_000_000


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the command has waited. It takes no time."""
    waited: list[float] = []
    monkeypatch.setattr(command_line, "sleep", waited.append)
    return waited


def state(named: str, **other: Any) -> dict[str, Any]:
    """Return the status document of a region whose counter began at the floor, and what differs."""
    document: dict[str, Any] = {"region": named, "counter": "orders", "ok": True, "epoch": 1, "base": ABOVE + 1}
    offset = THREE.index(named) + 1
    document |= {"position": ABOVE - 3 + offset, "ceiling": ABOVE + 3000 + offset, "stride": 3, "fenced": False}
    document |= {"pending": False, "regions": [*THREE], "bases": dict.fromkeys(THREE, ABOVE + 1)}
    return {name: value for name, value in (document | other).items() if value is not ...}


LATER = {"epoch": 2, "bases": dict.fromkeys(THREE, 1)}
"""Of a counter that was there before its floor."""


def answering(states: Mapping[str, Mapping[str, Any]], faults: Iterable[Fault] = ()) -> Server:
    """Return a server of regions, each at its name, with these documents."""

    async def respond(request: Request) -> Response:
        region, _, path = request.path.strip("/").partition("/")
        assert path == "-/status?counter=orders"
        return Response(200, json.dumps(states[region]).encode(), {"Content-Type": "application/json"})

    return Server(respond, faults)


def asked(command: Command, server: Server, *options: str, regions: Iterable[str] = THREE) -> Done:
    """Return what the command says of these regions."""
    urls = {region: f"{server.url}/{region}/" for region in regions}
    return command("check", "orders", "--no-sign", "--above", str(ABOVE), *options, urls=urls)


WRONG: dict[tuple[str, ...], str] = {
    ("--above", "many"): "argument --above: 'many' is not an integer from 0 to 9007199254740991",
    ("--above", "5,000"): "argument --above: '5,000' is not an integer",
    ("--above", "1.5"): "argument --above: '1.5' is not an integer",
    ("--above", ""): "argument --above: '' is not an integer",
    ("--above", "-1"): "argument --above: '-1' is not an integer from 0",
    (
        "--above",
        "9007199254740992",
    ): "argument --above: '9007199254740992' is not an integer from 0 to 9007199254740991",
    ("--above", "5", "--leases", "-1"): "argument --leases: '-1' is not an integer from 0 to 86400",
    ("--above", "5", "--leases", "86401"): "argument --leases: '86401' is not an integer from 0 to 86400",
    ("--above", "5", "--deleted", "Europe"): "argument --deleted: 'Europe' is not the name of an AWS region",
    ("--leases", "60"): "--leases and --deleted need --above",
    ("--deleted", "eu-west-1"): "--leases and --deleted need --above",
    ("--above", "5", "Orders"): "'Orders' is not a counter's name",
}


@pytest.mark.parametrize("options", WRONG, ids=" ".join)
def test_a_wrong_option_is_refused_before_any_request(command: Command, options: tuple[str, ...]) -> None:
    with answering({}) as server:
        done = command("check", *options, urls={"eu-west-1": f"{server.url}/"})

    assert (done.status, done.stdout, server.requests) == (2, "", [])
    assert WRONG[options] in done.stderr


def test_a_counter_that_began_above_needs_no_waiting(command: Command, waits: list[float]) -> None:
    with answering({region: state(region) for region in THREE}) as server:
        done = asked(command, server)
        as_json = asked(command, server, "--json")

    assert (done.status, waits) == (0, [])
    assert done.stdout == f"orders: nobody gets an integer up to {ABOVE} any more\n"
    assert json.loads(as_json.stdout) == {"ok": True, "above": ABOVE, "wrong": []}


@pytest.mark.parametrize(("leases", "seconds"), [(None, 0), (0, 40), (60, 90), (86_400, 86_430)])
def test_what_was_leased_before_is_waited_for(
    command: Command, waits: list[float], leases: int | None, seconds: int
) -> None:
    with answering({region: state(region, **LATER) for region in THREE}) as server:
        done = asked(command, server, *([] if leases is None else ["--leases", str(leases)]))

    assert (done.status, sum(waits)) == (1 if leases is None else 0, seconds)
    if leases is None:
        assert f"wrong: orders: what was minted up to {ABOVE} before may still be leased\n" in done.stdout
        assert "--leases 0 if none leases, 60 if none sets it, up to 86,400" in done.stdout


def test_a_lease_lasts_as_long_as_functions_say() -> None:
    registered = "".join(path.read_text() for path in (ROOT / "tests" / "components" / "registered").glob("*.txt"))
    minting = [line for line in registered.splitlines() if "handler=mint.handler.handler" in line]

    assert LEASED == LIFETIME
    assert max(int(re.findall(r" timeout=(\d+)", line)[0]) for line in minting) == CALL
    assert seconds_to_wait(5) == CALL + LEASED


US, EU, AP = THREE
LOW = {"base": 1, "position": 4}
CLOSED = {"position": 4, "ceiling": 4, "fenced": True, "base": 1}
LEFT = {"regions": [US, EU], "bases": {**dict.fromkeys(THREE, 1)}, "epoch": 2}
NEW = {"bases": {**dict.fromkeys(THREE, ABOVE + 1), "us-west-2": ABOVE + 7}}

SITUATIONS: dict[str, tuple[dict[str, dict[str, Any]], tuple[str, ...], str]] = {
    "one region is below": ({EU: LATER | LOW}, (), f"{EU} may mint 7\n"),
    "the last integer was the number": ({EU: LATER | {"position": ABOVE, "base": 1}}, (), ""),
    "the last but one was": ({EU: LATER | {"position": ABOVE - 1, "base": 1}}, (), f"{EU} may mint from {ABOVE} on"),
    "none yet": ({US: LATER | {"position": -2, "base": 1}}, (), f"{US} may mint 1\n"),
    "its stride is unknown": ({EU: LATER | LOW | {"stride": ...}}, (), f"{EU} may mint from 5 on"),
    "an older epoch goes on": ({US: LATER, AP: LATER, EU: LOW | {"pending": True}}, (), f"{EU} may mint 7\n"),
    "the base is not on record": ({EU: {"base": None}}, (), f"{EU} may mint from {ABOVE} on"),
    "fenced, and to begin the next epoch": ({EU: CLOSED}, (), f"{EU} may mint from 5 on"),
    "there is no counter": ({EU: {"epoch": None, "position": None, "reason": "there is no counter"}}, (), "no counter"),
    "no layouts are on record": ({EU: {"regions": [], "bases": {}}}, (), f"{EU}: it has no layouts on record"),
    "an older version": ({EU: {"bases": ...}}, (), f"{EU}: its response has no bases; is its version older"),
    "another region's URL": ({EU: {"region": AP}}, (), f"{EU}: the response is of the region {AP!r}"),
    "another counter": ({EU: {"counter": "invoices"}}, (), f"{EU}: the response is about counter 'invoices'"),
    "nonsense": ({EU: {"position": "7"}}, (), f"{EU}: the response has no position"),
    "nonsense of the past": ({EU: {"bases": {EU: "7"}}}, (), f"{EU}: its response has no bases"),
    "nonsense of the layout": ({EU: {"regions": 7}}, (), f"{EU}: it has no layouts on record"),
    "nonsense of the base": ({EU: {"base": "7"}}, (), f"{EU} may mint from {ABOVE} on"),
    "left, and closed": ({US: LEFT, EU: LEFT, AP: LEFT | CLOSED}, (), ""),
    "left, and not closed": ({US: LEFT, EU: LEFT, AP: LEFT | LOW}, (), f"{AP} has left, but may mint 7 until"),
    "left, and closed in an older epoch": (
        {US: LEFT, EU: LEFT, AP: LEFT | CLOSED | {"epoch": 1}},
        (),
        f"{AP} has left, but may mint from 5 on until",
    ),
    "left, and not asked": ({US: LEFT, EU: LEFT, AP: {}}, (), f"{AP} had the counter, and wasn't asked"),
    "left, and deleted": ({US: LEFT, EU: LEFT, AP: {}}, ("--deleted", AP), ""),
    "deleted, it says, but it isn't": ({US: LATER, EU: LATER, AP: {}}, ("--deleted", AP), f"{AP} is in the layout"),
    "never below": ({US: NEW, EU: NEW, AP: NEW}, (), ""),
}
"""What the regions say, the options, and what is wrong. A region that says nothing isn't asked."""


@pytest.mark.slow
@pytest.mark.parametrize("situation", SITUATIONS)
def test_nobody_can_mint_it_any_more(command: Command, waits: list[float], situation: str) -> None:
    others, options, wrong = SITUATIONS[situation]
    said = {region: state(region, **others.get(region, {})) for region in THREE if others.get(region, True)}
    with answering(said) as server:
        done = asked(command, server, "--leases", "0", *options, regions=said)

    assert (done.status, wrong in done.stdout) == (1 if wrong else 0, True), done.stdout
    has_floor = "Set a floor: `pulumi config set --path floors.orders 5000001`" in done.stdout
    assert has_floor == (" may mint" in wrong and " left" not in wrong)
    if wrong:
        assert (waits, done.stdout.startswith("wrong: orders: ")) == ([], True)


@pytest.mark.parametrize(
    "fault",
    [
        Fault(replies=[Response(503)]),
        Fault(replies=[Response(429)]),
        Fault(replies=[b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{}"], end="close"),
        Fault(replies=[Response(200, b"<html>")]),
        Fault(end="close"),
        Fault(end="reset"),
    ],
    ids=["503", "429", "cut", "HTML", "closed", "reset"],
)
def test_a_region_that_does_not_answer_is_no_yes(command: Command, waits: list[float], fault: Fault) -> None:
    def of_one_region(request: Request) -> bool:
        return request.path.startswith(f"/{EU}/")

    answers = {region: state(region) for region in THREE}
    with answering(answers) as server, server.failing(replace(fault, matches=of_one_region)):
        done = asked(command, server, "--leases", "0")

    assert (done.status, waits) == (1, [])
    assert done.stdout.startswith(f"wrong: orders: {EU}: ")


def test_regions_that_are_leaving_are_asked_too(command: Command, waits: list[float], tmp_path: Path) -> None:
    states = {US: state(US, **LEFT), EU: state(EU, **LEFT), AP: state(AP, **LEFT | CLOSED)}
    outputs = tmp_path / "outputs.json"
    with answering(states) as server:
        urls = {region: f"{server.url}/{region}/" for region in THREE}
        outputs.write_text(json.dumps({"urls": {US: urls[US], EU: urls[EU]}, "leaving": {AP: urls[AP]}}))
        done = command("check", "orders", "--no-sign", "--above", str(ABOVE), "--leases", "0", urls=str(outputs))
        deleted = asked(command, server, "--leases", "0", "--deleted", AP, regions=[US, EU])
        with server.failing(Fault(matches=lambda request: request.path.startswith(f"/{AP}/"), end="close")):
            still_there = asked(command, server, "--leases", "0", "--deleted", AP)

    assert ([done.status, deleted.status, still_there.status], waits) == ([0, 0, 0], [40, 40, 40])
    assert urls_from(str(outputs)) == {US: urls[US], EU: urls[EU]}, "nobody mints there"


def test_each_counter_that_is_named_is_checked(
    command: Command, in_memory: Callable[..., Stack], waits: list[float]
) -> None:
    stack = in_memory()
    stack.integers()["orders"].take(10)
    low = command("check", "integers", "orders", "--above", "30", urls=URLS)
    stack.jump()
    high = command("check", "integers", "orders", "--above", "3000000", "--leases", "60", urls=URLS)
    stack.regions[1].fail("left")
    stack.regions[2].fail("timeout")
    down = command("check", "--above", "3000000", urls=URLS)

    assert (low.status, low.stdout.count("wrong: orders: "), low.stdout.count("wrong: integers: ")) == (1, 3, 3)
    assert "wrong: orders: us-east-1 may mint from 29 on\n" in low.stdout
    assert "wrong: integers: us-east-1 may mint 1\nwrong: integers: eu-west-1 may mint 2\n" in low.stdout
    assert (high.status, waits) == (0, [90])
    assert "global-integers: waiting 90 s for calls that may be under way, and for what may be leased\n" in high.stderr
    assert down.status == 1
    assert down.stdout.startswith("wrong: integers: ap-southeast-2: no response")


def integer_of(url: str) -> int:
    """Mint an order's number in a region."""
    return mint(url, "orders")[1]["integer"]


def test_on_a_stack_a_yes_is_kept(
    command: Command, fresh: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With functions and clients that lease all the time, a region that is paused, and one that is removed."""
    settings = ('counters=["integers", "orders"]', "lease=100", f'floors={{"orders": {ABOVE + 1}}}')
    machine, outputs = up(fresh, settings=settings[:2]), tmp_path / "outputs.json"

    def check(*options: str, counter: str = "orders", number: int = ABOVE) -> Done:
        outputs.write_text(json.dumps(machine.outputs()))
        return command("check", counter, "--above", str(number), *options, urls=str(outputs))

    urls = machine.outputs()["urls"]
    first: list[int] = []
    late: list[int] = []
    is_safe, ends = threading.Event(), threading.Event()

    def mint_on(call: Callable[[], int]) -> None:
        first.append(call())
        while not ends.wait(0.001):
            if is_safe.is_set():
                late.append(call())
            else:
                call()

    with (
        ThreadPoolExecutor() as pool,
        Integers(urls, counter="orders", lease=1000, lease_seconds=5, **PATIENT) as leasing,
    ):
        try:
            functions = [partial(integer_of, url) for url in urls.values()]
            calls = [pool.submit(mint_on, call) for call in (*functions, leasing.next)]
            unknown, low = check(counter="nothing"), check()
            assert (unknown.status, unknown.stdout.count("there is no counter 'nothing' in this region")) == (1, 3)
            assert (low.status, low.stdout.count(" may mint ")) == (1, 3)
            assert up(machine, settings=settings) is machine
            refused, accepted = check(), check("--leases", "5")
            is_safe.set()
            while len(late) < 1000:
                assert not any(call.done() for call in calls)
        finally:
            ends.set()
    assert (refused.status, "may still be leased" in refused.stdout) == (1, True)
    assert accepted.status == 0, accepted.stdout
    assert min(late) > ABOVE >= max(first)

    waited: list[float] = []
    monkeypatch.setattr(command_line, "sleep", waited.append)
    up(machine, settings=(*settings, f'paused=["{EU}"]'))
    paused = check("--leases", "0")
    assert (paused.status, f"wrong: orders: {EU}: 429: " in paused.stdout, waited) == (1, True, [])
    up(machine, US, EU, settings=(*settings, f'leaving=["{AP}"]'))
    left = check("--leases", "0")
    alone = command("check", "orders", "--above", str(ABOVE), urls=machine.outputs()["urls"])
    assert (left.status, waited) == (0, [40]), left.stdout
    assert (alone.status, f"{AP} had the counter, and wasn't asked" in alone.stdout) == (1, True)
    up(machine, US, EU, settings=settings)
    assert (check().status, check("--leases", "0", "--deleted", AP).status) == (1, 0)


URLS = {"eu-west-1": "https://eu-west-1.test/"}
"""Of a stack in memory: they aren't used."""


class PromisedWorld(CheckedWorld):
    """A world that asks every now and then above what number nobody mints any more, and holds it to that."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.random = Random(1)
        self.promises: dict[str, int] = {}
        self.said = {"new": 0, "leaving": 0, "all": 0}

    def mint_block(self, region: str, count: int | None, counter: str = "c") -> list[int]:
        if self.random.random() < 0.2:
            self.promise(counter)
        integers = super().mint_block(region, count, counter)
        if region not in self.restored:  # the exception that nobody can know of
            assert all(integer > self.promises.get(counter, 0) for integer in integers)
        return integers

    def promise(self, counter: str) -> None:
        """Ask above which number the present answers allow a yes."""
        record = self.record
        deleted = {name for name in schedule.REGIONS if not self.table(name)}
        deleted -= {*record.desired.everywhere} if record else set()
        answers = [(name, self.answer(name, counter)) for name in schedule.REGIONS if name not in deleted]
        documents = [answer for _, answer in answers if not isinstance(answer, Failure)]
        numbers = {max(each["position"], (each["base"] or 1) - 1) for each in documents if each["epoch"]}
        for number in sorted(numbers, reverse=True):
            found = judge(counter, answers, number, deleted)
            if not found.wrong:
                minted = [n for name, n in self.minted if name == counter and n <= number]
                assert found.minted or not minted
                self.said["new"] += not found.minted
                self.said["leaving"] += any(each["ceiling"] < number for each in documents if each["fenced"])
                self.said["all"] += 1
                self.promises[counter] = max(number, self.promises.get(counter, 0))
                return

    def answer(self, region: str, counter: str) -> Mapping[str, Any] | Failure:
        """Return a region's status, as the function gives it."""
        if self.table(region) is None:
            return Failure(FailureKind.SILENT, "no response")
        return json.loads(status(self.function(region), region, counter, html=False)["body"])


@pytest.mark.slow
def test_in_random_schedules_a_yes_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "CheckedWorld", PromisedWorld)
    said = dict.fromkeys(("new", "leaving", "all"), 0)
    for seed in range(15):
        world = schedule.RandomSchedule(seed).run()
        assert isinstance(world, PromisedWorld)
        said = {name: number + world.said[name] for name, number in said.items()}

    assert all(said.values()), said
