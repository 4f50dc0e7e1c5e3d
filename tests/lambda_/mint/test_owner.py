"""Which region owns an integer, on real tables that the coordinator has laid out."""

from typing import Any

import pytest
from coordinate.model import MAX_PAST
from coordinate.store import forgotten
from hypothesis import given
from hypothesis import strategies as st

from integers.lattice import places
from integers.layouts import Layout, owner_of
from tests.lambda_.laying_out import HOME, REGIONS, delete_item, deploy, item

TWO = ("us-east-1", "eu-west-1")
THREE = (*TWO, "us-west-2")


def integer(ask: Any, region: str) -> int:
    return ask("POST", "/", region)["document"]["integer"]


def whose(ask: Any, n: int, region: str = HOME, path: str = "/integers") -> dict[str, Any]:
    answer = ask("GET", f"{path}/{n}", region)
    assert answer["statusCode"] == 200, answer
    return answer["document"]


@given(
    st.lists(st.permutations([f"r{i}" for i in range(6)]), min_size=1, max_size=4),
    st.lists(st.integers(1, 50), min_size=4, max_size=4),
    st.integers(1, 300),
)
def test_the_owner_is_the_region_whose_offset_the_integer_has(
    orders: list[list[str]], steps: list[int], integer: int
) -> None:
    bases = [sum(steps[: i + 1]) for i in range(len(orders))]
    layouts = [Layout(i, base, tuple(o[:i])) for i, (o, base) in enumerate(zip(orders, bases, strict=True), start=1)]

    owner = owner_of(integer, layouts)

    if owner is None:
        assert integer < bases[0]
    else:
        layout = max((la for la in layouts if la.base <= integer), key=lambda la: la.epoch)
        place = places(layout.regions)[owner.region]
        assert (owner.offset, owner.stride, owner.epoch) == (place.offset, place.stride, layout.epoch)
        assert integer % owner.stride == owner.offset % owner.stride


def test_a_region_knows_its_own_integers_and_whom_to_ask_for_others(stack: Any, ask: Any) -> None:
    deploy()
    n = integer(ask, "eu-west-1")

    assert whose(ask, n, "eu-west-1") == {
        "integer": 2,
        "counter": "integers",
        "offset": 2,
        "stride": 3,
        "region": "eu-west-1",
        "epoch": 1,
        "minted": True,
    }
    assert whose(ask, n + 3, "eu-west-1")["minted"] is False
    other = whose(ask, n, "us-east-1")
    assert (other["region"], other["minted"], other["ask"]) == ("eu-west-1", None, "eu-west-1")


def test_asking_mints_nothing(stack: Any, ask: Any) -> None:
    deploy()
    for n in range(1, 10):
        whose(ask, n)

    assert integer(ask, HOME) == 1


def test_integers_of_past_layouts_are_told_by_what_was_issued_in_them(stack: Any, ask: Any) -> None:
    deploy(*TWO)
    first = [integer(ask, HOME) for _ in range(3)]
    base = deploy(*THREE)["counters"]["integers"]["base"]
    second = [integer(ask, HOME) for _ in range(2)]
    deploy(*REGIONS)
    third = integer(ask, HOME)

    for n, epoch in [*((n, 1) for n in first), *((n, 2) for n in second), (third, 3)]:
        told = whose(ask, n)
        assert (told["epoch"], told["region"], told["minted"]) == (epoch, HOME, True), n
    assert whose(ask, first[-1] + 2)["minted"] is False
    assert whose(ask, second[-1] + 3)["minted"] is False
    skipped = next(n for n in range(base - 1, 0, -1) if n % 2 == 1)
    assert whose(ask, skipped) | {"integer": 0} == {**whose(ask, 1), "integer": 0, "minted": False}


def test_what_only_a_region_that_left_would_know_nobody_is_asked_for(stack: Any, ask: Any) -> None:
    deploy(*TWO)
    n = integer(ask, "eu-west-1")
    deploy("us-east-1", "us-west-2")

    told = whose(ask, n, "us-east-1")
    assert (told["region"], told["epoch"], told["minted"]) == ("eu-west-1", 1, None)
    assert "ask" not in told
    assert whose(ask, n, "eu-west-1")["minted"] is True, "as long as its table is there, it knows itself"


def test_a_table_that_was_lost_knows_nothing_of_before(stack: Any, ask: Any) -> None:
    deploy(*TWO)
    n = integer(ask, "eu-west-1")
    delete_item(stack, "eu-west-1")
    deploy(*TWO, floors={"integers": 1_000_000})

    assert whose(ask, n, "eu-west-1")["minted"] is None
    assert whose(ask, 1_000_000, "eu-west-1")["minted"] is False


def test_a_region_that_comes_back_after_two_layouts_still_knows_its_own(stack: Any, ask: Any) -> None:
    deploy(*TWO)
    n = integer(ask, "eu-west-1")
    deploy("us-east-1")
    deploy("us-east-1", "us-west-2")
    deploy(*TWO)

    assert whose(ask, n, "eu-west-1")["minted"] is True
    assert whose(ask, n + 2, "eu-west-1")["minted"] is False


