"""Who may do what in the account of a deployment: each role what it must, and nobody what they must not."""

import json
import re
from collections.abc import Sequence
from typing import Any

import botocore.session
import pytest

from components.table import OPEN
from local.paths import ROOT as CHECKOUT
from tests.components.aws_answers import ACCOUNT, POLICY, TABLE_POLICY, arn
from tests.components.iam_account import (
    ADMINISTRATOR,
    ANONYMOUS,
    EVERYTHING,
    ROOT,
    WRITES,
    Account,
    Caller,
    Statement,
    qualified,
    service,
    user,
)
from tests.components.recording import Deployment
from tests.components.running import HOME, THREE, config, deploy

STACK = "production"
PREFIX = f"global-integers-{STACK}"
"""The stack of the policies in docs/."""

FOREIGN, UNLISTED = "111122223333", "444455556666"
OTHER = "eu-west-1"
DOMAIN = "integers.example.com"
KEYS = {region: f"arn:aws:kms:{region}:{ACCOUNT}:key/{region}" for region in THREE}

Request = tuple[str, str]
"""An action and the ARN of a resource."""


def table(name: str, region: str = HOME) -> str:
    return arn("dynamodb", region, f"table/{PREFIX}-{name}")


def function(name: str, region: str = HOME, qualifier: str = "") -> str:
    return qualified(arn("lambda", region, f"function:{PREFIX}-{name}"), qualifier)


def requests(actions: str, *resources: str) -> list[Request]:
    """Return each action, of those in `dynamodb:GetItem PutItem`, on each resource."""
    prefix, _, names = actions.partition(":")
    return [(f"{prefix}:{name}", resource) for name in names.split() for resource in resources]


def statements(page: str) -> list[Statement]:
    """Return the statements of the only policy that a page of docs/ shows, or its only statement."""
    texts = re.findall(r"```json\n(.*?)```", (CHECKOUT / "docs" / page).read_text(), re.DOTALL)
    (document,) = (json.loads(text) for text in texts if '"Effect"' in text)
    return document.get("Statement", [document])


@pytest.fixture(scope="module")
def account() -> Account:
    """All that a stack can have where callers sign, with API Gateway, open counters and keys."""
    settings: dict[str, Any] = {
        "apiGateway": True,
        "openCounters": True,
        "kmsKeys": KEYS,
        "alarmEmails": ["a@b.example"],
    }
    return Account(deploy(config(*THREE, **settings), stack=STACK), in_any_region(statements("permissions.md")))


def in_any_region(key_policy: Sequence[Statement]) -> list[Statement]:
    """Return the policy of the keys of all regions. The page shows that of one."""
    return [
        json.loads(json.dumps(statement).replace("eu-west-1", region)) for statement in key_policy for region in THREE
    ]


@pytest.fixture(scope="module")
def named() -> Account:
    """Callers of another account are named; there is a domain, too."""
    callers = {f"arn:aws:iam::{FOREIGN}:role/shop": "*", f"arn:aws:iam::{ACCOUNT}:role/shop": "*"}
    return Account(deploy(config(*THREE, callers=callers, domain=DOMAIN, hostedZone="example.com"), stack=STACK))


QUALIFIERS = ("", "$LATEST", "1", "7", "deployments", "minting", "live")
MINTS = [function("mint", region, qualifier) for region in THREE for qualifier in QUALIFIERS]
COORDINATES = [function("coordinate", HOME, qualifier) for qualifier in QUALIFIERS]
ALL_TABLES = [table(name, region) for region in THREE for name in ("counters", "receipts")] + [
    table(name) for name in ("layouts", "mirror")
]
GONE = [table(name, "us-west-2") for name in ("counters", "receipts")]
"""Of a region that the program no longer knows. It must still be fenced."""


def logs(name: str, region: str = HOME) -> list[Request]:
    stream = f"log-group:/aws/lambda/{PREFIX}-{name}:log-stream:2026/11/25/1"
    return requests("logs:CreateLogStream PutLogEvents", arn("logs", region, stream))


