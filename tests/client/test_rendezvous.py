"""Every process asks the same region for the same key."""

from collections import Counter

from global_integers.rendezvous import order_of

REGIONS = ["us-east-1", "eu-west-1", "ap-southeast-2"]


def test_the_order_of_the_settings_does_not_matter() -> None:
    for n in range(50):
        assert order_of(f"order-{n}", REGIONS) == order_of(f"order-{n}", REGIONS[::-1])


def test_it_stays_as_it_is() -> None:
    assert [order_of(key, REGIONS)[0] for key in ("order-17", "order-18", "a")] == [
        "eu-west-1",
        "us-east-1",
        "ap-southeast-2",
    ]


def test_keys_are_spread_over_the_regions() -> None:
    chosen = Counter(order_of(f"order-{n}", REGIONS)[0] for n in range(3000))

    assert all(800 < chosen[region] < 1200 for region in REGIONS)


def test_only_the_keys_of_a_region_that_is_removed_move() -> None:
    for n in range(300):
        before = order_of(f"order-{n}", REGIONS)
        assert order_of(f"order-{n}", REGIONS[:2]) == [region for region in before if region in REGIONS[:2]]