def test_below_the_floor_nobody_mints(stack: Any, ask: Any) -> None:
    deploy(*TWO, floors={"integers": 500})

    answer = ask("GET", "/integers/499")
    assert answer["statusCode"] == 404
    assert "begins at 500" in answer["document"]["detail"]
    assert whose(ask, 500)["epoch"] == 1


def test_an_item_ahead_of_the_record_says_try_again(stack: Any, ask: Any) -> None:
    deploy(*TWO)
    dynamodb = stack.aws.client("dynamodb", HOME)
    record = dynamodb.get_item(TableName=stack.counters, Key={"counter": {"S": "integers/layouts"}})["Item"]
    deploy(*THREE)
    dynamodb.put_item(TableName=stack.counters, Item=record)  # as between the two writes

    answer = ask("GET", "/integers/1")
    assert (answer["statusCode"], answer["headers"]["Retry-After"]) == (503, "1")


def test_a_late_coordinator_does_not_overwrite_the_record(stack: Any, ask: Any) -> None:
    from coordinate.model import Layout as Told
    from coordinate.operations import RecordLayouts
    from coordinate.store import Store

    deploy(*TWO)
    deploy(*THREE)
    store = Store(HOME, stack.layouts, stack.counters)

    assert store.carry_out(RecordLayouts(HOME, "integers", (Told(1, 1, TWO),))) is False
    assert whose(ask, 10**9)["epoch"] == 2


@pytest.mark.parametrize("n", ["0", "01", "-1", "1.0", "9007199254740992", "99999999999999999", "x", "", "%31", "١"])
def test_what_is_no_integer_is_not_found(stack: Any, ask: Any, n: str) -> None:
    deploy(*TWO)

    assert ask("GET", f"/integers/{n}")["statusCode"] == 404


def test_unknown_counters_and_other_methods_are_told(stack: Any, ask: Any) -> None:
    deploy(*TWO)

    assert ask("GET", "/nothing/1")["statusCode"] == 404
    assert ask("GET", "/-/1")["statusCode"] == 404
    post = ask("POST", "/integers/1")
    assert (post["statusCode"], post["headers"]["Allow"]) == (405, "GET, HEAD")
    assert item(stack, HOME, "integers/layouts/1") is None


def test_only_the_newest_layouts_are_remembered(stack: Any, ask: Any) -> None:
    for module in ("coordinate.protocol", "coordinate.store"):
        stack.monkeypatch.setattr(f"{module}.MAX_PAST", 2)
    minted: list[int] = []
    for regions in (TWO, THREE, TWO, THREE, TWO):
        deploy(*regions)
        minted.append(integer(ask, HOME))

    assert ask("GET", f"/integers/{minted[0]}")["statusCode"] == 404
    forgotten = ask("GET", f"/integers/{minted[1]}")
    assert forgotten["statusCode"] == 404
    assert "only known of integers from" in forgotten["document"]["detail"]
    assert [whose(ask, n)["minted"] for n in minted[2:]] == [True] * 3
    found = stack.aws.client("dynamodb", HOME).get_item(TableName=stack.counters, Key={"counter": {"S": "integers"}})[
        "Item"
    ]
    assert {name for name in found if name.startswith("issued_")} == {"issued_3", "issued_4"}


def test_what_was_issued_is_forgotten_too_where_a_region_was_away(stack: Any, ask: Any) -> None:
    for module in ("coordinate.protocol", "coordinate.store"):
        stack.monkeypatch.setattr(f"{module}.MAX_PAST", 2)
    deploy(*TWO)
    deploy(*TWO[::-1])
    for regions in (("us-east-1",), ("us-east-1", "us-west-2"), ("us-east-1",), TWO):
        deploy(*regions)
    found = stack.aws.client("dynamodb", "eu-west-1").get_item(
        TableName=stack.counters, Key={"counter": {"S": "integers"}}
    )["Item"]

    assert {name for name in found if name.startswith("issued_")} <= {"issued_2", "issued_4", "issued_5"}


@given(st.integers(1, 500), st.integers(1, 500))
def test_what_is_dropped_is_old_and_not_what_is_just_kept(over: int, later: int) -> None:
    dropped = set(forgotten(over, over + later))

    assert over not in dropped
    assert len(dropped) <= MAX_PAST
    if over > MAX_PAST:
        assert over - MAX_PAST in dropped, "so that no more than MAX_PAST stay"


def test_the_mint_item_stays_within_one_write_unit(stack: Any) -> None:
    name = "n" * 63
    sizes: list[int] = []
    for i, regions in enumerate((TWO, TWO[::-1], TWO, TWO[::-1])):
        deploy(*regions, counters=[name], floors={name: 2**51 + i * 10**9})
        sizes.append(size_of(stack, name))
    growth = sizes[-1] - sizes[-2]

    assert growth > 0
    assert sizes[-1] + (MAX_PAST - 3) * (growth + 1) <= 1024, sizes


def size_of(stack: Any, key: str) -> int:
    """DynamoDB guide, "DynamoDB item sizes and formats": names, and numbers of two digits a byte and one more."""
    found = stack.aws.client("dynamodb", HOME).get_item(TableName=stack.counters, Key={"counter": {"S": key}})["Item"]
    return sum(len(name) + (len(v["S"]) if "S" in v else (len(str(v["N"])) + 1) // 2 + 1) for name, v in found.items())
