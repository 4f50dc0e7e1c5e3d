"""docs/calls.jsonl names every call, field, error and kind of resource of AWS that the code has."""

import inspect
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import botocore.session
import pytest
from aws_client import invocation, service
from aws_client.meaning import KEY, MEANINGS
from coordinate import functions
from mint.api import request
from mint.counters import RUNTIME_ERRORS

from components.domain.api import RESPONSES
from components.gateway import openapi
from components.gateway.templates import TRANSIENT
from local.paths import ROOT
from tests.components.aws_answers import POLICY
from tests.components.running import HOME, config, deploy
from tests.docs.calls import CALLS, calls

LINES = CALLS.read_text()

NAMED = {name for call in calls(LINES) for name in re.findall(r"`([^`]+)`", call["relies"])}

READERS = (request.received, functions.answer_of, invocation._result, service._document, service._error)
"""What reads events, responses and errors. All its texts of one word are AWS's names."""

HEADER = re.compile(r'"(x-(?:amz|forwarded)[\w-]+)"')


def sources(*folders: str) -> str:
    return "\n".join(path.read_text() for folder in folders for path in sorted((ROOT / folder).rglob("*.py")))


def answered(shape: Any) -> Iterator[str]:
    """Yield the names of all members of a response."""
    for name, member in getattr(shape, "members", {}).items():
        yield name
        yield from answered(member) if shape.name != "AttributeValue" else ()
    for part in ("member", "value"):
        if hasattr(shape, part):
            yield from answered(getattr(shape, part))


def operations() -> set[str]:
    """Return what the roles may do, and what is called without an action of its own."""
    keys = {HOME: f"arn:aws:kms:{HOME}:123456789012:key/1"}
    policies = deploy(config(HOME, apiGateway=True, openCounters=True, kmsKeys=keys)).of(POLICY)
    statements = [each for policy in policies for each in json.loads(policy.inputs["policy"])["Statement"]]
    return {action for each in statements for action in each["Action"]} | {
        f"dynamodb:{name}" for name in re.findall(r'\.call\("(\w+)"', sources("lambda"))
    }


def kinds() -> set[str]:
    """Return the kinds of resources of the program, and the calls that it makes itself."""
    found = re.findall(r"\baws\.(\w+?)_?\.(get_\w+?(?=_output)|get_\w+|[A-Z]\w+)", sources("components"))
    return {f"{module}.{name}" for module, name in found if not name.endswith(("Args", "Result"))}


def codes() -> set[str]:
    """Return the codes of errors, and the types of API Gateway's own responses."""
    known = {code for each in MEANINGS.values() for code in each} | {KEY, *TRANSIENT, *RUNTIME_ERRORS, *RESPONSES}
    own = re.findall(r'"([A-Z]+(?:_[A-Z]+)+)": [(u]', inspect.getsource(openapi))
    return known | {
        *own,
        *re.findall(r'"([A-Z]\w+(?:Exception|Failed))"', sources("lambda", "components", "client/src")),
    }


def fields() -> set[str]:
    """Return what is read of AWS's answers and events: members that botocore's models have, headers, `READERS`."""
    session: Any = botocore.session.get_session()
    members: set[str] = set()
    for service_name in ("dynamodb", "lambda"):
        model = session.get_service_model(service_name)
        called = {name.partition(":")[2] for name in operations() if name.startswith(f"{service_name}:")}
        for operation in called & {*model.operation_names}:
            members |= {*answered(model.operation_model(operation).output_shape)}
    code = sources("lambda")
    read = re.sub(r'#[^\n]*|""".*?"""', "", "".join(map(inspect.getsource, READERS)), flags=re.DOTALL)
    found = {*re.findall(r'(?:\[|\.get\()"(\w+)"', code)} & members
    return found | {*HEADER.findall(code)} | {*re.findall(r'"([A-Za-z_][\w-]+)"', read)}


@pytest.mark.parametrize("used", [operations, kinds, codes, fields])
def test_the_list_names_all_that_the_code_relies_on(used: Callable[[], set[str]]) -> None:
    found = used()

    assert len(found) > 15
    assert sorted(found - NAMED) == [], "add it to docs/calls.jsonl: with evidence, or with the command that shows it"


def test_the_list_names_nothing_else() -> None:
    assert sorted(NAMED - operations() - kinds() - codes() - fields()) == []


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "Expecting property name"),
        ("[]", "it has relies"),
        ('{"relies": "`Item`", "where": "README.md"}', "it has relies"),
        ('{"relies": "`Item`", "where": "README.md", "evidence": "test_x::test_y", "shows": "aws"}', "it has relies"),
        ('{"relies": 1, "where": "README.md", "shows": "aws"}', "each member is a text"),
        ('{"relies": "`Item`", "where": "lambda/gone.py", "shows": "aws"}', "there is no file 'lambda/gone.py'"),
        ('{"relies": "`Item`", "where": "README.md", "evidence": "test_lambda::*"}', "'test_lambda::*' isn't a test"),
        ('{"relies": "`Item`", "where": "README.md", "evidence": "NONE"}', "'NONE' isn't a test"),
    ],
)
def test_a_wrong_line_is_named(line: str, problem: str) -> None:
    with pytest.raises(ValueError, match=rf"calls\.jsonl, line 3: .*{re.escape(problem)}"):
        calls("".join(LINES.splitlines(keepends=True)[:2]) + line)
