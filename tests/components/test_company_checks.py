"""Wrong settings of a company's rules are reported with what is allowed."""

from typing import Any

import pytest

from tests.components.running import HOME, THREE, config, deploy
from tests.components.test_checks import lines

ROLE = "arn:aws:iam::123456789012:role"
KEY = "arn:aws:kms:us-east-1:123456789012:key/7d1e"
KEYS = {region: f"arn:aws:kms:{region}:123456789012:key/7d1e" for region in THREE}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"paused": ["eu-wset-1"]},
            "paused: 'eu-wset-1' is neither in regions nor in leaving; did you mean 'eu-west-1'?",
        ),
        ({"paused": ["us-west-2"]}, "paused: 'us-west-2' is neither in regions nor in leaving"),
        ({"tags": {"aws:x": "1"}}, "tags: 'aws:x' is not a tag's key"),
        ({"tags": {"": "1"}}, "tags: '' is not a tag's key"),
        ({"tags": {"team": 5}}, "tags.team: 5 is not a tag's value"),
        ({"tags": {"team": "a#b"}}, "tags.team: 'a#b' is not a tag's value"),
        ({"tags": {f"t{n}": "" for n in range(41)}}, "tags: 41 tags; at most 40 are possible"),
        ({"tags": ["team"]}, "tags: '[\"team\"]' is not an object: in Pulumi.test.yaml, global-integers:tags: {"),
        ({"iamPath": "teams"}, "iamPath: 'teams' is not a path like /teams/shop/"),
        ({"iamPath": "/a//b/"}, "iamPath: '/a//b/' is not a path"),
        ({"permissionsBoundary": "boundary"}, "permissionsBoundary: 'boundary' is not the ARN of a policy"),
        ({"kmsKeys": {"us-east-1": KEY}}, "kmsKeys: eu-west-1, ap-southeast-2: has no key; either no region has one"),
        ({"kmsKeys": {**KEYS, "eu-west-1": KEY}}, f"kmsKeys.eu-west-1: {KEY!r} is a key of us-east-1"),
        ({"kmsKeys": {**KEYS, "mars": KEY}}, "kmsKeys: 'mars' is not an AWS region"),
        ({"kmsKeys": {**KEYS, "us-east-1": "alias/x"}}, "kmsKeys.us-east-1: 'alias/x' is not the ARN of a key"),
        ({"logKmsKeys": {**KEYS, "us-east-1": 5}}, "logKmsKeys.us-east-1: 5 is not the ARN of a key"),
        ({"budget": 5}, "budget: nobody would be told: set budgetEmails or alarmEmails too"),
        ({"budgetEmails": ["ops"]}, "budgetEmails: 'ops' is not an e-mail address"),
        ({"budgetEmails": [f"a{n}@b.example" for n in range(11)]}, "budgetEmails: 11 addresses; at most 10"),
        ({"callers": {f"{ROLE}/shop": ["orders"]}, "authorization": "NONE"}, "callers: needs authorization: AWS_IAM"),
        ({"callers": {f"{ROLE}/shop": ["orders"]}, "apiGateway": True}, "callers: can't be used with apiGateway"),
        ({"callers": {"shop": ["orders"]}}, "callers: 'shop' is not the ARN of a role or a user, like arn:aws:iam::"),
        ({"callers": {f"{ROLE}/sho?": ["orders"]}}, "is not the ARN of a role or a user"),
        ({"callers": {f"{ROLE}/teams/*": ["orders"]}}, "has a path and a `*`; a request doesn't say the path"),
        ({"callers": {f"{ROLE}/*/shop": ["orders"]}}, "has a path and a `*`"),
        (
            {"callers": {f"{ROLE}/shop": "orders"}},
            f"callers.{ROLE}/shop: 'orders' is neither a list of counters nor '*'",
        ),
        ({"callers": {f"{ROLE}/shop": []}}, f"callers.{ROLE}/shop: [] is neither a list of counters nor '*'"),
        ({"callers": {f"{ROLE}/shop": ["Orders"]}}, "'Orders' is not a counter's name; it must match"),
        ({"callers": {f"{ROLE}/{'x' * 63}{n}": ["orders"] for n in range(30)}}, "bytes as JSON; 2500 are possible"),
    ],
)
def test_a_wrong_value_is_refused_with_what_is_allowed(given: dict[str, Any], expected: str) -> None:
    found = lines(config(*THREE, **given))

    assert len(found) == 1, found
    assert expected in found[0]


@pytest.mark.parametrize(
    "pattern",
    [
        "*",
        f"{ROLE}/shop",
        f"{ROLE}/shop-*",
        f"{ROLE}/aws-reserved/sso.amazonaws.com/eu-west-1/AWSReservedSSO_Admin_0a1b",
        "arn:aws:iam::123456789012:user/teams/*",
        "arn:aws:sts::123456789012:assumed-role/shop/i-*",
        "arn:aws-cn:iam::*:role/shop",
    ],
)
def test_these_callers_are_accepted(pattern: str) -> None:
    assert deploy(config(HOME, callers={pattern: ["orders", "*"]})).resources


def test_a_region_that_is_leaving_may_be_paused() -> None:
    assert deploy(config(*THREE, leaving=["us-west-2"], paused=["us-west-2", HOME])).resources


def test_a_key_may_be_kept_for_a_region_that_is_gone() -> None:
    assert deploy(config(HOME, kmsKeys=KEYS)).resources
