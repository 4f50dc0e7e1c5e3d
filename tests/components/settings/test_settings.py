"""Wrong settings are reported with their value and what is allowed, all at once, before anything is created."""

from typing import Any

import pulumi
import pytest

from components.names import MAX_ROLE_NAME, ResourceNames
from components.settings import SettingsError, desired_state_of, settings_of
from components.settings.args import SETTINGS, GlobalIntegersArgs
from components.settings.aws_regions import WITHOUT_FUNCTION_URLS, partitions
from components.settings.rules import MAX_DOMAIN
from components.settings.values import did_you_mean
from global_integers_core.names import camel
from tests.components.running import HOME, PROJECT, THREE, config, deploy_badly, refusals, settings

COUNTER = "[a-z0-9][a-z0-9_-]{0,62}"
DOMAIN = "integers.example.com"
LONG = f"{'x' * 40}.{'y' * (MAX_DOMAIN - 40 - len('.example.com') - 1)}.example.com"
ROLE = "arn:aws:iam::123456789012:role"
KEY = "arn:aws:kms:us-east-1:123456789012:key/7d1e"
KEYS = {region: f"arn:aws:kms:{region}:123456789012:key/7d1e" for region in THREE}
TOPIC = "arn:aws:sns:us-east-1:123456789012:operators"
LOSS = "loss-c9f0f895fb98ab91-7"


def test_all_that_is_wrong_is_told_before_anything_is_made() -> None:
    settings = config(
        *("us-east-1", "eu-wset-1", "us-east-1"),
        home="moon",
        counters=["Orders", "a", "a", "integers"],
        authorization="none",
        memorySize="much",
        logRetentionDays=15,
        reservedConcurrency=-2,
        protect="yes",
        memorysize=1,
    )
    error, deployment = deploy_badly(settings)

    assert isinstance(error, pulumi.RunError), "Pulumi shows a RunError without a traceback"
    assert deployment.resources == []
    first, *lines = str(error).splitlines()
    assert first == "the settings are wrong:"
    assert sorted(line.strip().split(":")[0] for line in lines) == sorted(
        [
            *("aws", "regions", "regions", "counters", "counters", "authorization", "memorySize"),
            *("logRetentionDays", "reservedConcurrency", "protect", "memorysize"),
        ]
    )


@pytest.mark.parametrize(
    ("regions", "expected"),
    [
        ([], ["regions: ", "empty", "at least one", 'in Pulumi.test.yaml, global-integers:regions: ["us-east-1']),
        (["us-east-1", "eu-west-1", "us-east-1"], ["regions: ", "'us-east-1'", "listed 2 times", "once"]),
        (["us-east-1", "eu-wset-1"], ["regions: ", "'eu-wset-1'", "not an AWS region", "did you mean 'eu-west-1'?"]),
        (["mars"], ["regions: ", "'mars'", "not an AWS region", 'see the AWS page "AWS Regions": https://docs.aws.']),
        (["us-east-1", "cn-north-1"], ["regions: 'cn-north-1' is in the partition aws-cn; only aws is known to"]),
        ("us-east-1", ["regions: ", "'us-east-1'", "not a list of strings", "in Pulumi.test.yaml, global"]),
        ('{"us-east-1": 1}', ["regions: ", "us-east-1", "not a list of strings"]),
        (["us-east-1", 2], ["regions: 2 is not a string; put it in quotes"]),
    ],
    ids=["none", "twice", "mistyped", "unheard of", "partitions", "no list", "an object", "a number"],
)
def test_wrong_regions_are_refused(regions: object, expected: list[str]) -> None:
    (line,) = refusals(config(regions=regions))

    assert [part for part in expected if part not in line] == [], line


def test_more_than_64_regions_are_refused() -> None:
    names = [f"us-east-{number}" for number in range(1, 66)]

    assert "regions: 65 regions; at most 64 are possible" in refusals(config(*names))


@pytest.mark.parametrize(
    ("key", "start", "example"),
    [
        (f"{PROJECT}:regions", "regions: not set", 'global-integers:regions: ["us-east-1", "eu-west-1"]'),
        ("aws:region", "aws:region: not set", "aws:region: us-east-1"),
    ],
)
def test_what_must_be_set(key: str, start: str, example: str) -> None:
    settings = config(*THREE)
    del settings[key]

    (line,) = refusals(settings)
    assert line.startswith(start)
    assert f"in Pulumi.test.yaml, {example}" in line


