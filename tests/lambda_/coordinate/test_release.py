"""A version is checked, then a region's alias moves to it, and back: on aliases in memory."""

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any

import pytest
from coordinate.check import ATTEMPTS, PATIENCE, PAUSE
from coordinate.events import Check, Release
from coordinate.functions import (
    Alias,
    AliasError,
    Ask,
    Functions,
    MintResponse,
    alias_of,
    answer_of,
)
from coordinate.protocol import operations as op
from coordinate.protocol.model import DeploymentRecord, Refused
from coordinate.release import back, check_version, release
from mint.api.problems import missing
from mint.api.reply import problem_response

from global_integers_core.names import LIVE_ALIAS
from tests.lambda_.coordinate.sample_records import desired

REGIONS = ("a", "b", "c")
ASKED = Check("a", "integers", "7", "1+f", "new")
URL = "https://abc.lambda-url.a.on.aws/"
BROKEN = MintResponse("an error of the function: Runtime.ImportModuleError: no module", log="Traceback: no module")
NO_ALIAS = MintResponse("ResourceNotFoundException (404): Function not found")


def said_by(build: str, path: str) -> MintResponse:
    """Return what a function of this build answers where there is no counter yet."""
    if path == "/-/status":
        return MintResponse(f"200 {build}", 200, {"version": "1+f", "build": build})
    problem = missing("-check" if path == "/-check" else "integers", in_health_check=path == "/-/health")
    if path == "/-/health":
        problem.members["build"] = build
    return answer_of(problem_response(problem, "a"))


def always(answer: MintResponse, _path: str) -> MintResponse:
    return answer


def broken_by(build: str, path: str) -> MintResponse:
    """Return what a function of this build answers if it is healthy, but can't mint."""
    return said_by(build, path) if path == "/-/health" else MintResponse("500", 500)


class InMemory(Functions):
    """Functions whose versions work, but for the broken ones, and their aliases. Some regions don't answer."""

    def __init__(self, broken: Iterable[str] = (), down: Iterable[str] = (), denied: Iterable[str] = ()) -> None:
        self.live: dict[str, Any] = {
            region: Alias("5", "old", "", "2026-11-24T00:00:00Z", proven=True) for region in REGIONS
        }
        self.asked: list[tuple[str, str]] = []
        """Each version, alias or URL that was asked, with its region."""
        self.broken, self.down, self.denied = {*broken}, {*down}, {*denied}
        self.build = "new"
        """What the functions say that they are."""
        self.lag = 0.0
        """For how many seconds after a move an alias leads elsewhere."""
        self.meanwhile: Callable[[str], MintResponse] = partial(said_by, "old")
        """What is answered there."""
        self._moved = -inf
        self._clock = iter(range(10_000))

    def ask(self, region: str, qualifier: str) -> Ask:
        self.asked.append((region, qualifier))

        def answer(_method: str, path: str) -> MintResponse:
            if not qualifier.isdigit() and time.monotonic() < self._moved + self.lag:
                return self.meanwhile(path)
            return BROKEN if qualifier in self.broken else said_by(self.build, path)

        return answer

    def ask_url(self, region: str, url: str) -> Ask:
        return self.ask(region, url)

    def alias(self, region: str, name: str = LIVE_ALIAS) -> Alias | None:
        self._reach(region)
        return self.live[region]

    def move(self, region: str, alias: Alias, version: str, description: str, name: str = LIVE_ALIAS) -> None:
        self._reach(region)
        if alias.revision != self.live[region].revision:
            raise AliasError("PreconditionFailed")
        revision = str(next(self._clock))
        found = alias_of({"FunctionVersion": version, "Description": description, "RevisionId": revision})
        self.live[region] = replace(found, since=f"2026-11-25T{revision:0>6}")
        self._moved = max(self._moved, time.monotonic()) if version == alias.version else time.monotonic()

    def _reach(self, region: str) -> None:
        if region in self.down:
            raise AliasError("no answer")
        if region in self.denied:
            raise AliasError("AccessDeniedException", denied=True)

    def versions(self) -> list[str]:
        return [alias.version if alias else "" for alias in self.live.values()]


RECORD = DeploymentRecord("layouts 1", "1/0", 1, "", 0, desired(*REGIONS), reconciled=True)