MUST: dict[str, list[Request]] = {
    f"mint-{OTHER}": [
        *requests("dynamodb:GetItem UpdateItem Scan", table("counters", OTHER)),
        *requests("dynamodb:GetItem PutItem", table("receipts", OTHER)),
        *requests("lambda:InvokeFunction", function("coordinate", HOME, "minting")),
        *logs("mint", OTHER),
    ],
    f"coordinate-{HOME}": [
        *requests("dynamodb:GetItem PutItem Scan ConditionCheckItem DeleteItem DescribeTable", table("layouts")),
        *requests("dynamodb:GetItem PutItem Scan ConditionCheckItem DescribeTable", table("mirror")),
        *requests(
            "dynamodb:GetItem PutItem UpdateItem Scan DeleteItem DescribeTable",
            *(name for name in (*ALL_TABLES, *GONE) if name.endswith("-counters")),
        ),
        *requests(
            "dynamodb:GetItem UpdateItem", *(name for name in (*ALL_TABLES, *GONE) if name.endswith("-receipts"))
        ),
        *requests("lambda:InvokeFunction InvokeFunctionUrl GetAlias UpdateAlias", *MINTS),
        *requests("lambda:GetAlias UpdateAlias", *COORDINATES),
        *requests("lambda:InvokeFunction", function("coordinate", HOME, "deployments")),
        *logs("coordinate"),
    ],
    f"gateway-{OTHER}": requests("dynamodb:UpdateItem", table("counters", OTHER)),
}
"""Role → what it does, and nothing else of `ALL`."""

ALL: list[Request] = [
    *requests(f"dynamodb:GetItem Scan ConditionCheckItem DescribeTable {' '.join(WRITES)}", *ALL_TABLES, *GONE),
    *requests("dynamodb:DeleteTable UpdateTable PutResourcePolicy DeleteResourcePolicy UpdateTimeToLive", *ALL_TABLES),
    *requests(
        "dynamodb:GetItem UpdateItem PutItem DeleteItem", arn("dynamodb", OTHER, "table/global-integers-other-counters")
    ),
    *requests("lambda:InvokeFunction InvokeFunctionUrl GetAlias UpdateAlias", *MINTS, *COORDINATES, function("mint-2")),
    *requests("lambda:UpdateFunctionCode PublishVersion AddPermission", *MINTS, *COORDINATES),
    *(request for region in THREE for name in ("mint", "coordinate") for request in logs(name, region)),
    *requests("iam:PassRole PutRolePolicy", f"arn:aws:iam::{ACCOUNT}:role/{PREFIX}-coordinate-{HOME}"),
    *requests("sts:AssumeRole", f"arn:aws:iam::{ACCOUNT}:role/{PREFIX}-coordinate-{HOME}"),
    *requests("kms:Decrypt", *KEYS.values()),
]


def refused(account: Account, caller: Caller, wanted: Sequence[Request], **context: str) -> list[Request]:
    return [
        (action, resource) for action, resource in wanted if not account.allows(caller, action, resource, **context)
    ]


@pytest.mark.parametrize("role", MUST)
def test_a_role_can_do_what_it_must_and_nothing_else(account: Account, role: str) -> None:
    caller = account.role(f"{PREFIX}-{role}")

    assert {*refused(account, caller, ALL)} == {*ALL} - {*MUST[role]}


@pytest.mark.parametrize("role", MUST)
def test_the_list_has_all_that_a_role_may(account: Account, role: str) -> None:
    """So nothing is allowed that no list names."""
    policies = [p for p in account.deployment.of(POLICY) if p.inputs["role"] == f"{PREFIX}-{role}"]
    may = {a for p in policies for s in json.loads(p.inputs["policy"])["Statement"] for a in s["Action"]}

    assert {action for action in may if not action.startswith("kms:")} == {action for action, _ in MUST[role]}


