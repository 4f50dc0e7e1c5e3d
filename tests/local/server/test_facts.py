"""What AWS answered to a call, and what the local server answers to the same: `facts.jsonl`, a fact a line.

A line has the name of the `fact`, and its `evidence`: a test of LocalStack's with a recording of what AWS answered
(github.com/localstack/localstack, below tests/aws/services). `call` is a service, an operation of boto3 and its
parameters, or `url`, a method and what is requested. It is made `after` other calls, which succeed; a fourth part of
one names fields of what it answered. `aws` is AWS's answer: the status, the error's code, and some of the fields. There
a null is a field that is missing, and `"*"` any value. Where the local server answers otherwise, `here` has how, and
`why` says in plain words why that can't matter, or what is missing.

In all of them, `{name}` is a new name, `{100}` a text of this length, and the others are in `things.json`: the calls by
which each is made when it is first named. A fact has its own, so that none disturbs another; those that only read share
some. Where a call before fails, its operation is in front of the error's code. This prints the totals and the
differences:

    .venv/bin/python -m pytest -n0 -s -m long tests/local/server/test_facts.py
"""

import json
import re
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from botocore.exceptions import ClientError

from local.aws_clients import ANYWHERE, Aws
from local.resources.lambda_ import ARCHIVES, SOON
from local.server.ministack_server import FUNCTION_URLS
from tests.local.machine import HANGING
from tests.local.registrations import function

FACTS = Path(__file__).with_name("facts.jsonl").read_text()

THINGS = json.loads(Path(__file__).with_name("things.json").read_text())

NEEDED = {"fact", "evidence", "call", "aws"}

EVIDENCE = re.compile(r"test_\w+(::Test\w+)?::tests?_\w+(\[.+\])?( \(asserted\))?")
"""File, class, test and parameters; "asserted" where the test itself says what AWS answers."""

PLACEHOLDER = re.compile(r"\{([a-z]+|[0-9]+)\}")

READS = re.compile("invoke$|get_|list_|describe_|scan|GET|POST")
"""The operations that change nothing."""

Fact = dict[str, Any]


def facts_of(text: str) -> list[Fact]:
    """Return the facts of a file.

    Raises:
        ValueError: a line is wrong; it says which and how.
    """
    found: dict[str, Fact] = {}
    for number, line in enumerate(text.splitlines(), 1):
        try:
            fact = json.loads(line)
            if problem := _problem(fact, found):
                raise ValueError(problem)
        except (ValueError, TypeError) as error:
            raise ValueError(f"line {number}: {error}") from error
        found[fact["fact"]] = fact
    return list(found.values())


def _problem(fact: Fact, found: dict[str, Fact]) -> str:
    if not NEEDED <= set(fact) <= NEEDED | {"after", "here", "why"}:
        return "a fact is an object with fact, evidence, call and aws, and may have after, here and why"
    if not EVIDENCE.fullmatch(fact["evidence"]):
        return f"evidence: {fact['evidence']!r} isn't a test, like test_lambda_api::TestLambdaAlias::test_alias_naming"
    if ("here" in fact) != bool(fact.get("why")):
        return "a difference has both here and why"
    return f"fact: {fact['fact']!r} is another line's, too" if fact["fact"] in found else ""


SOURCE = """
import os, time
handler = lambda event, context: eval(event.get("do") or event.get("queryStringParameters", {}).get("do") or "event")
"""
"""A function that returns what it is asked for, by default the event."""


