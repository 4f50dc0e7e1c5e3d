"""The tables, and what protects them."""

from tests.components.aws_answers import TABLE
from tests.components.recording import Deployment
from tests.components.running import HOME, PREFIX, THREE


def test_there_are_counters_and_receipts_in_every_region_and_the_registers_at_home(signed: Deployment) -> None:
    tables = {(table.inputs["name"], table.inputs["region"]) for table in signed.of(TABLE)}

    assert tables == {
        (f"{PREFIX}-layouts", HOME),
        (f"{PREFIX}-mirror", HOME),
        *((f"{PREFIX}-counters", region) for region in THREE),
        *((f"{PREFIX}-receipts", region) for region in THREE),
    }


def test_tables_are_protected_by_default_against_aws_and_pulumi_alike(signed: Deployment) -> None:
    assert [table.inputs["deletionProtectionEnabled"] for table in signed.of(TABLE)] == [True] * 8
    assert [table.protect for table in signed.of(TABLE)] == [True] * 8


def test_tables_are_not_protected_where_it_is_turned_off(public: Deployment) -> None:
    assert [table.inputs["deletionProtectionEnabled"] for table in public.of(TABLE)] == [False] * 8
    assert [table.protect for table in public.of(TABLE)] == [False] * 8


def test_what_can_be_made_again_is_not_protected(signed: Deployment) -> None:
    assert {resource.type for resource in signed.resources if resource.protect} == {TABLE}


def test_tables_are_on_demand_with_point_in_time_recovery_and_one_key(signed: Deployment) -> None:
    for table in signed.of(TABLE):
        key = "receipt" if table.inputs["name"].endswith("-receipts") else "counter"
        assert table.inputs["billingMode"] == "PAY_PER_REQUEST"
        assert table.inputs["pointInTimeRecovery"] == {"enabled": True}
        assert table.inputs["hashKey"] == key
        assert table.inputs["attributes"] == [{"name": key, "type": "S"}]
        assert not {"rangeKey", "readCapacity", "writeCapacity"} & set(table.inputs)


def test_receipts_expire_and_nothing_else_does(signed: Deployment) -> None:
    for table in signed.of(TABLE):
        receipts = table.inputs["name"].endswith("-receipts")
        assert table.inputs.get("ttl") == ({"attributeName": "expires", "enabled": True} if receipts else None)


def test_counter_tables_and_layouts_have_the_stream_that_tells_one_from_its_successor(signed: Deployment) -> None:
    streams = {table.inputs["name"]: table.inputs["streamEnabled"] for table in signed.of(TABLE)}

    assert streams == {
        f"{PREFIX}-counters": True,
        f"{PREFIX}-layouts": True,
        f"{PREFIX}-receipts": False,
        f"{PREFIX}-mirror": False,
    }
