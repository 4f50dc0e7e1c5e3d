"""Wrong settings are reported with their value and what is allowed, all at once, before anything is created."""

import pulumi
import pytest

from components.partitions import WITHOUT_FUNCTION_URLS
from tests.components.aws_answers import FUNCTION, LOG_GROUP, ROLE
from tests.components.running import HOME, PROJECT, THREE, config, deploy, deploy_badly

COUNTER = "[a-z0-9][a-z0-9_-]{0,62}"


def lines(given: dict[str, str], *, stack: str = "test") -> list[str]:
    """What the program says of a wrong configuration, one line for each wrong setting."""
    error, deployment = deploy_badly(given, stack=stack)
    assert isinstance(error, pulumi.RunError), "Pulumi shows a RunError without a traceback"
    assert deployment.resources == []
    first, *rest = str(error).splitlines()
    assert first == "the settings are wrong:"
    return [line.strip() for line in rest]


@pytest.mark.parametrize(
    ("regions", "expected"),
    [
        ([], ["regions: ", "empty", "at least one", 'in Pulumi.test.yaml, global-integers:regions: ["us-east-1']),
        (["us-east-1", "eu-west-1", "us-east-1"], ["regions: ", "'us-east-1'", "listed 2 times", "once"]),
        (["us-east-1", "eu-wset-1"], ["regions: ", "'eu-wset-1'", "not an AWS region", "did you mean 'eu-west-1'?"]),
        (
            ["mars"],
            [
                "regions: ",
                "'mars'",
                "not an AWS region",
                'see the AWS page "AWS Regions": https://docs.aws.amazon.com/',
            ],
        ),
        (["us-east-1", "cn-north-1"], ["regions: ", "aws, aws-cn", "one account"]),
        (
            "us-east-1",
            ["regions: ", "'us-east-1'", "not a list of strings", "in Pulumi.test.yaml, global"],
        ),
        ('{"us-east-1": 1}', ["regions: ", "us-east-1", "not a list of strings"]),
        (["us-east-1", 2], ["regions: 2 is not a string; put it in quotes"]),
    ],
    ids=["none", "twice", "mistyped", "unheard of", "partitions", "no list", "an object", "a number"],
)
def test_wrong_regions_are_refused(regions: object, expected: list[str]) -> None:
    found = lines(config(regions=regions))

    assert len(found) == 1, found
    assert [part for part in expected if part not in found[0]] == [], found


def test_regions_must_be_set() -> None:
    (line,) = lines({"aws:region": HOME})

    assert line.startswith("regions: not set")
    assert 'in Pulumi.test.yaml, global-integers:regions: ["us-east-1", "eu-west-1"]' in line


def test_more_than_64_regions_are_refused() -> None:
    found = lines(config(*[f"us-east-{number}" for number in range(1, 66)]))

    assert "regions: 65 regions; at most 64 are possible" in found


@pytest.mark.parametrize(
    ("leaving", "expected"),
    [
        (["us-west-2", "us-west-2"], ["'us-west-2' is listed 2 times"]),
        (["us-wset-2"], ["'us-wset-2' is not an AWS region; did you mean 'us-west-2'?"]),
        (["eu-west-1"], ["'eu-west-1' is in regions too", "remove one"]),
        (["cn-north-1"], ["with aws:region they lie in different AWS partitions (aws, aws-cn)"]),
        ("us-west-2", ["'us-west-2' is not a list of strings: in Pulumi.test.yaml, global-integers:leaving: ["]),
    ],
    ids=["twice", "mistyped", "in the layout too", "partitions", "no list"],
)
def test_wrong_regions_can_not_leave(leaving: object, expected: list[str]) -> None:
    (line,) = lines(config(*THREE, leaving=leaving))

    assert line.startswith("leaving: ")
    assert [part for part in expected if part not in line] == [], line


def test_a_region_that_leaves_is_of_the_home_regions_partition() -> None:
    (line,) = lines(config("cn-north-1", home="cn-north-1", leaving=["us-east-1"]))

    assert line.startswith("leaving: with aws:region they lie in different AWS partitions (aws, aws-cn)")


@pytest.mark.parametrize("region", sorted(WITHOUT_FUNCTION_URLS))
def test_a_region_without_function_urls_is_refused_until_it_is_allowed(region: str) -> None:
    (line,) = lines(config(HOME, region))

    assert line.startswith(f"regions: '{region}' has no Lambda Function URLs")
    assert line.endswith(f'in Pulumi.test.yaml, global-integers:allowUrlRegions: ["{region}"]')
    assert deploy(config(HOME, region, allowUrlRegions=[region])).outputs["regions"] == [HOME, region]


