"""What a caller is told where a counter can't be minted, and whether a retry can help: of a mint, health and status."""

import json
import re

import pytest
from coordinate.protocol.model import Item

from global_integers_core.lattice import MAX_INTEGER
from tests.lambda_.coordinator_calls import delete_item, item, laid_out, put_item
from tests.lambda_.fixtures import HOME, Ask, Response, Stack

LEFT = Item(issued=7, stride=3, ceiling=7, epoch=1, fenced=True)
INSTEAD = ["eu-west-1", "ap-southeast-2"]
TOP = MAX_INTEGER - 1


def refused(response: Response) -> tuple[int, str, str]:
    """Return the status, the Retry-After, and what is said."""
    assert response["headers"]["Content-Type"] == "application/problem+json"
    assert response["document"]["status"] == response["statusCode"]
    return response["statusCode"], response["headers"].get("Retry-After", ""), response["document"]["detail"]


@pytest.mark.parametrize(
    ("found", "count", "retry", "said", "available"),
    [
        (Item(7, 3, 7, 1), None, "5", "has no integer left in this region until the home region grants it more", 0),
        (Item(7, 3, 7, 1), 1, "5", "has no integer left in this region until the home region grants it more", 0),
        (Item(7, 3, 7, 1), 2, "5", "has fewer than 2 integers left in this region until the home region", 0),
        (Item(1, 3, 7, 1), 3, "5", "has fewer than 3 integers left in this region until the home region", 2),
        (Item(7, 3, 7, 1, fenced=True), None, "1", "a change of layout is finishing", 0),
        (Item(4, 3, 7, 1, fenced=True), 2, "1", "a change of layout is finishing", 1),
        (Item(MAX_INTEGER - 3, 3, MAX_INTEGER - 3, 1), None, "5", "until the home region grants it more", 0),
        (Item(TOP, 3, TOP, 1), None, "", "'integers' is used up in this region", 0),
        (Item(TOP - 6, 3, TOP, 1), 3, "", "'integers' has fewer than 3 integers left in this region", 2),
    ],
)
def test_the_reason_is_said_and_whether_a_retry_can_help(
    ask: Ask, stack: Stack, found: Item, count: int | None, retry: str, said: str, available: int
) -> None:
    stack.monkeypatch.setattr("mint.minting.MAX_WAIT", 0)
    put_item(stack, HOME, found)

    response = ask("POST", f"/?count={count}" if count else "/")
    status, header, detail = refused(response)
    assert (status, header) == (503, retry)
    assert said in detail
    assert response["document"].get("available") == (available or None)
    health, state = ask("GET", "/-/health"), ask("GET", "/-/status")["document"]
    expected = (200 if available else 503, bool(available), found.fenced)
    assert (health["statusCode"], state["ok"], state["fenced"]) == expected
    assert item(stack, HOME) == found
    if available:
        integers = list(range(found.issued + found.stride, found.ceiling + 1, found.stride))
        assert ask("POST", f"/?count={available}")["document"]["integers"] == integers
    else:
        assert refused(health)[1] == retry
        assert state["reason"] == health["document"]["detail"]


def test_a_region_that_can_mint_is_healthy(ask: Ask, stack: Stack) -> None:
    laid_out(counters=["integers", "orders"])
    delete_item(stack, HOME, "orders")  # only the default counter counts
    before = item(stack, HOME)

    assert ask("GET", "/-/health")["document"] == {"status": "ok", "region": HOME}
    assert item(stack, HOME) == before
    delete_item(stack, HOME)
    assert refused(ask("GET", "/-/health")) == (503, "", "there is no counter 'integers' in this region")


@pytest.fixture
def leaving(stack: Stack) -> None:
    """The function's region leaves the layout, and these stay."""
    stack.monkeypatch.setenv("LEAVING", ",".join(INSTEAD))

    def waited(_: float) -> None:
        pytest.fail("a fence was waited for")

    stack.monkeypatch.setattr("mint.minting.time.sleep", waited)


@pytest.mark.usefixtures("leaving")
@pytest.mark.parametrize("found", [LEFT, None])
def test_a_region_that_has_left_says_where_to_go(ask: Ask, stack: Stack, found: Item | None) -> None:
    put_item(stack, HOME, Item(issued=1, stride=3, ceiling=7, epoch=1, fenced=True))
    assert ask("GET", "/-/health")["statusCode"] == 200
    keyed = [ask("POST", idempotency_key="k")["document"]["integer"], ask("POST")["document"]["integer"]]
    assert keyed == [4, 7], "as long as its item can, it mints"
    put_item(stack, HOME, found) if found else delete_item(stack, HOME)

    for path in ("/", "/integers", "/?count=5", "/?count=1"):
        response = ask("POST", path)
        assert refused(response)[:2] == (410, "")
        assert (response["document"]["title"], response["document"]["regions"]) == ("Gone", INSTEAD)
    health = ask("GET", "/-/health")
    assert (health["statusCode"], health["document"]["regions"]) == (410, INSTEAD)
    assert item(stack, HOME) == found
    again = ask("POST", idempotency_key="k")
    assert (again["document"]["integer"], again["headers"]["Idempotency-Replayed"]) == (4, "true")
    assert ask("POST", idempotency_key="another")["statusCode"] == 410


@pytest.mark.usefixtures("leaving")
def test_owners_are_known_as_far_as_the_region_has_minted(ask: Ask, stack: Stack) -> None:
    laid_out()
    put_item(stack, HOME, LEFT)

    assert ask("GET", "/integers/7")["document"]["minted"] is True
    assert ask("GET", "/integers/6")["document"]["ask"] == "ap-southeast-2"
    response = ask("GET", "/integers/8")
    assert (response["statusCode"], response["document"]["regions"]) == (410, INSTEAD)
    delete_item(stack, HOME)
    assert ask("GET", "/integers/7")["statusCode"] == 410


@pytest.mark.usefixtures("leaving")
@pytest.mark.parametrize(
    ("found", "instead"), [(LEFT, INSTEAD), (None, INSTEAD), (Item(issued=7, stride=3, ceiling=7, epoch=1), [])]
)
def test_the_page_knows_where_to_go(ask: Ask, stack: Stack, found: Item | None, instead: list[str]) -> None:
    if found:
        put_item(stack, HOME, found)

    response = ask("GET", "/", accept="text/html")

    (data,) = re.findall(r'id="data">(.*?)</script>', response["body"])
    assert (response["statusCode"], json.loads(data)["instead"]) == (200, instead)
    assert ask("POST")["statusCode"] == (410 if instead else 503), "what isn't fenced hasn't left"