def test_a_home_region_that_is_none_is_refused() -> None:
    (line,) = refusals(config(HOME, home="us-east1"))

    assert line.startswith("aws:region: 'us-east1' is not an AWS region")
    assert "did you mean 'us-east-1'?" in line


@pytest.mark.parametrize(
    ("leaving", "expected"),
    [
        (["us-west-2", "us-west-2"], ["'us-west-2' is listed 2 times"]),
        (["us-wset-2"], ["'us-wset-2' is not an AWS region; did you mean 'us-west-2'?"]),
        (["eu-west-1"], ["'eu-west-1' is in regions too", "remove one"]),
        (["us-gov-west-1"], ["'us-gov-west-1' is in the partition aws-us-gov", 'allowUrlRegions: ["us-gov-west-1"]']),
        ("us-west-2", ["'us-west-2' is not a list of strings: in Pulumi.test.yaml, global-integers:leaving: ["]),
    ],
    ids=["twice", "mistyped", "in the layout too", "partitions", "no list"],
)
def test_wrong_regions_can_not_leave(leaving: object, expected: list[str]) -> None:
    (line,) = refusals(config(*THREE, leaving=leaving))

    assert line.startswith("leaving: ")
    assert [part for part in expected if part not in line] == [], line


def test_partitions_without_function_urls_are_refused_until_they_are_allowed() -> None:
    home, region = refusals(config("cn-north-1", home="cn-northwest-1"))

    assert home.startswith("aws:region: 'cn-northwest-1' is in the partition aws-cn; only aws is known to have")
    assert region.startswith("regions: 'cn-north-1' is in the partition aws-cn; only aws is known to have")
    assert region.endswith('in Pulumi.test.yaml, global-integers:allowUrlRegions: ["cn-north-1"]')
    both = ["cn-north-1", "cn-northwest-1"]
    assert settings(config("cn-north-1", home="cn-northwest-1", allowUrlRegions=both)).regions == ("cn-north-1",)


def test_a_stack_lies_in_one_partition() -> None:
    (line,) = refusals(config(HOME, "cn-north-1", allowUrlRegions=["cn-north-1"]))
    assert line.startswith("regions: with aws:region and leaving they lie in different AWS partitions (aws, aws-cn)")
    (line,) = refusals(config("cn-north-1", home="cn-north-1", leaving=[HOME], allowUrlRegions=["cn-north-1"]))
    assert "different AWS partitions (aws, aws-cn)" in line


def test_regions_without_function_urls_must_be_allowed() -> None:
    for region in WITHOUT_FUNCTION_URLS:
        (line,) = refusals(config(HOME, region))
        assert line.startswith(f"regions: '{region}' has no Lambda Function URLs")
        assert line.endswith(f'in Pulumi.test.yaml, global-integers:allowUrlRegions: ["{region}"]')
        assert settings(config(HOME, region, allowUrlRegions=[region])).regions == (HOME, region)

    (line,) = refusals(config(HOME, "ca-west-1", leaving=["il-central-1"], allowUrlRegions=["ca-west-1"]))
    assert line.startswith("leaving: 'il-central-1' has no Lambda Function URLs")
    assert line.endswith('global-integers:allowUrlRegions: ["ca-west-1", "il-central-1"]'), "what is allowed stays"
    (line,) = refusals(config(HOME, allowUrlRegions=["ca-wets-1"]))
    assert line == "allowUrlRegions: 'ca-wets-1' is not an AWS region; did you mean 'ca-west-1'?"
    assert settings(config("us-east-1", home="ca-west-1")).home == "ca-west-1", "nobody calls the home region"


def test_behind_a_domain_a_region_needs_no_url() -> None:
    region = min(WITHOUT_FUNCTION_URLS)

    wanted = config(HOME, region, leaving=["ca-west-1"], domain=DOMAIN, functionUrls=False)
    assert settings(wanted).regions == (HOME, region)
    assert "has no Lambda Function URLs" in refusals(config(HOME, region, domain=DOMAIN))[0]


@pytest.mark.parametrize("name", ["Orders", "-orders", "or/ders", "ördërs", "", "a" * 64, "a\n"])
def test_a_counter_whose_name_breaks_the_rule(name: str) -> None:
    (line,) = refusals(config(HOME, counters=["integers", name]))

    assert line.startswith(f"counters: {name!r}")
    assert COUNTER in line


