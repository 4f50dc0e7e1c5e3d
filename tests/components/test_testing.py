"""Pulumi's mocks for programs that use the component, as a user's test uses them."""

import asyncio
import json
import re
from collections.abc import Callable
from contextvars import copy_context
from typing import Any, cast

import pulumi
import pulumi_aws
import pytest

from components import GlobalIntegers, GlobalIntegersArgs
from components.settings import SettingsError
from components.testing import Mocks
from global_integers_core.names import camel
from local.aws_clients import Aws
from local.engine import Engine, deploy
from local.engine.program import _event_loop
from local.stack import State

TWO = ["us-east-1", "eu-west-1"]


def run(mocks: Mocks, program: Callable[[], Any], *, preview: bool = False) -> Any:
    """Run a program under the mocks, as Pulumi's documentation does, and return what its outputs are.

    What Pulumi sets and leaves is of this run only.
    """
    found: list[Any] = []

    @pulumi.runtime.test
    def test() -> Any:
        return pulumi.Output.from_input(program()).apply(found.append, run_with_unknowns=True)

    def run() -> None:
        with _event_loop() as loop:
            loop.set_exception_handler(lambda _loop, _context: None)  # of what a failed run leaves
            pulumi.runtime.set_mocks(mocks, project="shop", stack="test", preview=preview)
            test()

    loops: list[asyncio.AbstractEventLoop] = []
    new = asyncio.new_event_loop
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio, "new_event_loop", lambda: loops.append(new()) or loops[-1])
        try:
            copy_context().run(run)
        finally:
            for loop in loops:  # Pulumi leaves those of its threads open
                loop.close()
    return found[0]


def outputs_of(integers: GlobalIntegers) -> dict[str, Any]:
    """Return all outputs by the names that programs in other languages have for them."""
    return {camel(name): getattr(integers, name) for name in GlobalIntegers.__annotations__}


def shop(**settings: Any) -> dict[str, Any]:
    """Deploy one component, and return its outputs."""
    return outputs_of(GlobalIntegers("integers", GlobalIntegersArgs("us-east-1", TWO, **settings)))


@pytest.mark.slow
def test_a_program_gets_all_outputs() -> None:
    def program() -> list[dict[str, Any]]:
        other = GlobalIntegers("tickets", GlobalIntegersArgs("us-east-1", ["us-east-1"], prefix="tickets"))
        return [shop(), outputs_of(other)]

    outputs, others = run(Mocks(), program)

    assert outputs["regions"] == list(outputs["urls"]) == TWO
    assert outputs["layout"] == {region: {"offset": offset, "stride": 2} for offset, region in enumerate(TWO, 1)}
    assert [outputs["counters"]["integers"][key] for key in ("epoch", "base")] == [1, 1]
    assert (outputs["defaultCounter"], outputs["coordinator"]) == ("integers", "shop-test-integers-coordinate")
    assert outputs["urls"]["us-east-1"] != others["urls"]["us-east-1"]
    assert run(Mocks(), lambda: pulumi_aws.get_caller_identity_output().account_id) is None, "without other mocks"
    for region, url in outputs["urls"].items():
        assert re.fullmatch(rf"https://[a-z0-9]{{32}}\.lambda-url\.{region}\.on\.aws/", url)


def test_a_preview_knows_what_pulumi_knows() -> None:
    def known() -> dict[str, pulumi.Output[bool]]:
        flat = {name: pulumi.Output.from_input(output) for name, output in shop().items() if output}
        return {name: pulumi.Output.from_input(output.is_known()) for name, output in flat.items()}

    found = run(Mocks(), known, preview=True)

    assert {name for name, is_known in found.items() if is_known} == {
        *("regions", "layout", "defaultCounter", "coordinator")
    }


def test_secrets_are_values_to_aws() -> None:
    def secret(arn: str) -> dict[str, Any]:
        return {region: pulumi.Output.secret(arn.format(region)) for region in TWO}

    mocks = Mocks()
    outputs = run(mocks, lambda: shop(kms_keys=secret("arn:aws:kms:{}:123456789012:key/7d1e"), tags=secret("{}")))

    assert list(outputs["counters"]) == ["integers"]
    (table,) = (
        cast("dict[str, Any]", each.inputs) for each in mocks.resources if each.name == "integers-us-east-1-table"
    )
    assert "7d1e" in json.dumps(table["serverSideEncryption"]), "as the program has registered it"