def tables(record: DeploymentRecord | None = RECORD, item: Any = None, recorded: Any = None) -> Any:
    """Return what carries out the reads of tables without counters."""
    answers: dict[type, Any] = {
        op.ReadItem: item,
        op.ReadRecorded: recorded,
        op.ReadAdmitted: record and record.admitted,
        op.ReadRecord: record,
        op.DescribeLayouts: "layouts 1",
        op.DescribeMirror: "mirror 1",
    }

    def carry_out(operation: object) -> Any:
        return answers[type(operation)]

    return carry_out


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Time passes only while the coordinator waits."""
    slept: list[float] = [0.0]
    monkeypatch.setattr("time.sleep", slept.append)
    monkeypatch.setattr("time.monotonic", lambda: sum(slept))
    return slept


def refused(asked: Check | Release, functions: InMemory, record: DeploymentRecord | None = RECORD) -> str:
    run: Any = check_version if isinstance(asked, Check) else release
    with pytest.raises(Refused) as refusal:
        run(asked, tables(record), functions)
    return str(refusal.value)


def test_a_new_version_is_asked_by_its_number() -> None:
    functions = InMemory()

    assert check_version(ASKED, tables(), functions) == {"checked": "a"}
    assert (functions.asked, functions.versions()) == ([("a", "7")], ["5", "5", "5"])


def test_a_version_that_fails_is_shown_with_its_log() -> None:
    functions = InMemory(broken=["7"])
    functions.live["b"] = Alias("6", "new", "", "2026-11-25T00:00:00Z", "5")

    text = refused(ASKED, functions)
    assert text.startswith("a: version 7 of the minting function (1+f) doesn't work. GET /-/health: expected")
    assert "Runtime.ImportModuleError: no module. No caller reaches it." in text
    assert "Aliases that have moved to this build: b; that haven't: a, c." in text
    assert text.endswith("The end of the function's log:\nTraceback: no module")
    silent = refused(ASKED, InMemory(broken=["7"], down=["b"]))
    assert "this build: none; that haven't: a, c; that don't answer: b." in silent
    functions.live["a"] = None
    assert "this build: none; that haven't: a." in refused(ASKED, functions, None), "at the first deployment"


def test_a_paused_region_is_checked_when_it_runs_again() -> None:
    """It can't begin so: what is created now would be what callers reach as soon as it runs."""
    asked = replace(ASKED, paused=True)
    functions = InMemory(broken=["7"], down=["b"])
    assert check_version(asked, tables(), functions) == {"paused": "a"}
    assert release(Release(asked), tables(), functions) == {"paused": "a"}
    assert (functions.asked, functions.versions()) == ([], ["5", "5", "5"])

    functions.live["a"] = None
    assert refused(asked, functions).startswith("a: it is paused, so its function can't be checked")


def test_a_release_moves_the_alias_and_asks_as_callers_do() -> None:
    functions = InMemory()

    assert release(Release(ASKED, URL), tables(), functions) == {"released": "a"}
    assert functions.asked == [("a", "7"), ("a", "live"), ("a", URL)]
    assert functions.versions() == ["7", "5", "5"]
    before = dict(functions.live)
    release(Release(ASKED, URL), tables(), functions)
    assert functions.live == before, "the second time, nothing changes"
    assert before["a"] is not None
    assert (before["a"].build, before["a"].before) == ("new", "5")


def test_an_alias_never_moves_to_a_version_that_fails() -> None:
    """A check may have been left out, or have passed long ago."""
    functions = InMemory(broken=["7"])

    assert "No caller reaches it" in refused(Release(ASKED), functions)
    assert functions.versions() == ["5", "5", "5"]


@pytest.mark.parametrize(("broken", "way"), [("live", "alias"), (URL, "URL")])
def test_what_callers_reach_is_checked_once_more(broken: str, way: str) -> None:
    said = refused(Release(ASKED, URL), InMemory(broken=[broken]))

    assert f"doesn't work by the region's {way}, by which callers reach it now" in said
    assert "this build: a; that haven't: b, c." in said
    assert "docs/operations.md#the-way-back" in said


@pytest.mark.parametrize(
    "meanwhile",
    [partial(said_by, "old"), partial(broken_by, "old"), partial(always, BROKEN), partial(always, NO_ALIAS)],
    ids=["good", "healthy", "broken", "none"],
)
def test_an_alias_that_leads_to_the_version_before_is_waited_for(
    clock: list[float], meanwhile: Callable[[str], MintResponse]
) -> None:
    """AWS does so for some seconds. A new build may be there to replace one that is broken."""
    functions = InMemory()
    functions.lag, functions.meanwhile = 9.0, meanwhile
    assert release(Release(ASKED, URL), tables(), functions) == {"released": "a"}
    assert 9 <= sum(clock) < 9 + PAUSE

    clock[:] = [0.0]
    functions = InMemory()
    functions.lag, functions.meanwhile = inf, meanwhile
    assert "by the region's alias, by which callers reach it now" in refused(Release(ASKED, URL), functions)
    assert sum(clock) == PATIENCE


