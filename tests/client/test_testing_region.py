"""A region in memory gives the same responses as one of a deployment, or as the functions' own code."""

import json
import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import httpx
import mint.counters
import pytest
from coordinate.protocol.refusals import too_many
from global_integers.minting import api
from global_integers.testing import Fault, Region, Stack, region
from mint.api.formats import SHORT
from mint.api.problems import error_response
from mint.api.reply import minted_response
from mint.api.request import NOTHING, CounterRequest, ListCounters, MintRequest, OwnerOf, Request, request_of
from mint.model import Block, CeilingReached, CounterItem, LayoutUnknown, NoItem, RequestRefused, TableUnavailable

from components.settings.args import GlobalIntegersArgs
from components.settings.aws_regions import partitions
from global_integers_core import lattice, names
from local.paths import ROOT
from tests.client.callers import TypeScriptCaller
from tests.client.region_proxies import HANG

REGIONS = ["us-east-1", "eu-west-1", "ap-southeast-2"]

Sent = api.ApiRequest[Any]
Seen = tuple[int, dict[str, str], Any]
"""A status, the headers that the function sends, and the document."""

OF_AWS = {"connection", "content-length", "date", "server", "x-amzn-requestid", "x-amzn-trace-id"}
"""Headers that the function doesn't send."""


def seen(status: int, headers: httpx.Headers, body: bytes | str) -> Seen:
    """Return what a client sees of a response, without the version of a function."""
    document = json.loads(body)
    for name in ("version", "build"):
        document.pop(name, None)
    return status, {name: headers[name] for name in headers if name not in OF_AWS}, document


def request_to(url: str, request: Sent) -> httpx.Request:
    return httpx.Request(request.method, request.url(url), headers=request.headers)


def answered(region: Region, request: Sent) -> Seen:
    """Return the response of a region in memory."""
    response = region.answer(request_to(region.url, request))
    return seen(response.status_code, response.headers, response.content)


