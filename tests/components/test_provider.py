"""Tags, descriptions, and the provider: no resource that the component registers is left out."""

import importlib
import inspect
import json
import re
from collections.abc import Callable
from typing import Any, cast

import pulumi
import pulumi_aws as aws
import pytest

from components import GlobalIntegers, GlobalIntegersArgs
from components.settings import SettingsError
from components.testing import Mocks
from local.engine.inputs import as_json
from local.paths import ROOT
from tests.components.aws_answers import STASH
from tests.components.recording import Aws, Deployment
from tests.components.registrations import CONFIGURATIONS
from tests.components.running import HOME, PREFIX, THREE, config, deploy
from tests.components.test_testing import SHOWN, TWO, run

pytestmark = pytest.mark.filterwarnings(
    # Pulumi's threads leave their loops open. Where one is collected after its own sockets, it can't be closed either.
    "ignore:Exception ignored in. <function BaseEventLoop:pytest.PytestUnraisableExceptionWarning"
)

RIGHTS = {
    "aws:acm": "acm:AddTagsToCertificate",
    "aws:apigatewayv2": "apigateway:POST",  # of /tags/…
    "aws:apigateway": "apigateway:PUT",  # likewise
    "aws:budgets": "budgets:TagResource",
    "aws:cloudwatch/eventRule": "events:TagResource",
    "aws:cloudwatch/logGroup": "logs:TagResource",
    "aws:cloudwatch": "cloudwatch:TagResource",
    "aws:dynamodb": "dynamodb:TagResource",
    "aws:iam": "iam:TagRole",
    "aws:lambda": "lambda:TagResource",
    "aws:route53": "route53:ChangeTagsForResource",
    "aws:sns": "sns:TagResource",
}
"""What tags a resource (Service Authorization Reference), by its type, or by its service for all others."""

PARTS = {
    *("aws:apigateway/deployment:Deployment", "aws:apigateway/stage:Stage"),
    *("aws:apigatewayv2/integration:Integration", "aws:apigatewayv2/stage:Stage"),
}
"""Of an API, which has a description itself."""

KINDS = {
    *("acm/certificate:Certificate", "apigateway/restApi:RestApi", "apigateway/stage:Stage", "apigatewayv2/api:Api"),
    *("apigatewayv2/domainName:DomainName", "apigatewayv2/stage:Stage", "budgets/budget:Budget"),
    *("cloudwatch/compositeAlarm:CompositeAlarm", "cloudwatch/eventRule:EventRule", "cloudwatch/logGroup:LogGroup"),
    *("cloudwatch/metricAlarm:MetricAlarm", "dynamodb/table:Table", "iam/role:Role", "lambda/function:Function"),
    *("route53/healthCheck:HealthCheck", "sns/topic:Topic"),
}
"""What has tags, of all that is deployed."""


def takes(of_type: str, name: str) -> bool:
    """Return whether the class of a type of resource, like `aws:sns/topic:Topic`, has this input."""
    _, module, kind = of_type.split(":")
    module = module.partition("/")[0]
    found: Any = importlib.import_module(f"pulumi_aws.{'lambda_' if module == 'lambda' else module}")
    return name in inspect.signature(getattr(found, kind)._internal_init).parameters


@pytest.fixture(scope="module")
def tagged() -> list[Deployment]:
    """Deployments that have every type of resource, with tags."""
    return [deploy({**each, **config(*THREE, tags={"team": "shop"})}) for each in CONFIGURATIONS.values()]


@pytest.mark.slow
def test_no_resource_that_can_have_tags_is_without_them(tagged: list[Deployment]) -> None:
    found = [made for each in tagged for made in each.resources if made.custom and made.type != STASH]
    with_tags = [made for made in found if takes(made.type, "tags")]
    wanted = {"global-integers": PREFIX, "team": "shop"}

    assert {made.type.removeprefix("aws:") for made in with_tags} == KINDS
    assert [made.name for made in with_tags if not wanted.items() <= made.inputs["tags"].items()] == []
    own = {made.type.partition("/")[2] for made in with_tags if made.inputs["tags"] != wanted}
    assert own == {"healthCheck:HealthCheck"}, "it has its name"
    assert [made.name for made in found if made not in with_tags and "tags" in made.inputs] == []


@pytest.mark.slow
def test_the_deployer_may_tag_whatever_has_tags() -> None:
    files = ("deployer-policy.json", "deployer-policy-if-used.json")
    statements = [each for file in files for each in json.loads((ROOT / "docs" / file).read_text())["Statement"]]
    may = {action for each in statements for action in each["Action"]}
    needed = {next(right for type_, right in RIGHTS.items() if f"aws:{kind}".startswith(type_)) for kind in KINDS}

    assert needed == {*RIGHTS.values()}
    assert needed <= may
    assert "iam:UpdateRoleDescription" in may, "by it, the provider changes a role's description"
    api = next(each["Resource"] for each in statements if "apigateway:PUT" in each["Action"])
    assert "arn:aws:apigateway:*::/tags/*" in api


@pytest.mark.slow
def test_a_description_says_what_everything_is_for(tagged: list[Deployment]) -> None:
    found = {
        made.type: made.inputs.get("description")
        for each in tagged
        for made in each.resources
        if made.custom and made.type != STASH and takes(made.type, "description")
    }

    assert {kind for kind, text in found.items() if not text} == PARTS
    functions = {made.inputs["description"] for made in tagged[0].of("aws:lambda/function:Function")}
    assert len(functions) == 2, "minting, and coordinating"