def test_a_build_that_fails_only_by_the_alias_isnt_waited_for(clock: list[float]) -> None:
    """It says which build it is."""
    functions = InMemory()
    functions.lag, functions.meanwhile = inf, partial(broken_by, "new")
    assert "POST /-check: expected" in refused(Release(ASKED, URL), functions)
    assert sum(clock) == (ATTEMPTS - 1) * PAUSE


def test_a_new_policy_of_the_alias_stops_no_release(monkeypatch: pytest.MonkeyPatch) -> None:
    """A domain is added: its permissions change the alias's revision while the version is checked, and once more."""
    functions = InMemory()
    ask, move, late = functions.ask, functions.move, iter([True])

    def permitted() -> None:
        functions.live["a"] = replace(functions.live["a"], revision=f"policy {time.monotonic()}")

    def ask_meanwhile(region: str, qualifier: str) -> Ask:
        permitted()
        return ask(region, qualifier)

    def move_meanwhile(*asked: Any) -> None:
        if next(late, False):
            permitted()
        move(*asked)

    monkeypatch.setattr(functions, "ask", ask_meanwhile)
    monkeypatch.setattr(functions, "move", move_meanwhile)
    assert release(Release(ASKED), tables(), functions) == {"released": "a"}
    assert (functions.live["a"].version, functions.live["a"].proven) == ("7", True)


def test_a_move_whose_answer_was_lost_is_no_other_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    functions = InMemory()
    move, lost = functions.move, iter([True])

    def lose_first(*asked: Any) -> None:
        move(*asked)
        if next(lost, False):
            raise AliasError("no valid response")

    monkeypatch.setattr(functions, "move", lose_first)
    assert release(Release(ASKED), tables(), functions) == {"released": "a"}


def test_what_somebody_else_moves_meanwhile_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    functions = InMemory()
    theirs = Alias("6", "theirs", "", "2026-11-25T00:00:00Z")

    def ask(region: str, qualifier: str) -> Ask:
        functions.live["a"] = theirs
        return InMemory.ask(functions, region, qualifier)

    monkeypatch.setattr(functions, "ask", ask)
    assert "can't be moved" in refused(Release(ASKED), functions)
    assert functions.live["a"] == theirs


def test_a_region_that_leaves_is_moved_unchecked_or_left(clock: list[float]) -> None:
    for functions, reply, version in (
        (InMemory(broken=["7", "live"]), {"released": "a"}, "7"),
        (InMemory(down=["a"]), {"unmoved": "a"}, "5"),
    ):
        assert release(Release(ASKED, URL, leaving=True), tables(), functions) == reply
        assert (functions.asked, functions.versions()) == ([], [version, "5", "5"])
    assert sum(clock) == 0


def test_an_alias_that_cant_be_moved_stops_the_deployment(clock: list[float]) -> None:
    for functions in (InMemory(down=["a"]), InMemory(denied=["a"])):
        said = refused(Release(ASKED), functions)
        assert said.startswith("a: the alias by which callers reach the minting function can't be moved")
    assert sum(clock) > 60, "AWS may not know a new policy yet"


def released(*regions: str, functions: InMemory, version: str = "7", build: str = "new") -> None:
    functions.build = build
    for region in regions:
        release(Release(Check(region, "integers", version, "1+f", build)), tables(), functions)


def test_only_the_newest_build_goes_back_and_once() -> None:
    """A deployment that stopped after a wave has moved only some."""
    functions = InMemory()
    released(*REGIONS, functions=functions, version="6", build="good")
    released("a", functions=functions)

    assert back(tables(), functions) == {"back": {"a": "6"}, "stay": {"b": "6", "c": "6"}}
    assert functions.versions() == ["6", "6", "6"]
    again = back(tables(), functions)
    said = again.pop("reason")
    assert said.startswith("No alias was moved. Callers stay where they are, because they have gone back")
    assert again == {"back": {}, "stay": {"a": "6", "b": "6", "c": "6"}}
    assert functions.versions() == ["6", "6", "6"]