class World(dict[str, Any]):
    """What a fact's placeholders stand for."""

    def __init__(self, aws: Aws, name: str) -> None:
        super().__init__(name=name, zip=ARCHIVES[function(name, SOURCE, {}).inputs["code"]])
        self._aws = aws

    def __missing__(self, name: str) -> Any:
        if name not in THINGS:
            return "x" * int(name) if name.isdigit() else f"{{{name}}}"
        for call in THINGS[name].get("after", []):
            self.made(*call)
        return self.setdefault(name, self.filled(THINGS[name]["is"]))

    def filled(self, value: Any) -> Any:
        """Return a value with what its placeholders stand for."""
        if isinstance(value, str):
            whole = PLACEHOLDER.fullmatch(value)
            return self[whole[1]] if whole else PLACEHOLDER.sub(lambda found: str(self[found[1]]), value)
        if isinstance(value, dict):
            return {self.filled(key): self.filled(each) for key, each in cast("Fact", value).items()}
        return [self.filled(each) for each in cast("list[Any]", value)] if isinstance(value, list) else value

    def made(self, service: str, operation: str, parameters: Fact, names: dict[str, str] | None = None) -> Fact:
        """Make a call and return what is answered."""
        filled = self.filled(parameters)
        if service == "url":
            return self._requested(operation, **filled)
        found: Fact = getattr(self._aws.client(service, ANYWHERE), operation)(**filled)
        if operation == "create_function":  # so did who recorded
            waiter: Any = self._aws.client("lambda", ANYWHERE).get_waiter("function_active_v2")
            waiter.wait(FunctionName=filled["FunctionName"], WaiterConfig=SOON)
        if "Payload" in found:
            found["Payload"] = found["Payload"].read().decode()
        self.update({name: found[field] for name, field in (names or {}).items()})
        return found

    def _requested(self, method: str, url: str, headers: dict[str, str] | None = None) -> Fact:
        """Make a request of a Function URL, which has another form here."""
        place = re.sub(r"https://(\w+)\.[^/]+/", f"{self._aws.endpoint}{FUNCTION_URLS}\\1/", url)
        response = httpx.request(method, place, headers=headers, trust_env=False, timeout=HANGING)
        found = {"body": response.text, "headers": dict(response.headers)}
        return {**found, "ResponseMetadata": {"HTTPStatusCode": response.status_code}}

    def answer(self, fact: Fact) -> list[Any]:
        """Return status, code and fields of what is answered to a fact's call, or that one before it has failed."""
        before, found = "", Fact()
        try:
            for call in [*fact.get("after", []), fact["call"]]:
                before = "" if call is fact["call"] else f"{call[1]}: "
                found = self.made(*call)
        except ClientError as error:
            found = cast("Fact", error.response)
        return [found["ResponseMetadata"]["HTTPStatusCode"], before + found.get("Error", {}).get("Code", ""), found]


def holds(expected: Any, found: Any) -> bool:
    """Return whether an answer, or a part of it, is as expected. JSON in a text is read."""
    if isinstance(expected, str) and "*" in expected:
        pattern = ".*".join(map(re.escape, expected.split("*")))
        return found is not None and bool(re.fullmatch(pattern, str(found), re.DOTALL))
    if isinstance(expected, dict | list) and isinstance(found, str) and found[:1] in ("{", "["):
        found = json.loads(found)
    if isinstance(expected, dict) and isinstance(found, dict):
        return all(holds(each, cast("Fact", found).get(key)) for key, each in cast("Fact", expected).items())
    if isinstance(expected, list) and isinstance(found, list):
        wanted, got = cast("list[Any]", expected), cast("list[Any]", found)
        return len(wanted) == len(got) and all(map(holds, wanted, got))
    return expected == found


def test_each_line_is_a_fact() -> None:
    assert facts_of(FACTS)


FACT = facts_of(FACTS)[0]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 2: Expecting"),
        ("1", "line 2: "),
        (json.dumps({**FACT, "hear": [200, ""]}), "line 2: a fact is an object with"),
        (json.dumps({**FACT, "evidence": "test_lambda_api"}), "line 2: evidence: 'test_lambda_api' isn't a test"),
        (json.dumps({**FACT, "here": [200, ""], "why": ""}), "line 2: a difference has both"),
        (json.dumps({**FACT, "why": "It can't matter."}), "line 2: a difference has both"),
        (json.dumps(FACT), f"line 2: fact: {FACT['fact']!r} is another line's"),
    ],
)
def test_a_wrong_line_is_named(line: str, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        facts_of(f"{json.dumps(FACT)}\n{line}\n")


@pytest.mark.server
@pytest.mark.long
def test_the_local_server_answers_as_noted(aws: Aws) -> None:
    facts, news = facts_of(FACTS), list[str]()
    shared = {fact["call"][0]: World(aws, f"facts-{fact['call'][0]}") for fact in facts}
    for number, fact in enumerate(facts):
        service, operation, _ = fact["call"]
        world = shared[service] if "after" not in fact and READS.match(operation) else World(aws, f"fact-{number}")
        answer = world.answer(fact)
        of_aws, noted = (holds([*world.filled(fact.get(who, [])), {}][:3], answer) for who in ("aws", "here"))
        if of_aws == ("here" in fact) or noted != ("here" in fact):
            news.append(f"{fact['fact']}: {'now as AWS' if of_aws else answer}")
        elif noted:
            print(f"{fact['fact']}: {fact['why']}")
    differ = sum("here" in fact for fact in facts)
    print(f"{len(facts) - differ} facts hold, {differ} differ as noted, {len(news)} news")

    assert news == []