def test_only_open_counters_are_listed(named: Account) -> None:
    assert not named.allows(named.role(f"{PREFIX}-mint-{OTHER}"), "dynamodb:Scan", table("counters", OTHER))


def test_the_coordinator_calls_what_callers_reach(account: Account) -> None:
    coordinator = account.role(f"{PREFIX}-coordinate-{HOME}")

    assert all(account.calls_url(coordinator, f"{PREFIX}-mint", region) for region in THREE)


STRANGERS = {
    "an administrator": ADMINISTRATOR,
    "the root user": ROOT,
    "the deployer": Caller(f"arn:aws:iam::{ACCOUNT}:role/deployer", EVERYTHING),
    "a role with a longer name": Caller(f"arn:aws:iam::{ACCOUNT}:role/{PREFIX}-mint-{OTHER}-2", EVERYTHING),
    "a role with another path": Caller(f"arn:aws:iam::{ACCOUNT}:role/teams/{PREFIX}-mint-{OTHER}", EVERYTHING),
    "a user with a role's name": user(f"{PREFIX}-mint-{OTHER}", *EVERYTHING),
    "another region's gateway": Caller(f"arn:aws:iam::{ACCOUNT}:role/{PREFIX}-gateway-{HOME}", EVERYTHING),
    "another region's minting role": Caller(f"arn:aws:iam::{ACCOUNT}:role/{PREFIX}-mint-{HOME}", EVERYTHING),
    "the region's gateway": Caller(f"arn:aws:iam::{ACCOUNT}:role/{PREFIX}-gateway-{OTHER}", EVERYTHING),
    "the region's minting role": Caller(f"arn:aws:iam::{ACCOUNT}:role/{PREFIX}-mint-{OTHER}", EVERYTHING),
    "the same role of another account": Caller(f"arn:aws:iam::{UNLISTED}:role/{PREFIX}-mint-{OTHER}", EVERYTHING),
}
OWN = {
    "the region's gateway": [table("counters", OTHER)],
    "the region's minting role": [table("counters", OTHER), table("receipts", OTHER)],
}
"""The tables into which they may write."""


@pytest.mark.parametrize("who", STRANGERS)
def test_nobody_else_writes_into_a_table(account: Account, who: str) -> None:
    own = OWN.get(who, [])
    tables = [
        each for each in (table("counters", OTHER), table("receipts", OTHER), *ALL_TABLES[-3:]) if each not in own
    ]
    writes = requests(f"dynamodb:{' '.join(WRITES)}", *tables)

    assert refused(account, STRANGERS[who], writes) == writes


MODEL: Any = botocore.session.get_session().get_service_model("dynamodb")
NO_OPERATIONS = {
    *("ConditionCheckItem", "StartAwsBackupJob"),
    *("PartiQLDelete", "PartiQLInsert", "PartiQLSelect", "PartiQLUpdate"),
}
"""Actions that aren't operations (Service Authorization Reference, "Amazon DynamoDB")."""
OTHER_WRITERS = {
    *("BatchExecuteStatement", "ExecuteStatement", "ExecuteTransaction", "TransactWriteItems"),
    *("ImportTable", "RestoreTableFromBackup"),
    *("CreateGlobalTable", "UpdateGlobalTable", "UpdateTableReplicaAutoScaling"),
}
"""Operations that write items by the actions of others, into tables that they create, or by replication."""


def test_whatever_dynamodb_lets_callers_do_is_open_or_denied(account: Account) -> None:
    """Also what this version of the model has that nobody here knows."""
    known = {*MODEL.operation_names, *NO_OPERATIONS}
    assert {*OPEN, *WRITES, *OTHER_WRITERS} <= known, "the model lacks it, or the name is wrong"
    assert not {*OPEN} & {*WRITES, *OTHER_WRITERS}

    for each in ALL_TABLES:
        wanted = requests(f"dynamodb:{' '.join(sorted(known))} WriteThatIsNew", each)
        open_ = {action.partition(":")[2] for action, _ in {*wanted} - {*refused(account, ADMINISTRATOR, wanted)}}
        assert open_ == {*OPEN}, each