def test_a_floor_may_be_for_all_other_counters() -> None:
    assert settings(config(HOME, floors={"*": 7, "integers": 5})).floors == {"*": 7, "integers": 5}
    assert refusals(config(HOME, floors={"*": 0, "*x": 5})) == [
        f"floors.*: 0 is out of range; 1 to {2**52} (2^52) are allowed",
        f"floors: '*x' is not a counter's name; it must match {COUNTER}",
    ]


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("authorization", "none", "AWS_IAM or NONE"),
        ("memorySize", "127", "128 to 10240"),
        ("memorySize", "10241", "128 to 10240"),
        ("memorySize", "256.5", "128 to 10240"),
        ("memorySize", "1e3", "128 to 10240"),
        ("memorySize", "", "128 to 10240"),
        ("logRetentionDays", "0", "1, 3, 5, 7, 14, 30, 60, 90"),
        ("logRetentionDays", "15", "1, 3, 5, 7, 14, 30, 60, 90"),
        ("logRetentionDays", "14 days", "1, 3, 5, 7, 14"),
        ("reservedConcurrency", "-2", "-1 to "),
        ("window", "0", "1 to 1000000000000 are allowed"),
        ("window", "1000000000001", "1 to 1000000000000 are allowed"),
        ("scheduleMinutes", "0", "1 to 60 are allowed"),
        ("scheduleMinutes", "61", "1 to 60 are allowed"),
        ("openCounters", "yes", "true nor false"),
        ("protect", "", "true nor false"),
    ],
)
def test_a_wrong_value_is_refused(key: str, value: str, allowed: str) -> None:
    (line,) = refusals(config(HOME, **{key: value}))

    assert line.startswith((f"{key}: {value!r} ", f"{key}: {value} "))
    assert allowed in line


