"""A function's versions: what a deployment publishes, what each of them is, and what stops or fails them."""

import base64
import json
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.aws_clients import Aws
from local.engine.program import Registration
from local.paths import LocalError
from tests.local.registrations import HOME, alias, function, invocation, previewed, role, up

pytestmark = pytest.mark.long

SAYS_WHAT_IT_IS = """
import os
CODE = "first"
def handler(event, context):
    seconds = round(context.get_remaining_time_in_millis() / 1000)
    version = context.function_version
    return [CODE, os.environ["SAYS"], int(context.memory_limit_in_mb), seconds, version]
"""

SECOND = SAYS_WHAT_IT_IS.replace("first", "second")

OF_VERSION = ("version", "qualifiedArn", "qualifiedInvokeArn")

IGNORED = ("functionVersion", "description")


def published(name: str, says: str = "one", source: str = SAYS_WHAT_IT_IS, **changed: Any) -> Registration:
    return function(name, source, {"SAYS": says}, publish=True, **changed)


def called(aws: Aws, name: str, qualifier: str = "$LATEST") -> Any:
    response = aws.client("lambda", HOME).invoke(FunctionName=name, Qualifier=qualifier, Payload=b"{}")
    return json.load(response["Payload"])


def test_a_change_publishes_a_version_and_none_publishes_none(aws: Aws, name: str) -> None:
    arn = f"arn:aws:lambda:{HOME}:000000000000:function:{name}"
    path = f"arn:aws:apigateway:{HOME}:lambda:path/2015-03-31/functions"
    for number, wanted in (("1", published(name)), ("2", published(name, "two"))):
        [_, made], _ = up(aws, role(name), wanted)
        assert [made[key] for key in OF_VERSION] == [number, f"{arn}:{number}", f"{path}/{arn}:{number}/invocations"]
        assert made["invokeArn"] == f"{path}/{arn}/invocations"

        [_, same], events = up(aws, role(name), wanted)
        assert (same["version"], events) == (number, Counter(unchanged=2))


def test_a_preview_knows_a_version_unless_one_is_to_come(aws: Aws, name: str) -> None:
    first = [role(name), published(name)]
    assert not {*OF_VERSION, "arn"} & previewed(aws, *first)[0][-1].keys()
    [_, made], _ = up(aws, *first)

    [_, known], events = previewed(aws, *first)
    assert ([known[key] for key in OF_VERSION], events) == ([made[key] for key in OF_VERSION], Counter(unchanged=2))
    [_, known], _ = previewed(aws, role(name), published(name, reservedConcurrentExecutions=5))
    assert known["version"] == "1"
    for changed in (published(name, "two"), published(name, source=SECOND), published(name, memorySize=256)):
        [_, known], events = previewed(aws, role(name), changed)
        assert (set(OF_VERSION) & known.keys(), known["arn"]) == (set(), made["arn"])
        assert events == Counter(unchanged=1, update=1)


def test_a_function_is_deleted_whole_but_its_numbers_go_on(aws: Aws, name: str) -> None:
    client = aws.client("lambda", HOME)
    up(aws, role(name), published(name), alias(name, "live", functionVersion="1"))
    client.create_function_url_config(FunctionName=name, Qualifier="live", AuthType="NONE")
    up(aws)

    [_, made], _ = up(aws, role(name), published(name))

    assert made["version"] == "2"
    versions = client.list_versions_by_function(FunctionName=name)["Versions"]
    assert [one.get("Version") for one in versions] == ["$LATEST", "2"]
    assert client.list_aliases(FunctionName=name)["Aliases"] == []
    assert client.list_function_url_configs(FunctionName=name)["FunctionUrlConfigs"] == []


@pytest.mark.parametrize("qualifier", ["$LATEST", "1", "live"])
def test_at_concurrency_0_nothing_of_a_function_runs(aws: Aws, name: str, qualifier: str) -> None:
    client = aws.client("lambda", HOME)
    up(aws, role(name), published(name), alias(name, "live", functionVersion="1"))
    assert called(aws, name, qualifier)[0] == "first"
    up(aws, role(name), published(name, reservedConcurrentExecutions=0), alias(name, "live", functionVersion="1"))

    with pytest.raises(client.exceptions.TooManyRequestsException) as refused:
        called(aws, name, qualifier)

    response: Any = refused.value.response
    assert response["Reason"] == "ReservedFunctionConcurrentInvocationLimitExceeded"
    assert response["ResponseMetadata"]["HTTPStatusCode"] == 429


@pytest.mark.parametrize("moved_back", [False, True])
def test_an_ignored_alias_stays_where_somebody_moved_it(aws: Aws, name: str, *, moved_back: bool) -> None:
    client = aws.client("lambda", HOME)

    def parts(says: str, version: str) -> list[Registration]:
        live = alias(name, "live", ignore_changes=IGNORED, functionVersion=version, description=version)
        return [role(name), published(name, says), live]

    up(aws, *parts("one", "1"))
    assert up(aws, *parts("two", "2"))[1] == Counter(unchanged=2, updated=1)
    assert client.get_alias(FunctionName=name, Name="live").get("FunctionVersion") == "1"
    client.update_alias(FunctionName=name, Name="live", FunctionVersion="2", Description="checked")
    if moved_back:
        client.update_alias(FunctionName=name, Name="live", FunctionVersion="1")
    before = client.get_alias(FunctionName=name, Name="live").get("RevisionId")

    for wanted in (parts("two", "2"), parts("two", "1")):
        outputs, events = up(aws, *wanted)
        assert (outputs[2]["functionVersion"], events) == ("1" if moved_back else "2", Counter(unchanged=3))
    assert client.get_alias(FunctionName=name, Name="live").get("RevisionId") == before


