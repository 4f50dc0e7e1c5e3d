"""Names on AWS: one place makes them, and it knows how long they may be."""

from components.resource_names import MAX_ROLE_NAME, ResourceNames

REGIONS = ("us-east-1", "ap-southeast-2")


def test_all_names_begin_with_the_prefix_and_differ() -> None:
    names = ResourceNames("shop-dev")
    made = [
        names.counters_table,
        names.receipts_table,
        names.layouts_table,
        names.mirror_table,
        names.watch_rule,
        names.mint_function,
        names.coordinate_function,
        names.gateway_api,
        names.alarms_topic,
        names.alarm("errors"),
        *(role(region) for role in (names.mint_role, names.gateway_role) for region in REGIONS),
    ]

    assert all(name.startswith("shop-dev-") for name in made)
    assert len(set(made)) == len(made)


def test_the_room_is_what_the_longest_role_leaves() -> None:
    room = ResourceNames("").room(REGIONS, gateway=False)
    assert len(ResourceNames("p" * room).mint_role("ap-southeast-2")) == MAX_ROLE_NAME

    with_gateway = ResourceNames("").room(REGIONS, gateway=True)
    assert len(ResourceNames("p" * with_gateway).gateway_role("ap-southeast-2")) == MAX_ROLE_NAME