def test_a_setting_of_before_is_explained() -> None:
    (line,) = refusals(config(HOME, headroom="100"))
    assert line == "headroom: this setting is gone: what it said follows what each counter uses now; remove it"


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ({"counters": []}, "counters: the list is empty; at least one"),
        (
            {"counters": ["orders", "integers", "orders"]},
            "counters: 'orders' is listed 2 times; each may be listed once",
        ),
        ({"counters": "orders"}, "counters: 'orders' is not a list of strings"),
        ({"counters": ["orders", 2024]}, "counters: 2024 is not a string; put it in quotes"),
        # what exists
        ({"memorysize": 1}, "memorysize: there is no such setting; did you mean 'memorySize'?"),
        ({"region": 1}, "region: there is no such setting; did you mean 'regions'?"),
        ({"xyz": 1}, "memorySize, openCounters, paused, permissionsBoundary, protect"),
        # the domain
        ({"domain": "integers"}, "domain: 'integers' is not a host name in lower case, like integers.example.com"),
        ({"domain": "Integers.example.com"}, "is not a host name in lower case"),
        ({"domain": "https://integers.example.com/"}, "is not a host name"),
        ({"domain": "*.example.com"}, "is not a host name"),
        ({"domain": "integers.example.com."}, "is not a host name"),
        ({"domain": "-x.example.com"}, "is not a host name"),
        ({"domain": "192.0.2.1"}, "is not a host name"),
        ({"domain": f"{'x' * 64}.com"}, "is not a host name"),
        ({"domain": f"z{LONG}"}, f"has {MAX_DOMAIN + 1} characters; at most {MAX_DOMAIN} are possible"),
        ({"hostedZone": "example.com"}, "'example.com' is for domain, which is not set; set both, or neither"),
        (
            {"domain": DOMAIN, "hostedZone": "example.org"},
            f"hostedZone: 'example.org' is neither domain, {DOMAIN!r}, nor a parent of it; use the zone that holds it",
        ),
        (
            {"domain": DOMAIN, "hostedZone": "ample.com"},
            f"'ample.com' is neither domain, {DOMAIN!r}, nor a parent of it",
        ),
        ({"domain": DOMAIN, "hostedZone": f"a.{DOMAIN}"}, f"'a.{DOMAIN}' is neither domain, {DOMAIN!r}, nor a parent"),
        ({"domain": DOMAIN, "hostedZone": "/hostedzone/Z123"}, "is neither a zone's name, like example.com, nor its"),
        ({"functionUrls": False}, "functionUrls: may be false only if domain is set; otherwise nobody could mint"),
        ({"functionUrls": "off"}, "functionUrls: 'off' is neither true nor false"),
        (
            {"domain": DOMAIN, "functionUrls": False, "corsOrigins": ["https://shop.example"]},
            "corsOrigins: needs functionUrls: true or authorization: NONE; the domain doesn't let pages sign requests",
        ),
        # governance
        ({"paused": ["eu-wset-1"]}, "paused: 'eu-wset-1' is neither in regions nor in leaving; did you mean 'eu-west-"),
        ({"paused": ["us-west-2"]}, "paused: 'us-west-2' is neither in regions nor in leaving"),
        ({"iamPath": "teams"}, "iamPath: 'teams' is not a path like /teams/shop/"),
        ({"iamPath": "/a//b/"}, "iamPath: '/a//b/' is not a path"),
        ({"permissionsBoundary": "boundary"}, "permissionsBoundary: 'boundary' is not the ARN of a policy"),
        ({"kmsKeys": {"us-east-1": KEY}}, "kmsKeys: eu-west-1, ap-southeast-2: has no key; either no region has one"),
        ({"kmsKeys": {**KEYS, "eu-west-1": KEY}}, f"kmsKeys.eu-west-1: {KEY!r} is a key of us-east-1"),
        ({"kmsKeys": {**KEYS, "mars": KEY}}, "kmsKeys: 'mars' is not an AWS region"),
        ({"kmsKeys": {**KEYS, "us-east-1": "alias/x"}}, "kmsKeys.us-east-1: 'alias/x' is not the ARN of a key"),
        (
            {"kmsKeys": {**KEYS, "us-east-1": KEY.replace("arn:aws:", "arn:aws-cn:")}},
            f"kmsKeys.us-east-1: {KEY.replace('arn:aws:', 'arn:aws-cn:')!r} is a key of another partition than aws",
        ),
        ({"kmsKeys": {**KEYS, "us-east-1": 5}}, "kmsKeys.us-east-1: 5 is not the ARN of a key"),
        ({"budget": 5}, "budget: nobody would be notified; set alarmEmails too"),
        (
            {"budget": 5, "alarmEmails": [f"a{n}@b.example" for n in range(11)]},
            "budget: alarmEmails has 11 addresses; AWS Budgets notifies at most 10 addresses of up to 50 characters",
        ),
        ({"budget": 5, "alarmEmails": ["a" * 41 + "@b.example"]}, f"budget: '{'a' * 41}@b.example' has 51 characters"),
        # counters
        (
            {"counters": ["integers", "ping"]},
            "counters: 'ping' can't be a new counter's name: API Gateway has another use for the path /p",
        ),
        ({"counters": ["integers", "sping"]}, "counters: 'sping' can't be a new counter's name"),
        ({"counters": ["integers", "counter"]}, "counters: 'counter' can't be a new counter's name"),
        ({"callers": {f"{ROLE}/shop": ["orders"]}, "authorization": "NONE"}, "callers: needs authorization: AWS_IAM"),
        ({"callers": {f"{ROLE}/shop": ["orders"]}, "apiGateway": True}, "callers: can't be used with apiGateway"),
        ({"callers": {"shop": ["orders"]}}, "callers: 'shop' is not the ARN of a role or a user, like arn:aws:iam::"),
        ({"callers": {f"{ROLE}/sho?": ["orders"]}}, "is not the ARN of a role or a user"),
        ({"callers": {f"{ROLE}/teams/*": ["orders"]}}, "has a path and a `*`; a request doesn't say the path"),
        ({"callers": {f"{ROLE}/*/shop": ["orders"]}}, "has a path and a `*`"),
        ({"callers": {f"{ROLE}/shop": "orders"}}, f"callers.{ROLE}/shop: 'orders' is neither a list of counters nor '"),
        ({"callers": {f"{ROLE}/shop": []}}, f"callers.{ROLE}/shop: [] is neither a list of counters nor '*'"),
        ({"callers": {f"{ROLE}/shop": ["Orders"]}}, "'Orders' is not a counter's name; it must match"),
        ({"callers": {f"{ROLE}/{'x' * 63}{n}": ["orders"] for n in range(30)}}, "bytes as JSON; 2500 are possible"),
        (
            {"callers": {f"arn:aws:iam::{account}:role/shop": "*" for account in range(10**11, 10**11 + 21)}},
            "callers: names 21 accounts; 20 are possible: let callers of further accounts assume a role of one of ",
        ),
        # the alarms
        ({"alarms": {"latncy": 5}}, "alarms.latncy: there is no such alarm; did you mean 'latency'?"),
        ({"alarms": {"zzz": 5}}, "alarms.zzz: there is no such alarm; there are errors, throttles, tableThrottles, "),
        ({"alarms": {"latency": -1}}, "alarms.latency: -1 is out of range; 0 (off) to 30000 milliseconds"),
        ({"alarms": {"ceiling": "6 h"}}, "alarms.ceiling: '6 h' is not an integer; 0 (off) to 99 percent are allowed"),
        ({"alarms": {"*": 1}}, "alarms.*: 1 is not 0; for all alarms, only 0 (off) is allowed"),
        ({"alarms": [1]}, "is not an object of alarms and integers: in Pulumi.test.yaml, global-integers:alarms: {"),
        ({"alarmEmails": ["operator"]}, "alarmEmails: 'operator' is not an e-mail address like operator@shop.example"),
        ({"alarmEmails": "a@b.c"}, "alarmEmails: 'a@b.c' is not a list of strings"),
        ({"alarmTopics": {"eu-west-2": "x"}}, "alarmTopics.eu-west-2: the stack has no alarms there; it has some in "),
        ({"alarmTopics": {"eu-west-1": "operators"}}, "alarmTopics.eu-west-1: 'operators' is not the ARN of"),
        ({"alarmTopics": {"eu-west-1": TOPIC}}, "is in us-east-1; an alarm can only notify a topic of its own region"),
        # the waves
        ({"waves": "us-east-1"}, "waves: 'us-east-1' is not a list of lists of regions: "),
        ({"waves": ["us-east-1"]}, "waves: ['us-east-1'] is not a list of lists of regions: "),
        ({"waves": [["us-east-1", 1]]}, "waves: [['us-east-1', 1]] is not a list of lists of regions: "),
        ({"waves": [["us-east-1"], []]}, "waves: [['us-east-1'], []] has no region in wave 2; name one, or remove"),
        ({"waves": [["eu-wset-1"]]}, "waves: 'eu-wset-1' is neither in regions nor in leaving; did you mean 'eu-west-"),
        ({"waves": [["us-east-1"], ["us-east-1"]]}, "waves: 'us-east-1' is listed 2 times; each may be listed once"),
        ({"waves": [["first", "us-east-1"]]}, "waves: 'us-east-1' is listed 2 times; each may be listed once"),
        ({"waves": [["rest"], ["rest"]]}, "waves: 'rest' is listed 2 times; each may be listed once"),
        # the default counter
        (
            {"counters": ["orders", "invoices"]},
            "defaultCounter: 'integers' is not in counters (orders, invoices); set defaultCounter to one of them, such",
        ),
        ({"defaultCounter": ""}, "defaultCounter: '' is not in counters (integers); set defaultCounter to one of them"),
        ({"defaultCounter": "integer"}, "defaultCounter: 'integer' is not in counters (integers); did you mean 'integ"),
        (
            {"counters": [f"c{n}" for n in range(11)]},
            "(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, …); set defaultCounter to",
        ),
        # the answer to a loss
        ({"recovery": LOSS}, f"recovery: '{LOSS}' is not an object of loss and above: in Pulumi.test.yaml, global"),
        (
            {"recovery": {"above": 5}},
            "recovery: has no loss; the refusal of the last deployment printed it: in Pulumi.",
        ),
        ({"recovery": {"los": LOSS}}, "recovery.los: there is no such key; did you mean 'loss'?"),
        ({"recovery": {"loss": LOSS, "floor": 1}}, "recovery.floor: there is no such key; there are loss, above"),
        (
            {"recovery": {"loss": LOSS}},
            "recovery: has no above; add the largest integer that was ever minted, from your own",
        ),
        (
            {"recovery": {"loss": LOSS[:-1], "above": 5}},
            f"recovery.loss: '{LOSS[:-1]}' is not the id of a loss, like loss-8f14e45",
        ),
        (
            {"recovery": {"loss": 12_345_678, "above": 5}},
            "recovery.loss: 12345678 is not the id of a loss, like loss-8f14e45fceea",
        ),
        (
            {"recovery": {"loss": LOSS, "above": 2**53}},
            "recovery.above: 9007199254740992 is out of range; 0 to 9007199254740991 (2^53 − 1) are allowed",
        ),
        ({"recovery": {"loss": LOSS, "above": "5"}}, "recovery.above: '5' is not an integer; 0 to 9007199254740991"),
        # the counter of the check
        ({"counters": ["integers", "-check"]}, "'-check' is not a counter's name"),
        ({"floors": {"-check": 5}}, "'-check' is not a counter's name"),
    ],
)
def test_the_refusal_says_what_is_allowed(setting: dict[str, Any], expected: str) -> None:
    found = refusals(config(*THREE, **setting))

    assert len(found) == 1, found
    assert expected in found[0]


