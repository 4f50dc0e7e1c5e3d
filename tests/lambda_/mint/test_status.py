"""How a counter stands, as operators see it."""

from coordinate.model import Item

from tests.lambda_.fixtures import HOME, Ask, Stack
from tests.lambda_.laying_out import deploy, item, put_item
from tests.lambda_.losing import backup, restore

THREE = ["us-east-1", "eu-west-1", "ap-southeast-2"]


def test_it_says_where_the_counter_stands_and_mints_nothing(ask: Ask, stack: Stack) -> None:
    deploy()
    ask("POST", "/")
    ask("POST", "/")
    before = item(stack, HOME)

    assert ask("GET", "/-/status")["document"] == {
        "region": HOME,
        "counter": "integers",
        "ok": True,
        "epoch": 1,
        "position": 4,
        "ceiling": 299_999_998,
        "stride": 3,
        "fenced": False,
        "pending": False,
        "regions": THREE,
    }
    assert item(stack, HOME) == before


def test_another_counter_is_named_in_the_query(ask: Ask, stack: Stack) -> None:
    deploy(counters=["integers", "orders"])

    document = ask("GET", "/-/status?counter=orders")["document"]

    assert (document["counter"], document["position"], document["ok"]) == ("orders", -2, True)
    assert ask("GET", "/-/status?counter=Orders")["statusCode"] == 400
    assert ask("POST", "/-/status")["statusCode"] == 405


def test_a_counter_that_is_missing_is_reported_not_refused(ask: Ask, stack: Stack) -> None:
    deploy()

    response = ask("GET", "/-/status?counter=none")

    assert response["statusCode"] == 200
    assert (response["document"]["ok"], response["document"]["epoch"]) == (False, None)
    assert "there is no counter 'none'" in response["document"]["reason"]


def test_a_region_that_a_layout_has_yet_to_reach_is_pending(ask: Ask, stack: Stack) -> None:
    deploy()
    before = item(stack, HOME)
    deploy(*THREE[::-1])
    assert before is not None
    put_item(stack, HOME, before)

    document = ask("GET", "/-/status")["document"]

    assert (document["pending"], document["epoch"], document["regions"]) == (True, 1, THREE[::-1])


def test_the_reason_is_that_of_a_refused_mint(ask: Ask, stack: Stack) -> None:
    put_item(stack, HOME, Item(7, 3, 7, 1, fenced=True))

    document = ask("GET", "/-/status")["document"]

    assert (document["ok"], document["fenced"]) == (False, True)
    assert "a change of layout" in document["reason"]


def test_a_table_that_went_backwards_is_seen_by_a_warm_function(ask: Ask, stack: Stack) -> None:
    deploy()
    ask("POST", "/")
    old = backup(stack, HOME, stack.counters)
    ask("POST", "/", warm=True)
    restore(stack, HOME, stack.counters, old)

    document = ask("GET", "/-/status", warm=True)["document"]

    assert (document["ok"], document["position"]) == (False, 1)
    assert "was restored" in document["reason"]