def test_the_way_back_goes_on_when_a_region_answers_again() -> None:
    functions = InMemory()
    released(*REGIONS, functions=functions)
    functions.down = {"b"}
    with pytest.raises(Refused, match=r"moved: a \(version 5\), c \(version 5\)\. Not moved: b: no answer\."):
        back(tables(), functions)
    assert functions.versions() == ["5", "7", "5"]

    functions.down = set()
    assert back(tables(), functions) == {"back": {"b": "5"}, "stay": {"a": "5", "c": "5"}}


def test_callers_who_went_back_stay_until_there_is_another_build(capsys: pytest.CaptureFixture[str]) -> None:
    """A pause that ends, or an update that goes on, sends a release again."""
    functions = InMemory()
    released("a", "b", functions=functions)
    back(tables(), functions)

    for region in REGIONS:  # a deployment may not have come to the last wave yet
        asked = Release(Check(region, "integers", "7", "1+f", "new"))
        assert release(asked, tables(), functions) == {"back": region}
    assert functions.versions() == ["5", "5", "5"]
    assert '"phase": "left"' in capsys.readouterr().err

    released(*REGIONS, functions=functions, version="8", build="next")
    assert functions.versions() == ["8", "8", "8"]
    assert [alias.before for alias in functions.live.values() if alias] == ["5", "5", "5"]


def test_the_way_back_passes_a_version_that_callers_couldnt_use() -> None:
    """It had passed its check by number, but not what callers reach."""
    functions = InMemory(broken=["live"])
    assert "doesn't work by the region's alias" in refused(Release(ASKED), functions)
    functions.broken = set()
    released("a", functions=functions, version="8", build="good")

    assert back(tables(), functions) == {"back": {"a": "5"}, "stay": {"b": "5", "c": "5"}}


def test_an_old_release_moves_no_alias_backward() -> None:
    """It was slow, or somebody has sent it again."""
    functions = InMemory()
    released("a", functions=functions, version="8", build="good")
    functions.build = "new"
    said = refused(Release(ASKED), functions)
    assert said.startswith("a: callers reach version 8 by now, so the alias doesn't move to version 7")
    assert functions.versions() == ["8", "5", "5"]


def test_two_who_go_back_at_once_are_both_right(monkeypatch: pytest.MonkeyPatch) -> None:
    functions = InMemory()
    released(*REGIONS, functions=functions)
    move = functions.move

    def twice(region: str, alias: Alias, version: str, description: str) -> None:
        move(region, alias, version, description)
        raise AliasError("PreconditionFailed")  # as the second of them gets it

    monkeypatch.setattr(functions, "move", twice)
    assert back(tables(), functions)["back"] == {"a": "5", "b": "5", "c": "5"}


def test_there_may_be_nothing_to_go_back_to() -> None:
    functions = InMemory()
    functions.live = {region: Alias("1", "new", since="2026-11-25T20:00:00Z", proven=True) for region in REGIONS}
    found = back(tables(), functions)
    assert (found["back"], found["stay"]) == ({}, dict.fromkeys(REGIONS, "1"))
    assert "there is nothing to go back to" in found["reason"]

    with pytest.raises(Refused, match="no deployment is on record"):
        back(tables(record=None), functions)
    functions.live = dict.fromkeys(REGIONS, Alias("1"))
    with pytest.raises(Refused, match="no alias was ever moved"):
        back(tables(), functions)


SINCE = "since 2026-11-25T14:25:52Z"


@pytest.mark.parametrize(
    ("description", "build", "back_from", "before"),
    [
        (f"Version 7, build 3f2a {SINCE}.", "3f2a", "", ""),
        (f"Version 7, build 3f2a {SINCE}. Version before: 6.", "3f2a", "", "6"),
        (f"Version 7, build 3f2a {SINCE}, not checked yet. Version before: 6.", "3f2a", "", "6"),
        (f"Version 7, back from build 3f2a {SINCE}.", "", "3f2a", ""),
        (f"Version 8, build 3f2a {SINCE}.", "", "", ""),  # moved by hand
        (f"Version 8, back from build 3f2a {SINCE}.", "", "", ""),
        ("Build 3f2a, said somebody", "", "", ""),
        ("", "", "", ""),
    ],
)
def test_a_description_is_read_as_it_was_written(description: str, build: str, back_from: str, before: str) -> None:
    alias = alias_of({"FunctionVersion": "7", "Description": description})

    assert (alias.version, alias.build, alias.back_from, alias.before) == ("7", build, back_from, before)