@pytest.mark.parametrize(
    "setting",
    [
        {"memorySize": 128, "logRetentionDays": 1},
        {"memorySize": 10_240, "logRetentionDays": 3653},
        *({"counters": ["integers", name]} for name in ("0", "a" * 63, "a_b-c")),
        {"counters": ["orders"], "defaultCounter": "orders"},
        *({"recovery": {"loss": LOSS, "above": above}} for above in (0, 2**53 - 1)),
        {"domain": LONG},
        {"domain": "xn--bcher-kva.example.com"},
        {"domain": "a.b.c-1.example.com", "hostedZone": "c-1.example.com."},
        {"domain": "example.com", "hostedZone": "example.com"},
        {"domain": DOMAIN, "hostedZone": "Z123", "functionUrls": False},
        {"domain": DOMAIN, "corsOrigins": ["https://shop.example"]},
        {"domain": DOMAIN, "corsOrigins": ["https://shop.example"], "functionUrls": False, "authorization": "NONE"},
        {"domain": "", "hostedZone": ""},
        {"leaving": ["us-west-2"], "paused": ["us-west-2", HOME]},
        {"kmsKeys": {**KEYS, "us-west-2": KEYS[HOME].replace(HOME, "us-west-2")}},  # of a region that is gone
        *(
            {"callers": {pattern: ["orders", "*"]}}
            for pattern in (
                "*",
                f"{ROLE}/shop",
                f"{ROLE}/shop-*",
                f"{ROLE}/aws-reserved/sso.amazonaws.com/eu-west-1/AWSReservedSSO_Admin_0a1b",
                "arn:aws:iam::123456789012:user/teams/*",
                "arn:aws:sts::123456789012:assumed-role/shop/i-*",
                "arn:aws-cn:iam::*:role/shop",
            )
        ),
    ],
)
def test_a_right_value_is_accepted(setting: dict[str, Any]) -> None:
    assert settings(config(*THREE, **setting)).regions == THREE