class Others(pulumi.runtime.Mocks):
    """A user's own mocks, which keep what they are asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def new_resource(self, args: pulumi.runtime.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        self.asked.append(args.name)
        return f"{args.name}-own", {**args.inputs, "arn": "arn:own"}

    def call(self, args: pulumi.runtime.MockCallArgs) -> Any:
        self.asked.append(args.token)
        return {"accountId": "000011112222", "arn": "", "id": "", "userId": ""}


SHOWN: dict[str, Any] = {
    "api_gateway": True,
    "leaving": ["us-west-2"],
    "dashboard": True,
    "domain": "integers.example.com",
    "alarm_emails": ["operator@shop.example"],
    "budget": 10,
}
"""With these, the component registers every type of resource."""


@pytest.mark.slow
def test_the_users_mocks_answer_for_all_else() -> None:
    others = Others()
    mocks = Mocks(others)

    def program() -> list[Any]:
        integers = shop(hosted_zone="example.com", **SHOWN)
        queue = pulumi_aws.sqs.Queue("integers-queue")  # begins as the component's own do
        account = pulumi_aws.get_caller_identity_output().account_id
        return [integers["domainUrl"], queue.id, queue.arn, account]

    found = run(mocks, program)

    assert found == ["https://integers.example.com/", "integers-queue-own", "arn:own", "000011112222"]
    assert sorted(others.asked) == ["aws:index/getCallerIdentity:getCallerIdentity", "integers-queue"]
    assert {"integers-queue", "integers-us-east-1-table"} < {each.name for each in mocks.resources}
    assert "aws:route53/getZone:getZone" in {each.token for each in mocks.calls}


def test_a_refusal_fails_what_depends_on_it() -> None:
    mocks = Mocks(refusal="the layouts table was lost")

    def program() -> Any:
        urls = shop()["urls"]
        pulumi_aws.ssm.Parameter("urls", type="String", value=pulumi.Output.json_dumps(urls))
        return urls

    with pytest.raises(pulumi.RunError, match=r'"the layouts table was lost".*CoordinatorError'):
        run(mocks, program)

    assert "urls" not in {each.name for each in mocks.resources}
    assert run(mocks, lambda: shop()["regions"], preview=True) == TWO, "as in Pulumi's preview"
    with pytest.raises(SettingsError, match="eu-west-1"):
        run(mocks, lambda: GlobalIntegers("integers", GlobalIntegersArgs("us-east-1", ["eu-wset-1"])))


@pytest.mark.slow
def test_a_zone_is_found_by_its_id_once_it_is_named() -> None:
    zone, settings = "Z0123456789ABCDEFGHIJ", {"domain": "integers.example.com"}

    with pytest.raises(SettingsError, match=rf'Mocks\(zones={{"{zone}": "example.com"}}\)'):
        run(Mocks(), lambda: shop(hosted_zone=zone, **settings)["domainUrl"])
    mocks = Mocks(zones={zone: "example.com"})
    assert run(mocks, lambda: shop(hosted_zone=zone, **settings)["domainUrl"]) == "https://integers.example.com/"


def form(value: Any) -> Any:
    """Return a value with `URL` for each URL, whose host differs between AWS and this machine."""
    match value:
        case dict():
            return {key: form(entry) for key, entry in cast("dict[str, Any]", value).items()}
        case list():
            return [form(entry) for entry in cast("list[Any]", value)]
        case str():
            return "URL" if re.fullmatch(r"https?://.+/", value) else value
        case _:
            return value


@pytest.mark.long
@pytest.mark.server
def test_the_outputs_are_those_of_a_deployment(local_aws: Aws) -> None:
    settings = {**SHOWN, "counters": ["integers", "tickets"], "floors": {"tickets": 1000, "*": 7}, "window": 5_000_000}

    def program() -> None:
        for name, output in shop(**settings).items():
            pulumi.export(name, output)

    engine = Engine(local_aws, State("test"), lambda _event, _kind, _name: None)
    deployed = deploy(engine, "shop", {}, program).outputs
    mocked = run(Mocks(), lambda: shop(**settings))

    assert [set(record) for record in mocked.pop("records")] == [set(record) for record in deployed.pop("records")]
    assert form(mocked) == form(deployed)
