"""docs/permissions.md: its policies are what is deployed, and no stranger can ask for more than it says."""

import json
import re
from typing import Any

import pytest
import yaml
from mint.api.formats import FORMATS, SHORT
from mint.receipts import receipt_of

from components.table import use_keys
from proof.bench import price, public_stack, strangers
from tests.components.aws_answers import ALARM, POLICY
from tests.components.running import HOME, PREFIX, config, deploy, settings
from tests.docs.pages import code, page

PAGE = page("permissions.md")


def test_the_key_policy_allows_what_is_deployed() -> None:
    tables, logs, topics = json.loads(code(PAGE, "json"))["Statement"]
    (own,) = use_keys(["key"])
    (group,) = logs["Condition"]["ArnLike"].values()
    (pattern,) = topics["Condition"]["ArnLike"].values()
    alarms = [alarm.inputs["name"] for alarm in deploy(config(HOME), stack="production").of(ALARM)]

    assert {*own["Action"]} == {*tables["Action"]} - {"kms:CreateGrant"}
    services = tables["Condition"]["StringEquals"]["kms:ViaService"]
    assert services == [f"{service}.eu-west-1.amazonaws.com" for service in ("dynamodb", "lambda")]
    assert logs["Principal"] == {"Service": "logs.eu-west-1.amazonaws.com"}
    assert group.endswith(":log-group:/aws/lambda/global-integers-production-*")
    assert topics["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert {name.startswith(pattern.rpartition(":")[2].removesuffix("*")) for name in alarms} == {True}


@pytest.mark.parametrize(
    ("role", "own"),
    [
        (f"mint-{HOME}", "…-mint-<region>"),
        (f"coordinate-{HOME}", "…-coordinate-<home>"),
        (f"gateway-{HOME}", "…-gateway-<region>"),
    ],
)
def test_the_table_of_roles_has_all_their_actions_and_no_others(role: str, own: str) -> None:
    made = deploy(config(HOME, apiGateway=True, openCounters=True)).of(POLICY)
    policy = next(json.loads(each.inputs["policy"]) for each in made if each.inputs["role"] == f"{PREFIX}-{role}")
    actions = {action.partition(":")[2] for s in policy["Statement"] for action in s["Action"]}
    # A row without a name goes on with the role before.
    (rows,) = re.findall(rf"^\| `{own}` (\|.*\n(?:\|  *\|.*\n)*)", PAGE, re.MULTILINE)
    cells = re.findall(r"^\|?(?: +\|)? (.*?) \|", rows, re.MULTILINE)
    listed = {action for cell in cells for action in re.findall(r"`(?:\w+:)?([A-Z]\w+)`", cell)}

    assert listed == actions - {"CreateLogStream", "PutLogEvents"}


def test_the_callers_that_it_shows_are_accepted() -> None:
    shown = yaml.safe_load(code(PAGE, "yaml"))["global-integers:callers"]

    assert len(shown) == 3
    assert settings(config(HOME, callers=shown)).callers.keys() == shown.keys()


@pytest.fixture(scope="module")
def sent() -> list[strangers.Measured]:
    """What came of every request that a stranger may send."""
    return strangers.measured()


def test_no_response_is_larger_than_the_page_says(sent: list[strangers.Measured]) -> None:
    """Of every route, method and format of the API's description."""
    measured = {(operation(each.sent.path), each.sent.method, each.media_type) for each in sent}
    largest = max(size for size, *_ in public_stack.functions(public_stack.largest(sent)).values())

    assert described() <= measured
    assert max(each.size for each in sent) == largest < 20_000, "strangers can ask for it, and each byte costs"


def test_the_sizes_that_are_priced_are_large_enough(sent: list[strangers.Measured]) -> None:
    health = max(each.size for each in sent if each.sent.path == "/-/health" and each.status == 200)
    names, numbers = "receiptcountfirststrideexpires", 4 * 11  # of 21 bytes at most, two digits a byte
    receipt = 100 + len(names) + len(receipt_of("k" * 255, "c" * 63)) + numbers

    assert health <= price.HEALTH_BYTES < 2 * health, "HEALTH_BYTES in proof/bench/price.py"
    assert receipt <= public_stack.RECEIPT_BYTES < 2 * receipt
    assert receipt - 255 - 63 + 36 + 8 <= price.RECEIPT_BYTES, "of a UUID and a short name"


def operation(path: str) -> str:
    """Return the path in docs/openapi.yaml of a request's path."""
    counter = re.sub(r"^/(?!-/)[^/]+", "/{counter}", path.partition("?")[0])
    return re.sub(r"(?<=})/.+", "/{integer}", counter)


def described() -> set[tuple[str, str, str]]:
    """Return path, method and media type of all responses that docs/openapi.yaml describes."""
    api = yaml.safe_load(page("openapi.yaml"))
    found: set[tuple[str, str, str]] = set()
    for path, item in api["paths"].items():
        for method in item.keys() & {"get", "head", "post", "put"}:
            for response in item[method]["responses"].values():
                name = response.get("$ref", "").rpartition("/")[2]
                content: dict[str, Any] = api["components"]["responses"][name] if name else response
                types = content.get("content", {"": None})
                found |= {(path, method.upper(), media) for media in types if method == "get" or media != "text/html"}
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