def test_every_name_of_the_domain_fits_in_dns() -> None:
    longest = max(map(len, partitions()))

    assert "gateway" not in partitions()
    assert longest + 1 + MAX_DOMAIN <= 253
    assert longest <= 63


FAR = "ap-southeast-2"

ROOMS: dict[str, dict[str, Any]] = {
    f"coordinate-{FAR}": {"home": FAR},
    f"gateway-{FAR}": {"apiGateway": True, "regions": [HOME, FAR]},
    f"coordinate-{HOME}": {"regions": [HOME, FAR]},
}


@pytest.mark.parametrize("role", ROOMS)
def test_a_stacks_name_leaves_room_for_the_longest_role(role: str) -> None:
    room = 64 - len(f"-{role}")
    stack, with_it = "s" * (room - len(f"{PROJECT}-")), config(HOME, **ROOMS[role])

    assert settings(with_it, stack=stack).prefix == f"{PROJECT}-{stack}"
    (line,) = refusals(with_it, stack=f"{stack}s")
    assert f"<project>-<stack>: '{PROJECT}-{stack}s' has {room + 1} characters" in line
    assert f"with these regions at most {room} are possible" in line


@pytest.mark.parametrize("stack", ["my.stack", "s" * 60])
def test_a_name_that_does_not_do_is_never_renamed(stack: str) -> None:
    """`pulumi stack rename` would replace every table."""
    (line,) = refusals(config(HOME), stack=stack)

    assert line.startswith(f"<project>-<stack>: '{PROJECT}-{stack}' ")
    assert "choose another name before the first deployment, with `pulumi stack init`" in line
    assert "rename " not in line