def of_function(error: Exception, request: Request, region: str) -> Seen:
    """Return the minting function's response to an error, as it is in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_REGION", region)
        response = error_response(error, request, NOTHING, "7d4b1f6e")
    return seen(response["statusCode"], httpx.Headers(response["headers"]), response["body"])


def refusal(call: Callable[[], object]) -> Exception:
    """Return the error of the minting function that a call raises."""
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError("nothing was refused")


CONVERSATION: list[tuple[str, Sent]] = [
    ("us-east-1", api.create("compared")),
    ("eu-west-1", api.create("compared")),
    ("us-east-1", api.create("ping")),
    ("us-east-1", api.health()),
    ("us-east-1", api.status("compared")),
    ("us-east-1", api.status("nothing")),
    ("us-east-1", api.owner("compared", 1)),
    *(("us-east-1", api.mint("compared", count)) for count in (1, 2, 1000, 1001, 100_000)),
    *(("eu-west-1", api.mint("compared", count, "cart-1")) for count in (1001, 1001, 1)),
    ("eu-west-1", api.mint("compared", 1, 'cart,"2"')),
    ("eu-west-1", api.mint("compared", 1, 'cart,"2"')),
    *((region, api.owner("compared", number)) for region in REGIONS for number in (1, 2, 3, 306_010, 306_013)),
    *((region, api.owner("compared", number)) for region in REGIONS for number in (2_999_998, 3_000_001)),
    ("us-east-1", api.owner("compared", api.MAX_INTEGER)),
    *((region, api.status("compared")) for region in REGIONS),
    *(("us-east-1", request) for request in (api.mint("nothing"), api.mint("nothing", 2, "k"))),
    ("us-east-1", api.owner("nothing", 1)),
]
"""Every kind of request that a client sends, with each size of a block for which a region has another form."""


def test_a_region_answers_as_a_deployed_one(direct: dict[str, str]) -> None:
    deployed: list[Seen] = []
    with httpx.Client(timeout=HANG, trust_env=False) as client:
        for name, request in CONVERSATION:
            response = client.send(request_to(direct[name], request))
            deployed.append(seen(response.status_code, response.headers, response.content))
    with Stack(REGIONS, max_counters=1000) as stack:
        in_memory = {region.name: region for region in stack.regions}
        for (name, request), expected in zip(CONVERSATION, deployed, strict=True):
            assert answered(in_memory[name], request) == expected, f"{name}: {request.method} {request.path}"
    assert {status for status, _, _ in deployed} == {200, 201, 400, 404, 422, 503}


READ = set(re.findall(r'headers\.(?:get|has)\("([a-z-]+)"\)', (ROOT / "client/typescript/src/api.ts").read_text()))
"""The headers of a response that the client for TypeScript reads. Its own regions in memory send no others."""


def test_the_regions_for_typescript_send_the_headers_that_its_client_reads() -> None:
    typescript = TypeScriptCaller()
    assert len(READ) == 3
    try:
        typescript.stack(REGIONS, ["integers", "orders"])
        with Stack(REGIONS, max_counters=1000) as stack:
            for fault in (None, "unavailable", "used up", "left"):
                near = stack.regions[0]
                if fault:
                    near.fail(fault)
                    typescript.change("fail", region=near.name, fault=fault)
                for name, request in CONVERSATION:
                    there = next(each for each in stack.regions if each.name == name)
                    status, headers, _ = answered(there, request)
                    names = {name.lower(): value for name, value in request.headers.items()}
                    sent = {"url": request.url(there.url), "method": request.method, "headers": names}
                    read = {header: value for header, value in headers.items() if header in READ}
                    # The client for TypeScript doesn't read the members of a status.
                    if "status" in request.path and status == 200:
                        read["content-type"] = "application/json"
                    assert typescript.change("answer", region=name, sent=sent)["value"] == [status, read], sent
    finally:
        typescript.end()


def test_a_list_of_counters_is_that_of_a_deployed_region(direct: dict[str, str]) -> None:
    with httpx.Client(timeout=HANG, trust_env=False) as client:
        response = client.send(request_to(direct["us-east-1"], api.counters()))
    status, headers, document = seen(response.status_code, response.headers, response.content)

    with Stack(REGIONS, counters=document["counters"], max_counters=1000) as stack:
        assert answered(stack.regions[0], api.counters()) == (
            status,
            headers,
            {"counters": sorted(document["counters"])},
        )


FAULTS: dict[Fault, Exception] = {
    "error": ValueError("unexpected"),
    "unavailable": TableUnavailable("the layout changed"),
}
"""The faults in which the function answers, and what it has met then."""


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_the_functions_own_response(fault: Fault) -> None:
    with Stack(REGIONS) as stack:
        near = stack.regions[0]
        near.fail(fault)
        assert answered(near, api.mint("orders")) == of_function(FAULTS[fault], MintRequest("orders"), near.name)


@pytest.mark.parametrize("replayed", [False, True])
def test_minted_integers_are_the_functions_response(replayed: bool) -> None:
    with Stack(REGIONS) as stack:
        near = stack.regions[0]
        sent = api.mint("orders", 2, "cart-1")
        if replayed:
            answered(near, sent)
        request = MintRequest("orders", 2, "cart-1", SHORT)
        response = minted_response(request, near.name, Block(first=1, stride=3, count=2), replayed=replayed)
        assert answered(near, sent) == seen(200, httpx.Headers(response["headers"]), response["body"])


def test_after_a_jump_a_region_answers_for_its_epoch() -> None:
    layouts = [lattice.Layout(epoch, 1 + (epoch - 1) * 3 * region.WINDOW, tuple(REGIONS)) for epoch in (1, 2, 3)]
    with Stack(REGIONS, max_counters=9) as stack:
        for layout in layouts:
            for name, place in lattice.places(REGIONS).items():
                here = stack.regions[place.offset - 1]
                status = answered(here, api.status("orders"))[2]
                assert (status["epoch"], status["position"]) == (layout.epoch, place.before(layout.base))
                assert status["ceiling"] == place.ceiling(layout.base - 1 + 3 * region.WINDOW, layout.base)
                assert answered(here, api.mint("orders"))[2]["first"] == place.first(layout.base)
                for integer in (place.first(layout.base), layout.base, layout.base + 1):
                    owner = answered(here, api.owner("orders", integer))[2]
                    assert lattice.owner_of(integer, layouts) == tuple(
                        owner[key] for key in ("region", "offset", "stride", "epoch")
                    )
                    assert owner["minted"] is (True if owner["region"] == name else None)
            created = answered(stack.regions[0], api.create("orders"))[2]
            assert (created["epoch"], created["base"]) == (layout.epoch, layout.base)
            assert created["limit"] == layout.base - 1 + 3 * region.WINDOW
            stack.jump()


@pytest.mark.parametrize("fault", ["used up", "left"])
def test_a_region_that_mints_no_more_says_why(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    """The home region of one that is used up can't be asked: otherwise, it has more after seconds."""
    left = fault == "left"
    if left:
        monkeypatch.setenv("LEAVING", "eu-west-1,ap-southeast-2")
    reached = CeilingReached(CounterItem(issued=4, stride=3, ceiling=4, epoch=1, fenced=left, attributes={}))
    with Stack(REGIONS) as stack:
        near, other, _ = stack.regions
        keyed = answered(near, api.mint("integers", 2, "cart-1"))
        near.fail(fault)
        asked: list[tuple[Sent, Exception, Request]] = [
            (api.mint("integers"), reached, MintRequest("integers")),
            (api.mint("integers", 2), reached, MintRequest("integers", 2)),
            (api.mint("nothing"), NoItem(), MintRequest("nothing")),
            (api.mint("nothing", 2), NoItem(), MintRequest("nothing", 2)),
            (api.mint("integers", 1, "cart-2"), NoItem() if left else reached, MintRequest("integers", 1, "cart-2")),
            (api.mint(""), reached, MintRequest("integers")),
            (api.health(), reached, CounterRequest("health", "integers")),
            (api.owner("integers", 7), LayoutUnknown(reached.item), OwnerOf("integers", 7)),
            (api.owner("nothing", 1), NoItem(), OwnerOf("nothing", 1)),
        ]
        for sent, error, request in asked:
            assert answered(near, sent) == of_function(error, request, near.name)
        again = answered(near, api.mint("integers", 2, "cart-1"))
        assert (again[1]["idempotency-replayed"], again[2]) == ("true", keyed[2])
        assert answered(near, api.owner("integers", 4))[2]["minted"] is True
        status = answered(near, api.status("integers"))[2]
        request = MintRequest("integers") if left else CounterRequest("status", "integers")
        why = of_function(reached, request, near.name)[2]["detail"]
        assert (status["ok"], status["reason"], status["fenced"], status["ceiling"]) == (False, why, left, 4)
        assert status["regions"] == answered(other, api.status("integers"))[2]["regions"] == REGIONS[left:]
        unknown = answered(other, api.owner("integers", 4))[2]
        assert (unknown["region"], unknown["minted"], "ask" in unknown) == ("us-east-1", None, not left)
        near.recover()
        assert answered(near, api.mint("integers"))[2]["first"] == 7