def test_an_administrator_reads_and_may_take_the_policy_off(account: Account) -> None:
    may = "dynamodb:GetItem Scan DescribeTable PutResourcePolicy DeleteResourcePolicy DeleteTable"
    assert refused(account, ADMINISTRATOR, requests(may, *ALL_TABLES)) == []
    writes = requests("dynamodb:PutItem UpdateItem", *ALL_TABLES)
    assert refused(account, ADMINISTRATOR, writes) == writes

    unprotected = [r for r in account.deployment.resources if r.type != TABLE_POLICY]
    assert refused(Account(Deployment(unprotected, {})), ADMINISTRATOR, writes) == [], "it is the policy that refuses"


@pytest.mark.parametrize("name", [f"mint-{OTHER}", f"coordinate-{HOME}", f"gateway-{OTHER}"])
def test_only_its_service_assumes_a_role(account: Account, name: str) -> None:
    own, others = ("apigateway", "lambda") if name.startswith("gateway") else ("lambda", "apigateway")
    role = account.role(f"{PREFIX}-{name}").arn

    assert account.allows(service(own), "sts:AssumeRole", role)
    for caller in (service(others), service("events"), ADMINISTRATOR, ROOT):
        assert not account.allows(caller, "sts:AssumeRole", role)


@pytest.mark.parametrize("role", [f"mint-{OTHER}", f"gateway-{OTHER}", f"coordinate-{HOME}"])
def test_a_role_uses_its_regions_key_through_dynamodb(account: Account, role: str) -> None:
    caller = account.role(f"{PREFIX}-{role}")
    for region, key in KEYS.items():
        used = requests("kms:Decrypt Encrypt GenerateDataKey ReEncryptFrom DescribeKey", key)
        others = [] if region == OTHER or role == f"coordinate-{HOME}" else used
        assert refused(account, caller, used, kms__ViaService=f"dynamodb.{region}.amazonaws.com") == others
        assert refused(account, caller, used, kms__ViaService=f"s3.{region}.amazonaws.com") == used


def test_a_function_decrypts_its_own_environment_only(account: Account) -> None:
    mint = account.role(f"{PREFIX}-mint-{HOME}")
    through = {"kms__ViaService": f"lambda.{HOME}.amazonaws.com"}

    def decrypts(arn_of_function: str) -> bool:
        context = {"kms__EncryptionContext__aws__lambda__FunctionArn": arn_of_function, **through}
        return account.allows(mint, "kms:Decrypt", KEYS[HOME], **context)

    assert decrypts(function("mint"))
    assert decrypts(function("mint", qualifier="7"))
    assert not decrypts(function("coordinate"))
    assert not decrypts(function("mint-2"))


def test_alarms_reach_their_topics(account: Account) -> None:
    alarm = arn("cloudwatch", OTHER, f"alarm:{PREFIX}-errors")
    used = requests("kms:Decrypt GenerateDataKey", KEYS[OTHER])

    assert refused(account, service("cloudwatch"), used, aws__SourceArn=alarm) == []
    assert refused(account, service("cloudwatch"), used, aws__SourceArn=alarm.replace(PREFIX, "others")) == used
    assert refused(account, service("s3"), used, aws__SourceArn=alarm) == used


def with_policy_of(page: str, account: str) -> Caller:
    """Return a user of an account whose only policy is the one that a page shows."""
    return user("alice", *statements(page), account=account)


def test_a_caller_of_the_account_needs_the_documented_policy(named: Account) -> None:
    alice = with_policy_of("api.md", ACCOUNT)

    for region in THREE:
        assert named.calls_url(alice, f"{PREFIX}-mint", region)
        assert not named.calls_url(user("bob"), f"{PREFIX}-mint", region)
        assert not named.allows(alice, "lambda:InvokeFunction", function("mint", region)), "not directly"
        assert not named.allows(alice, "lambda:InvokeFunction", function("coordinate", HOME))