def test_another_value_for_the_stacks_tag_counts() -> None:
    made = deploy(config(HOME, tags={"global-integers": "integers", "cost-center": 4711}))

    tags = {"global-integers": "integers", "cost-center": "4711"}
    assert [
        each.inputs["tags"] for each in made.resources if "tags" in each.inputs if each.inputs["tags"] != tags
    ] == []


def test_a_change_of_tags_runs_nothing() -> None:
    """So nobody mints from a new version, and the coordinator isn't asked."""
    before, after = deploy(config(HOME)), deploy(config(HOME, tags={"team": "shop"}))

    def rest(deployment: Deployment) -> str:
        inputs: dict[str, Any] = {made.name: {**as_json(made.inputs), "tags": None} for made in deployment.resources}
        return re.sub(r'"requested\\+":\d+', "", json.dumps(inputs, sort_keys=True))

    assert rest(before) == rest(after)


ELSEWHERE = "eu-west-1"
ARGS = GlobalIntegersArgs(HOME, TWO, hosted_zone="example.com", **SHOWN)


def company(region: str = HOME) -> aws.Provider:
    """Return a provider as a company has it: it assumes a role, and has default tags."""
    role = aws.ProviderAssumeRoleArgs(role_arn="arn:aws:iam::123456789012:role/deployer")
    tags = aws.ProviderDefaultTagsArgs(tags={"cost-center": "4711"})
    return aws.Provider("company", region=region, assume_roles=[role], default_tags=tags)


OPTIONS: dict[str, Callable[[aws.Provider], dict[str, Any]]] = {
    "provider": lambda made: {"provider": made},
    "providers, a list": lambda made: {"providers": [made]},
    "providers, by package": lambda made: {"providers": {"aws": made}},
    "of its parent": lambda made: {
        "parent": pulumi.ComponentResource("shop:index:Shop", "shop", None, pulumi.ResourceOptions(providers=[made]))
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("how", OPTIONS)
def test_a_given_provider_makes_and_reads_everything(how: str) -> None:
    """So its default tags are on every resource, and its role makes all of them."""
    mocks = Mocks()

    def program() -> Any:
        return GlobalIntegers("integers", ARGS, pulumi.ResourceOptions(**OPTIONS[how](company()))).domain_url

    assert run(mocks, program) == "https://integers.example.com/"
    ours = [made for made in mocks.resources if made.typ.startswith("aws:")]
    assert len({made.typ for made in ours}) > 25
    assert {str(made.provider).rpartition("::")[0].rpartition("::")[2] for made in ours} == {"company"}
    assert {str(call.provider).rpartition("::")[0].rpartition("::")[2] for call in mocks.calls} == {"company"}
    assert [made.name for made in mocks.resources if made.typ == "pulumi:providers:aws"] == ["company"], "no other one"


@pytest.mark.slow
def test_without_one_the_stacks_own_provider_makes_all(tagged: list[Deployment]) -> None:
    """It is configured by `aws:region`, `aws:defaultTags`, `aws:assumeRoles`."""
    made = [resource for each in tagged for resource in each.resources]

    assert [resource.name for resource in made if resource.providers or "providers" in resource.type] == []
    mocks = Mocks()
    run(mocks, lambda: GlobalIntegers("integers", ARGS).domain_url)
    assert {call.provider for call in mocks.calls} == {""}


@pytest.mark.parametrize("how", OPTIONS)
def test_a_provider_for_another_region_is_refused(how: str) -> None:
    mocks = Mocks()

    def program() -> Any:
        return GlobalIntegers("integers", ARGS, pulumi.ResourceOptions(**OPTIONS[how](company(ELSEWHERE)))).regions

    with pytest.raises(
        SettingsError, match=f"home: '{HOME}' is not '{ELSEWHERE}', the region of the provider .*{HOME}"
    ):
        run(mocks, program)
    assert [made.name for made in mocks.resources if made.typ.startswith("aws:")] == []


def test_a_provider_that_is_not_there_yet_is_accepted() -> None:
    """A preview knows nothing of it."""
    run(Mocks(), lambda: GlobalIntegers("integers", ARGS, pulumi.ResourceOptions(provider=company())), preview=True)


def test_the_tags_of_a_program_may_be_known_later() -> None:
    def program() -> None:
        team = aws.sns.Topic("topic", name="operators", region=HOME).name
        GlobalIntegers("orders", GlobalIntegersArgs(HOME, [HOME], tags={"team": team}))

    deploy({}, program=program, aws=Aws(preview=True))
    tables = deploy({}, program=program).of("aws:dynamodb/table:Table")
    assert {table.inputs["tags"]["team"] for table in tables} == {"operators"}


def test_a_programs_own_tags_win() -> None:
    """Those of a transformation, by which companies tag what others' components make."""

    def mark(args: pulumi.ResourceTransformationArgs) -> None:
        inputs = cast("dict[str, Any]", args.props)
        if "tags" in inputs:
            inputs["tags"] = {**(inputs["tags"] or {}), "global-integers": "renamed", "owner": "platform"}

    def program() -> None:
        args = GlobalIntegersArgs(HOME, [HOME], tags={"team": "shop"})
        GlobalIntegers("orders", args, pulumi.ResourceOptions(transformations=[mark]))

    tables = deploy({}, program=program).of("aws:dynamodb/table:Table")
    wanted = {"global-integers": "renamed", "owner": "platform", "team": "shop"}
    assert [table.inputs["tags"] for table in tables] == [wanted] * 4
