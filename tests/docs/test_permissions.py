"""docs/permissions.md: its policies are what is deployed, and its prices are computed from those of the price list."""

import json
import re
from typing import Any

import pytest
import yaml
from mint.api.formats import FORMATS, SHORT

from components.domain.capacity import capacity
from components.settings import PUBLIC_CONCURRENCY
from components.table import use_keys
from local.paths import ROOT
from proof.bench import public_stack, strangers
from tests.components.aws_answers import ALARM, POLICY
from tests.components.running import HOME, PREFIX, config, deploy, settings

PAGE = (ROOT / "docs" / "permissions.md").read_text()


def key_policy() -> list[dict[str, Any]]:
    (text,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    return json.loads(text)["Statement"]


def test_the_key_policy_allows_what_the_roles_do() -> None:
    tables, _, _ = key_policy()
    (own,) = use_keys(["key"])

    assert set(own["Action"]) == set(tables["Action"]) - {"kms:CreateGrant"}
    services = tables["Condition"]["StringEquals"]["kms:ViaService"]
    assert services == [f"{service}.eu-west-1.amazonaws.com" for service in ("dynamodb", "lambda")]


def test_the_key_policy_names_the_log_groups_of_the_functions() -> None:
    _, logs, _ = key_policy()
    (group,) = logs["Condition"]["ArnLike"].values()

    assert logs["Principal"] == {"Service": "logs.eu-west-1.amazonaws.com"}
    assert group.endswith(":log-group:/aws/lambda/global-integers-production-*")


def test_the_key_policy_names_the_alarms_that_use_the_topics() -> None:
    _, _, topics = key_policy()
    alarms = deploy(config(HOME), stack="production").of(ALARM)

    (pattern,) = topics["Condition"]["ArnLike"].values()
    assert topics["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert alarms
    assert {alarm.inputs["name"].startswith(pattern.rpartition(":")[2].removesuffix("*")) for alarm in alarms} == {True}


@pytest.mark.parametrize(
    ("role", "own"),
    [
        (f"mint-{HOME}", "…-mint-<region>"),
        (f"coordinate-{HOME}", "…-coordinate-<home>"),
        (f"gateway-{HOME}", "…-gateway-<region>"),
    ],
)
def test_the_table_of_roles_has_all_their_actions_and_no_others(role: str, own: str) -> None:
    deployment = deploy(config(HOME, apiGateway=True, openCounters=True))
    policy, *_ = [
        json.loads(p.inputs["policy"]) for p in deployment.of(POLICY) if p.inputs["role"] == f"{PREFIX}-{role}"
    ]
    actions = [action.partition(":")[2] for s in policy["Statement"] for action in s["Action"]]
    rows = re.findall(r"^\| (?:`(….*?)`)? *\| (.*?) \|", PAGE, re.MULTILINE)
    listed: list[str] = []
    present = ""
    for name, cell in rows:
        present = name or present
        if present == own:
            listed += [text.rpartition(":")[2] for text in re.findall(r"`((?:\w+:)?[A-Z]\w+)`", cell)]

    assert sorted(set(listed)) == sorted(set(actions) - {"CreateLogStream", "PutLogEvents"})


def test_the_callers_that_it_shows_are_accepted() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    shown = yaml.safe_load(text)["global-integers:callers"]

    assert len(shown) == 3
    assert settings(config(HOME, callers=shown)).callers.keys() == shown.keys()


@pytest.fixture(scope="module")
def sent() -> list[strangers.Measured]:
    """What came of every request that a stranger may send."""
    return strangers.measured()


def test_the_page_says_what_a_public_stack_costs(sent: list[strangers.Measured]) -> None:
    rows = public_stack.rows(public_stack.largest(sent))

    usual = max(row.together for kind, row in rows.items() if "openCounters" not in kind)
    assert f"a region costs at most {usual:.2f} a day, three regions {3 * round(usual, 2):.2f}." in PAGE


def test_no_response_is_larger_than_the_page_says(sent: list[strangers.Measured]) -> None:
    """Of every route, method and format of the API's description."""
    measured = {(each.sent.operation, each.sent.method, each.media_type) for each in sent}
    largest = max(row.size for row in public_stack.rows(public_stack.largest(sent)).values())

    assert described() <= measured
    assert max(each.size for each in sent) == largest < 20_000, "strangers can ask for it, and each byte costs"


def described() -> set[tuple[str, str, str]]:
    """Return path, method and media type of all responses that docs/openapi.yaml describes."""
    api = yaml.safe_load((ROOT / "docs" / "openapi.yaml").read_text())
    found: set[tuple[str, str, str]] = set()
    for path, item in api["paths"].items():
        for method in item.keys() & {"get", "head", "post", "put"}:
            for response in item[method]["responses"].values():
                name = response.get("$ref", "").rpartition("/")[2]
                content = (api["components"]["responses"][name] if name else response).get("content", {"": None})
                found |= {(path, method.upper(), media) for media in content if method == "get" or media != "text/html"}
    return found


def test_the_requests_that_are_priced_are_answered_as_meant(sent: list[strangers.Measured]) -> None:
    expected = {strangers.ERRORS: range(400, 504), strangers.ASKS: [503], strangers.REFUSED: [403]}
    expected |= {strangers.BODIES: [413], strangers.CREATE: [200, 403]}

    for each in sent:
        assert each.status in expected.get(each.sent.kind, [200]), each
        assert each.status != 500


def test_a_repeated_request_for_all_integers_is_no_dearer(sent: list[strangers.Measured]) -> None:
    large = [each for each in sent if each.sent.kind == strangers.BLOCKS and "count=100000" in each.sent.path]

    assert len([each for each in large if not each.writes]) == 4 * len(FORMATS)  # repeated, in each, at two paths
    assert {each.media_type for each in large} == {SHORT}
    assert max(each.size for each in large) < 1000


def test_the_rate_on_the_page_is_what_the_function_serves() -> None:
    limits = capacity(settings(config(HOME, authorization="NONE")), HOME)
    health = capacity(settings(config(HOME)), HOME).health.rate

    assert limits.callers.rate + limits.health.rate == public_stack.RATE
    assert f"limited to {PUBLIC_CONCURRENCY} concurrent executions" in PAGE
    assert f": {public_stack.RATE} requests per second, and as many again with a `domain`" in PAGE
    assert f"More than {health} requests per second make" in PAGE
