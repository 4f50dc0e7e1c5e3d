"""What a caller is told where a counter can't be minted, and whether a retry can help."""

import json
import re

import pytest
from coordinate.protocol.model import Item

from global_integers_core.lattice import MAX_INTEGER
from tests.lambda_.coordinator_calls import delete_item, item, laid_out, put_item
from tests.lambda_.fixtures import HOME, Ask, Response, Stack

LEFT = Item(issued=7, stride=3, ceiling=7, epoch=1, fenced=True)
INSTEAD = ["eu-west-1", "ap-southeast-2"]


def refused(response: Response) -> tuple[int, bool, str]:
    """Return the status, whether there is a Retry-After, and what is said."""
    assert response["document"]["status"] == response["statusCode"]
    return response["statusCode"], "Retry-After" in response["headers"], response["document"]["detail"]


@pytest.mark.parametrize("count", ["1", "2", "1000"])
def test_what_the_home_region_must_grant_first_can_be_retried(ask: Ask, stack: Stack, count: str) -> None:
    put_item(stack, HOME, Item(issued=7, stride=3, ceiling=7, epoch=1))

    for path in ("/", f"/?count={count}"):
        status, retry, detail = refused(ask("POST", path))
        assert (status, retry) == (503, True)
        assert "home region grants it more" in detail
    put_item(stack, HOME, Item(issued=7, stride=3, ceiling=3007, epoch=1))
    assert ask("POST", f"/?count={count}")["document"]["integers"][0] == 10


def test_a_block_that_does_not_fit_yet_can_be_retried(ask: Ask, stack: Stack) -> None:
    put_item(stack, HOME, Item(issued=1, stride=3, ceiling=7, epoch=1))

    status, retry, detail = refused(ask("POST", "/?count=3"))
    assert (status, retry) == (503, True)
    assert "fewer than 3" in detail
    assert "home region grants" in detail
    assert [ask("POST")["document"]["integer"] for _ in range(2)] == [4, 7]


def test_a_used_up_counter_is_an_error_that_no_retry_can_help(ask: Ask, stack: Stack) -> None:
    highest = MAX_INTEGER - 1
    put_item(stack, HOME, Item(issued=highest - 6, stride=3, ceiling=highest, epoch=1))

    status, retry, detail = refused(ask("POST", "/?count=3"))
    assert (status, retry) == (503, False)
    assert "fewer than 3" in detail
    assert ask("POST", "/?count=2")["document"]["integers"] == [highest - 3, highest]
    status, retry, detail = refused(ask("POST"))
    assert (status, retry) == (503, False)
    assert "used up" in detail


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
    if found:
        put_item(stack, HOME, found)

    for path in ("/", "/integers", "/?count=5", "/?count=1"):
        response = ask("POST", path)
        assert refused(response)[:2] == (410, False)
        assert response["document"]["title"] == "Gone"
        assert response["document"]["regions"] == INSTEAD
    assert item(stack, HOME) == found


@pytest.mark.usefixtures("leaving")
def test_a_leaving_region_mints_as_long_as_its_item_can(ask: Ask, stack: Stack) -> None:
    put_item(stack, HOME, Item(issued=1, stride=3, ceiling=7, epoch=1, fenced=True))

    assert [ask("POST")["document"]["integer"] for _ in range(2)] == [4, 7]
    assert ask("POST")["statusCode"] == 410
    put_item(stack, HOME, Item(issued=7, stride=3, ceiling=7, epoch=1))
    assert refused(ask("POST"))[:2] == (503, True), "it isn't fenced, so it hasn't left"


@pytest.mark.usefixtures("leaving")
def test_a_repeated_key_still_returns_its_integers(ask: Ask, stack: Stack) -> None:
    put_item(stack, HOME, Item(issued=4, stride=3, ceiling=100, epoch=1))
    first = ask("POST", idempotency_key="k")
    put_item(stack, HOME, LEFT)

    again = ask("POST", idempotency_key="k")
    assert (again["document"], again["headers"]["Idempotency-Replayed"]) == (first["document"], "true")
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
    ("found", "instead"), [(LEFT, INSTEAD), (None, INSTEAD), (Item(issued=4, stride=3, ceiling=7, epoch=1), [])]
)
def test_the_page_knows_where_to_go(ask: Ask, stack: Stack, found: Item | None, instead: list[str]) -> None:
    if found:
        put_item(stack, HOME, found)

    response = ask("GET", "/", accept="text/html")

    (data,) = re.findall(r'id="data">(.*?)</script>', response["body"])
    assert (response["statusCode"], json.loads(data)["instead"]) == (200, instead)
