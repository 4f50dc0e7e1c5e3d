"""The tables, and what protects them."""

from aws_answers import TABLE
from recording import Deployment
from running import HOME, PREFIX, THREE


def test_there_are_a_counter_table_in_every_region_and_the_layouts_at_home(signed: Deployment) -> None:
    tables = {(table.inputs["name"], table.inputs["region"]) for table in signed.of(TABLE)}

    assert tables == {(f"{PREFIX}-layouts", HOME), *((f"{PREFIX}-counters", region) for region in THREE)}


def test_tables_are_protected_by_default_against_aws_and_pulumi_alike(signed: Deployment) -> None:
    assert [table.inputs["deletionProtectionEnabled"] for table in signed.of(TABLE)] == [True] * 4
    assert [table.protect for table in signed.of(TABLE)] == [True] * 4


def test_tables_are_not_protected_where_it_is_turned_off(public: Deployment) -> None:
    assert [table.inputs["deletionProtectionEnabled"] for table in public.of(TABLE)] == [False] * 4
    assert [table.protect for table in public.of(TABLE)] == [False] * 4


def test_what_can_be_made_again_is_not_protected(signed: Deployment) -> None:
    assert {resource.type for resource in signed.resources if resource.protect} == {TABLE}


def test_tables_are_on_demand_with_point_in_time_recovery_and_keyed_by_the_counter(signed: Deployment) -> None:
    for table in signed.of(TABLE):
        assert table.inputs["billingMode"] == "PAY_PER_REQUEST"
        assert table.inputs["pointInTimeRecovery"] == {"enabled": True}
        assert table.inputs["hashKey"] == "counter"
        assert table.inputs["attributes"] == [{"name": "counter", "type": "S"}]
        assert not {"rangeKey", "readCapacity", "writeCapacity"} & set(table.inputs)