def test_the_advice_keeps_the_regions_that_are_allowed_already() -> None:
    (line,) = lines(config(HOME, "ca-west-1", leaving=["il-central-1"], allowUrlRegions=["ca-west-1"]))

    assert line.startswith("leaving: 'il-central-1' has no Lambda Function URLs")
    assert line.endswith('global-integers:allowUrlRegions: ["ca-west-1", "il-central-1"]')


def test_only_regions_can_be_allowed() -> None:
    (line,) = lines(config(HOME, allowUrlRegions=["ca-wets-1"]))

    assert line == "allowUrlRegions: 'ca-wets-1' is not an AWS region; did you mean 'ca-west-1'?"


def test_the_home_region_needs_no_function_urls() -> None:
    assert deploy(config("us-east-1", home="ca-west-1")).outputs["regions"] == ["us-east-1"]


def test_a_floor_may_be_for_all_other_counters() -> None:
    assert lines(config(HOME, floors={"*": 0, "*x": 5})) == [
        f"floors.*: 0 is out of range; 1 to {2**52} (2^52) are allowed",
        f"floors: '*x' is not a counter's name; it must match {COUNTER}",
    ]


@pytest.mark.parametrize("name", ["Orders", "-orders", "_orders", "or ders", "or/ders", "ördërs", "", "a" * 64, "a\n"])
def test_a_counter_whose_name_breaks_the_rule_is_refused(name: str) -> None:
    (line,) = lines(config(HOME, counters=["integers", name]))

    assert line.startswith(f"counters: {name!r}")
    assert COUNTER in line


@pytest.mark.parametrize(
    ("counters", "expected"),
    [
        ([], ["empty", "at least one"]),
        (["orders", "a", "orders"], ["'orders'", "listed 2 times", "once"]),
        ("orders", ["'orders'", "not a list of strings"]),
        (["orders", 2024], ["counters: 2024 is not a string; put it in quotes"]),
    ],
    ids=["none", "twice", "no list", "a number"],
)
def test_wrong_lists_of_counters_are_refused(counters: object, expected: list[str]) -> None:
    (line,) = lines(config(HOME, counters=counters))

    assert line.startswith("counters: ")
    assert [part for part in expected if part not in line] == [], line


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("authorization", "none", "AWS_IAM or NONE"),
        ("authorization", "PUBLIC", "AWS_IAM or NONE"),
        ("memorySize", "127", "128 to 10240"),
        ("memorySize", "10241", "128 to 10240"),
        ("memorySize", "-256", "128 to 10240"),
        ("memorySize", "256.5", "128 to 10240"),
        ("memorySize", "1e3", "128 to 10240"),
        ("memorySize", "much", "128 to 10240"),
        ("memorySize", "", "128 to 10240"),
        ("logRetentionDays", "0", "1, 3, 5, 7, 14, 30, 60, 90"),
        ("logRetentionDays", "15", "1, 3, 5, 7, 14, 30, 60, 90"),
        ("logRetentionDays", "14 days", "1, 3, 5, 7, 14"),
        ("reservedConcurrency", "-2", "-1 to "),
        ("reservedConcurrency", "1.0", "-1 to "),
        ("window", "999", "1000 to 1000000000000 are allowed"),
        ("window", "1000000000001", "1000 to 1000000000000 are allowed"),
        ("headroom", "0", "1 to 1000000 are allowed"),
        ("headroom", "1000001", "1 to 1000000 are allowed"),
        ("watchMinutes", "0", "1 to 60 are allowed"),
        ("watchMinutes", "61", "1 to 60 are allowed"),
        ("watchMinutes", "1.5", "1 to 60 are allowed"),
        ("openCounters", "yes", "true nor false"),
        ("protect", "yes", "true nor false"),
        ("protect", "", "true nor false"),
    ],
)
def test_a_wrong_value_is_refused_with_what_is_allowed(key: str, value: str, allowed: str) -> None:
    (line,) = lines(config(HOME, **{key: value}))

    assert line.startswith((f"{key}: {value!r} ", f"{key}: {value} "))
    assert allowed in line


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("memorysize", "did you mean 'memorySize'?"),
        ("region", "did you mean 'regions'?"),
        ("xyz", "memorySize, openCounters, paused, permissionsBoundary, protect"),
    ],
)
def test_a_setting_that_does_not_exist_is_refused(key: str, expected: str) -> None:
    (line,) = lines(config(HOME, **{key: "1"}))

    assert line.startswith(f"{key}: there is no such setting")
    assert expected in line