def test_a_deleted_counter_is_unknown_but_to_its_keys() -> None:
    with Stack(REGIONS, max_counters=9) as stack:
        near = stack.regions[0]
        keyed = answered(near, api.mint("orders", 2, "cart-1"))
        stack.delete("orders")
        assert answered(near, api.mint("orders")) == of_function(NoItem(), MintRequest("orders"), near.name)
        assert answered(near, api.owner("orders", 1)) == of_function(NoItem(), OwnerOf("orders", 1), near.name)
        assert answered(near, api.mint("orders", 2, "cart-1"))[2] == keyed[2]
        assert answered(near, api.create("orders"))[0] == 201
        assert answered(near, api.mint("orders"))[2]["first"] > 3 * region.WINDOW > keyed[2]["last"], "above its limit"


def test_a_refused_creation_is_the_functions_response(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPEN_COUNTERS", raising=False)
    table: Any = None  # it isn't asked
    closed = refusal(lambda: mint.counters.create(table, "tickets"))
    full = RequestRefused("forbidden", str(too_many("tickets", 1234)))
    request = CounterRequest("create", "tickets")
    with Stack(REGIONS) as stack:
        assert answered(stack.regions[0], api.create("tickets")) == of_function(closed, request, "us-east-1")
        assert answered(stack.regions[0], api.counters()) == of_function(closed, ListCounters(100, None), "us-east-1")
    with Stack(REGIONS, counters=[f"c{n}" for n in range(1234)], max_counters=1234) as stack:
        assert answered(stack.regions[0], api.create("c7"))[0] == 200, "it exists"
        assert answered(stack.regions[0], api.create("tickets")) == of_function(full, request, "us-east-1")


def test_an_unknown_path_is_the_functions_response() -> None:
    unknown = refusal(lambda: request_of(NOTHING._replace(method="GET", path="/a/b/c"), "integers"))
    with Stack(REGIONS) as stack:
        sent = api.ApiRequest[Any]("", "GET", "a/b/c", lambda _, __: None)
        assert answered(stack.regions[0], sent) == of_function(unknown, MintRequest("a"), "us-east-1")


def test_numbers_and_names_are_those_of_a_deployment() -> None:
    defaults = {field.name: field.metadata["allowed"].default for field in fields(GlobalIntegersArgs)}
    assert names.MAX_BLOCK == api.MAX_BLOCK
    assert lattice.MAX_INTEGER == api.MAX_INTEGER
    assert defaults["idempotency_hours"] * 3600 == region.KEY_SECONDS
    with Stack(REGIONS, max_counters=1000) as stack:
        for name in names.RESERVED:
            refused = RequestRefused("wrong name", names.reserved(name))
            expected = of_function(refused, CounterRequest("create", name), "us-east-1")
            assert answered(stack.regions[0], api.create(name)) == expected
    assert frozenset(region.RESERVED) == names.RESERVED
    assert [name for name in partitions() if not region.AWS_REGION.fullmatch(name)] == []