def test_all_names_begin_with_the_prefix_and_differ() -> None:
    names = ResourceNames("shop-dev")
    made = [
        *(names.counters_table, names.receipts_table, names.layouts_table, names.mirror_table),
        names.schedule_rule,
        *(names.mint_function, names.coordinate_function, names.gateway_api, names.alarms_topic, names.alarm("errors")),
        *(role(region) for role in (names.mint_role, names.gateway_role) for region in THREE),
    ]

    assert all(name.startswith("shop-dev-") for name in made)
    assert len(set(made)) == len(made)
    room = ResourceNames("").room("us-east-1", THREE, gateway=True)
    assert len(ResourceNames("p" * room).gateway_role("ap-southeast-2")) == MAX_ROLE_NAME
    room = ResourceNames("").room("ap-southeast-2", THREE, gateway=True)
    assert len(ResourceNames("p" * room).coordinate_role("ap-southeast-2")) == MAX_ROLE_NAME


def of_a_program(**more: Any) -> dict[str, Any]:
    """What another program asks for, as a dict."""
    return {"home": "us-east-1", "regions": ["us-east-1", "eu-west-1"], **more}


def test_a_dict_of_whole_floats_is_as_good_as_the_dataclass() -> None:
    """Pulumi's protocol has one type of number, a double."""
    answer = {"loss": LOSS, "above": 7.0}
    found = settings_of(of_a_program(memory_size=512.0, floors={"integers": 5e6}, recovery=answer), "p")

    more = {"floors": {"integers": 5_000_000}, "recovery": {"loss": LOSS, "above": 7}}
    args = GlobalIntegersArgs(**of_a_program(memory_size=512, **more))
    assert found == settings_of(args, "p")
    assert isinstance(found.memory_size, int)
    assert isinstance(found.floors["integers"], int)
    assert isinstance(found.recovery["above"], int)


@pytest.mark.parametrize(
    ("setting", "reported"),
    [
        ({"memory_size": 256.5}, "memory_size: 256.5 is not an integer; 128 to 10240 are allowed"),
        ({"memory_size": True}, "memory_size: True is not an integer; 128 to 10240 are allowed"),
        ({"memory_size": float("inf")}, "memory_size: inf is not an integer; 128 to 10240 are allowed"),
        ({"protect": "yes"}, "protect: 'yes' is neither true nor false"),
        ({"prefix": 7}, "prefix: 7 is not a string"),
        ({"home": ["us-east-1"]}, "home: ['us-east-1'] is not a string"),
        ({"floors": {5: 5}}, "floors: 5 is not a string; put it in quotes"),
        ({"prefix": "my.shop"}, "prefix: 'my.shop' may hold letters, digits, - and _ only"),
        ({"regions": []}, "regions: the list is empty; at least one is needed: regions=['us-east-1', 'eu-west-1']"),
        ({"floors": [1]}, "floors: [1] is not an object of counters and integers: floors={'integers': 5000000}"),
        ({"floors": {"my_counter": 0}}, "floors.my_counter: 0 is out of range; 1 to "),
        ({"memorySize": 256}, "memorySize: there is no such setting; did you mean 'memory_size'?"),
    ],
)
def test_a_program_is_refused_in_its_own_words(setting: dict[str, Any], reported: str) -> None:
    with pytest.raises(SettingsError) as wrong:
        settings_of(of_a_program(**setting), "p")

    first, line = str(wrong.value).splitlines()
    assert first == "the settings are wrong:"
    assert reported in line


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("leese", "lease"),
        ("memory", "memorySize"),
        ("region", "regions"),
        ("kmsKey", "kmsKeys"),
        ("openCounter", "openCounters"),
        ("port", ""),
        ("name", ""),
        ("table", ""),
        ("timeout", ""),
    ],
)
def test_only_what_is_near_is_proposed(written: str, meant: str) -> None:
    known = [camel(name) for name in SETTINGS]

    assert did_you_mean(written, known) == (f"; did you mean {meant!r}?" if meant else "")


@pytest.mark.parametrize(
    ("chosen", "window"),
    [
        ({"window": 7}, 7),
        ({"apiGateway": True}, 480_000),
        ({"apiGateway": True, "apiGatewayRate": 1, "scheduleMinutes": 1}, 1000),
        ({"apiGateway": True, "window": 10**6}, 10**6),
    ],
)
def test_where_nobody_can_ask_a_window_lasts_until_the_next_run(chosen: dict[str, Any], window: int) -> None:
    assert desired_state_of(settings(config(HOME, **chosen)))["window"] == window