def test_the_home_region_must_be_set() -> None:
    given = config(*THREE)
    del given["aws:region"]

    (line,) = lines(given)
    assert line.startswith("aws:region: not set")
    assert "in Pulumi.test.yaml, aws:region: us-east-1" in line


def test_a_home_region_that_is_none_is_refused() -> None:
    (line,) = lines(config(HOME, home="us-east1"))

    assert line.startswith("aws:region: 'us-east1' is not an AWS region")
    assert "did you mean 'us-east-1'?" in line


def test_everything_that_is_wrong_is_told_at_once() -> None:
    given = config(
        "us-east-1",
        "eu-wset-1",
        "us-east-1",
        home="moon",
        counters=["Orders", "a", "a"],
        authorization="none",
        memorySize="much",
        logRetentionDays=15,
        reservedConcurrency=-2,
        protect="yes",
        memorysize=1,
    )

    expected = [line.split(":")[0] for line in lines(given)]
    assert sorted(expected) == sorted(
        [
            *("aws", "regions", "regions", "counters", "counters", "authorization", "memorySize"),
            *("logRetentionDays", "reservedConcurrency", "protect", "memorysize"),
        ]
    )


@pytest.mark.parametrize("size", [128, 10_240])
def test_the_smallest_and_the_largest_memory_are_allowed(size: int) -> None:
    deployment = deploy(config("eu-west-1", memorySize=size))

    assert deployment.one(FUNCTION, region="eu-west-1").inputs["memorySize"] == size


@pytest.mark.parametrize("days", [1, 3653])
def test_the_shortest_and_the_longest_retention_are_allowed(days: int) -> None:
    deployment = deploy(config("eu-west-1", logRetentionDays=days))

    assert deployment.one(LOG_GROUP, region="eu-west-1").inputs["retentionInDays"] == days


@pytest.mark.parametrize("name", ["0", "a" * 63, "a_b-c"])
def test_a_counter_may_be_called(name: str) -> None:
    deployment = deploy(config("eu-west-1", counters=[name]))

    mint = deployment.one(FUNCTION, region="eu-west-1")
    assert mint.inputs["environment"]["variables"]["DEFAULT_COUNTER"] == name


def test_the_longest_stack_name_still_makes_names_that_aws_takes() -> None:
    longest = "s" * (64 - len(f"{PROJECT}--mint-ap-southeast-2"))
    deployment = deploy(config(HOME, "ap-southeast-2"), stack=longest)

    names = [resource.inputs["name"] for kind in (ROLE, FUNCTION) for resource in deployment.of(kind)]
    assert max(map(len, names)) == 64


def test_a_longer_stack_name_is_refused_with_the_length_that_is_possible() -> None:
    room = 64 - len("-mint-ap-southeast-2")
    longest = "s" * (room - len(f"{PROJECT}-"))
    error, deployment = deploy_badly(config(HOME, "ap-southeast-2"), stack=longest + "s")

    assert deployment.resources == []
    assert f"<project>-<stack>: '{PROJECT}-{longest}s' has {room + 1} characters" in str(error)
    assert f"at most {room} are possible" in str(error)


@pytest.mark.parametrize("stack", ["my.stack", "s" * 60])
def test_a_name_that_can_not_be_used_is_to_be_chosen_anew_not_renamed(stack: str) -> None:
    """`pulumi stack rename` would replace every table."""
    (line,) = lines(config(HOME), stack=stack)

    assert line.startswith(f"<project>-<stack>: '{PROJECT}-{stack}' ")
    assert "choose another name before the first deployment, with `pulumi stack init`" in line
    assert "rename " not in line


def test_the_name_must_leave_room_for_regions_that_leave() -> None:
    longest = "s" * (64 - len(f"{PROJECT}--mint-{HOME}"))

    assert deploy(config(HOME), stack=longest).outputs["regions"] == [HOME]
    (line,) = lines(config(HOME, leaving=["ap-southeast-2"]), stack=longest)
    assert "with these regions at most" in line