def test_an_alias_leads_to_a_version_that_there_is(aws: Aws, name: str) -> None:
    client = aws.client("lambda", HOME)
    up(aws, role(name), published(name), alias(name, "live", functionVersion="1"))

    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.update_alias(FunctionName=name, Name="live", FunctionVersion="2")
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.create_alias(FunctionName=name, Name="other", FunctionVersion="2")


FAILURES = {
    "no module": ("import nonesuch", "Runtime.ImportModuleError", "Unable to import module 'answer': No module named"),
    "no Python": ("def (", "Runtime.UserCodeSyntaxError", "Syntax error in module 'answer': invalid syntax"),
    "no handler": ("", "Runtime.HandlerNotFound", "Handler 'handler' missing on module 'answer'"),
    "its own error": (
        "def handler(event, context): raise ValueError('a: no. Set these:\\n  b: 1\\nThen: deploy')",
        "ValueError",
        "a: no. Set these:\n  b: 1\nThen: deploy",
    ),
    "no setting": ("import os\nos.environ['NONESUCH']", "KeyError", "'NONESUCH'"),
    "an end": ("import os\nos._exit(1)", "Runtime.ExitError", "Runtime exited"),
    "a late end": ("import os\ndef handler(event, context): os._exit(1)", "Runtime.ExitError", "Runtime exited"),
    "a slow start": ("import time\ntime.sleep(3600)", "Sandbox.Timedout", "Task timed out after 1.00 seconds"),
    "a slow handler": (
        "import time\ndef handler(event, context): time.sleep(3600)",
        "Sandbox.Timedout",
        "Task timed out after 1.00 seconds",
    ),
}


@pytest.mark.parametrize("case", FAILURES)
def test_a_version_that_fails_says_why(aws: Aws, name: str, case: str) -> None:
    source, kind, message = FAILURES[case]
    seconds = 1 if "slow" in case else 300  # a busy machine starts slowly, too
    failing = [role(name), published(name, source=source, timeout=seconds)]
    up(aws, *failing)

    response = aws.client("lambda", HOME).invoke(FunctionName=name, Qualifier="1", Payload=b"{}", LogType="Tail")

    assert response.get("FunctionError") == "Unhandled"
    payload = json.load(response["Payload"])
    assert (payload["errorType"], message in payload["errorMessage"]) == (kind, True), payload
    log = base64.b64decode(response.get("LogResult", ""))
    assert 0 < len(log) <= 4096

    with pytest.raises(LocalError) as failed:
        up(aws, *failing, invocation(name, {}, qualifier="1"))
    for part in (kind, message, log.decode().splitlines()[-1].strip()):
        assert part in str(failed.value)


def test_what_cant_start_ends_no_other_call(aws: Aws, name: str, tmp_path: Path) -> None:
    """Of the same function: each call has a process of its own, as on AWS."""
    begun, ends = tmp_path / "begun", tmp_path / "ends"
    source = (
        "import time, pathlib\n"
        f"begun, ends = pathlib.Path({str(begun)!r}), pathlib.Path({str(ends)!r})\n"
        "if begun.exists(): raise RuntimeError('not now')\n"
        "def handler(event, context):\n    begun.touch()\n"
        "    while not ends.exists(): time.sleep(0.01)\n    return 'whole'"
    )
    up(aws, role(name), published(name, source=source, timeout=300))
    client = aws.client("lambda", HOME)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(client.invoke, FunctionName=name, Qualifier="1", Payload=b"{}")
        while not begun.exists():
            assert not first.done(), json.load(first.result()["Payload"])
            time.sleep(0.01)

        second = client.invoke(FunctionName=name, Qualifier="1", Payload=b"{}")

        assert "not now" in json.load(second["Payload"])["errorMessage"]
        ends.touch()
        assert json.load(first.result()["Payload"]) == "whole"
    begun.unlink()
    assert json.load(client.invoke(FunctionName=name, Qualifier="1", Payload=b"{}")["Payload"]) == "whole"


def test_a_failed_update_counts_as_done_and_publishes_nothing(
    aws: Aws, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with the provider: only another change of the function, or a hand, publishes what was uploaded."""

    def refused(*_: object) -> None:
        raise ClientError({"Error": {"Code": "InvalidParameterValueException"}}, "PutFunctionConcurrency")

    up(aws, role(name), published(name))
    with monkeypatch.context() as patch:
        patch.setattr("local.resources.lambda_._reserve", refused)
        with pytest.raises(LocalError, match="PutFunctionConcurrency"):
            up(aws, role(name), published(name, "two", SECOND))
    [_, made], events = up(aws, role(name), published(name, "two", SECOND))
    assert (made["version"], events["unchanged"]) == ("1", 2)
    assert called(aws, name)[:2] == ["second", "two"]
    assert called(aws, name, "1")[:2] == ["first", "one"]

    aws.client("lambda", HOME).publish_version(FunctionName=name)
    [_, made], _ = up(aws, role(name), published(name, "two", SECOND))
    assert made["version"] == "2", "a refresh finds it"