def test_a_caller_of_another_account_must_be_listed_too(named: Account, account: Account) -> None:
    for region in THREE:
        listed, unlisted = (with_policy_of("api.md", each) for each in (FOREIGN, UNLISTED))
        assert named.calls_url(listed, f"{PREFIX}-mint", region)
        assert not named.calls_url(user("bob", account=FOREIGN), f"{PREFIX}-mint", region), "its account must allow it"
        assert not named.calls_url(unlisted, f"{PREFIX}-mint", region)
        assert not account.calls_url(listed, f"{PREFIX}-mint", region), "without `callers`, none is"
        assert not named.calls_url(ANONYMOUS, f"{PREFIX}-mint", region)


@pytest.mark.parametrize("number", [FOREIGN, UNLISTED])
def test_another_account_can_do_nothing_but_call_the_url(named: Account, number: str) -> None:
    stranger = user("mallory", *EVERYTHING, account=number)
    wanted = [
        *requests("lambda:InvokeFunction UpdateFunctionCode", *MINTS),
        *requests("lambda:InvokeFunction", *COORDINATES),
        *requests("dynamodb:GetItem UpdateItem Scan DeleteTable DeleteResourcePolicy", *ALL_TABLES),
    ]

    assert refused(named, stranger, wanted) == wanted


@pytest.mark.slow
def test_everyone_calls_a_public_url_and_nothing_else() -> None:
    public = Account(deploy(config(*THREE, authorization="NONE"), stack=STACK))

    for region in THREE:
        assert public.calls_url(ANONYMOUS, f"{PREFIX}-mint", region)
        assert not public.allows(ANONYMOUS, "lambda:InvokeFunction", function("mint", region, "live")), "not directly"
    assert not public.allows(ANONYMOUS, "lambda:InvokeFunction", function("coordinate"))


def test_a_signed_domain_takes_the_listed_callers(named: Account) -> None:
    own, listed, unlisted = (with_policy_of("domain.md", each) for each in (ACCOUNT, FOREIGN, UNLISTED))

    for region in THREE:
        mint, health = (f"{named.api(region)}/v1/{path}" for path in ("POST/orders", "GET/-/health"))
        assert named.allows(own, "execute-api:Invoke", mint)
        assert named.allows(listed, "execute-api:Invoke", mint)
        for caller in (unlisted, user("bob"), user("bob", account=FOREIGN), ANONYMOUS):
            assert not named.allows(caller, "execute-api:Invoke", mint)
        assert named.allows(ANONYMOUS, "execute-api:Invoke", health), "Route 53 can't sign"


def test_a_service_calls_only_for_the_stacks_own_resources(named: Account) -> None:
    own_rule, other_rule = (arn("events", HOME, f"rule/{name}") for name in (f"{PREFIX}-schedule", "others"))
    own_api, other_api = named.api(OTHER), arn("execute-api", OTHER, "other")
    invoke = "lambda:InvokeFunction"
    coordinator, mint = function("coordinate", HOME, "deployments"), function("mint", OTHER, "live")

    assert named.allows(service("events"), invoke, coordinator, aws__SourceArn=own_rule)
    assert not named.allows(service("events"), invoke, coordinator, aws__SourceArn=other_rule)
    assert not named.allows(service("events"), invoke, mint, aws__SourceArn=own_rule)
    assert named.allows(service("apigateway"), invoke, mint, aws__SourceArn=f"{own_api}/v1/POST/orders")
    assert not named.allows(service("apigateway"), invoke, mint, aws__SourceArn=f"{other_api}/v1/POST/orders")
    assert not named.allows(service("apigateway"), invoke, coordinator, aws__SourceArn=f"{own_api}/v1/POST/orders")
