"""The deployer's policies in docs/ are enough to deploy, to change and to delete, and no more than that."""

import gc
import json
import re
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from components.names import ResourceNames
from components.settings.aws_regions import PARTITION, partitions
from components.settings.rules import MAX_DOMAIN
from components.table import OPEN
from local.aws_clients import Aws
from local.engine import Engine, deploy
from local.paths import ROOT, LocalError
from local.stack import State
from tests.components.aws_answers import RECORD
from tests.components.running import PROJECT, config, refusals, settings
from tests.components.running import deploy as mocked
from tests.docs.pages import page
from tests.local.callers import user
from tests.local.machine import mint

FILES = [(ROOT / "docs" / f"deployer-policy{part}.json").read_text() for part in ("", "-if-used")]
POLICY: dict[str, Any] = {
    "Version": "2012-10-17",
    "Statement": [statement for text in FILES for statement in json.loads(text)["Statement"]],
}
STACK = "production"
REGIONS = ["us-east-1", "eu-west-1"]
ZONE = "example.com"
WITH_DOMAIN = {"domain": f"integers.{ZONE}", "hostedZone": ZONE}
ROLES = "arn:aws:iam::123456789012:role/global-integers-production-*"


@pytest.fixture
def deployer(aws: Aws) -> Generator[Callable[[dict[str, Any]], Aws]]:
    """`deployer(policy)`: the server's clients with the key of a new user that has this policy."""
    zone_id = aws.client("route53", REGIONS[0]).create_hosted_zone(Name=ZONE, CallerReference=ZONE)["HostedZone"]["Id"]

    def make(policy: dict[str, Any]) -> Aws:
        text = json.dumps(as_this_server_reads(policy)).replace("123456789012", "000000000000")
        keys = user(aws, json.loads(text.replace("Z0123456789", zone_id.rpartition("/")[2]))["Statement"])
        return Aws(aws.endpoint, (keys.access_key, keys.secret_key))

    yield make
    gc.collect()  # a deployment that is refused leaves 165,000 objects in cycles


def as_this_server_reads(policy: dict[str, Any]) -> dict[str, Any]:
    """Return a policy that allows some of its actions on everything, since this server looks for no name there.

    AWS checks CreateFunction on the name in the request's body, the rules of the
    default event bus without the bus, alarms, dashboards and topics by their names, and certificates and health checks
    by their ARNs.
    """
    actions = {action for statement in policy["Statement"] for action in actions_of(statement)}
    nameless = {a for a in actions if a.startswith(("acm:", "events:", "cloudwatch:", "sns:"))} | (
        {"lambda:CreateFunction"} & actions | {action for action in actions if "HealthCheck" in action}
    )
    on_everything = {"Effect": "Allow", "Action": sorted(nameless), "Resource": "*"}
    return {**policy, "Statement": [*policy["Statement"], on_everything]}


def actions_of(statement: dict[str, Any]) -> list[str]:
    return [statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"]


def without(action: str) -> dict[str, Any]:
    """Return the policy without one of its actions."""
    statements: list[dict[str, Any]] = [
        {**statement, "Action": remaining}
        for statement in POLICY["Statement"]
        if (remaining := [entry for entry in actions_of(statement) if entry != action])
    ]
    assert statements != POLICY["Statement"]
    return {**POLICY, "Statement": statements}


def reading() -> dict[str, Any]:
    """Return the policy of who previews in a pipeline (docs/pipeline.md): the actions that begin with its words."""
    (words,) = re.findall(r"^\| `integers-previewer` .* that begin with (.*) \|$", page("pipeline.md"), re.MULTILINE)
    *starts, of_apis = re.findall(r"`([\w:]+)`", words)
    read = [
        {**statement, "Action": actions}
        for statement in POLICY["Statement"]
        if (
            actions := [
                entry
                for entry in actions_of(statement)
                if entry == of_apis or entry.partition(":")[2].startswith(tuple(starts))
            ]
        )
    ]
    assert [*starts, of_apis] == ["Describe", "Get", "List", "View", "apigateway:GET"]
    assert of_apis in str(read)
    return {**POLICY, "Statement": read}


def silent(*_: str) -> None:
    """Report nothing."""


def up(aws: Aws, **settings: object) -> dict[str, Any]:
    wanted: dict[str, Any] = {"protect": False, **settings}
    return deploy(Engine(aws, State(STACK), silent), PROJECT, config(*REGIONS, **wanted)).outputs


def down(aws: Aws) -> None:
    deploy(Engine(aws, State(STACK), silent), PROJECT, {}, lambda: None)


@pytest.mark.long
def test_it_deploys_changes_and_deletes(deployer: Callable[[dict[str, Any]], Aws], folder: Path) -> None:
    aws = deployer(POLICY)
    changed: dict[str, object] = {
        "authorization": "NONE",
        "logRetentionDays": 30,
        "reservedConcurrency": 50,
        "kmsKeys": {region: f"arn:aws:kms:{region}:000000000000:key/7d1e" for region in REGIONS},
        "budget": 50,
        "alarmEmails": ["ops@shop.example"],
        "scheduleMinutes": 60,
        **WITH_DOMAIN,
    }

    urls = up(aws, apiGateway=True, dashboard=True, protect=True)["urls"]
    assert up(aws, **changed)["urls"] == urls
    assert [mint(urls[region])[1]["integer"] for region in REGIONS] == [1, 2]
    down(aws)
    assert not json.loads((folder / f"{STACK}.json").read_text())["resources"]


@pytest.mark.long
def test_who_may_only_read_previews_all_and_deploys_nothing(
    deployer: Callable[[dict[str, Any]], Aws], folder: Path
) -> None:
    urls = up(deployer(POLICY), authorization="NONE")["urls"]
    minted = max(mint(urls[region])[1]["integer"] for region in REGIONS)
    asked: dict[str, Any] = {"authorization": "NONE", "protect": False, "floors": {"integers": 9_000}}
    previewer = deployer(reading())

    planned = deploy(Engine(previewer, State(STACK, frozen=True), silent), PROJECT, config(*REGIONS, **asked))
    said = f"integers: epoch 1 → 2, gap about {8_999 - minted:,}; floors: integers 9,000"
    assert [line for line in planned.messages if "at the last run" not in line] == [said], "it has read the items"
    with pytest.raises(LocalError, match="not authorized to perform: "):
        up(previewer, memorySize=512)
    down(deployer(POLICY))


@pytest.mark.parametrize(
    "action",
    [
        "lambda:CreateFunction",
        *(
            pytest.param(action, marks=pytest.mark.long)
            for action in ("iam:PutRolePolicy", "lambda:InvokeFunction", "acm:RequestCertificate")
        ),
    ],
)
def test_without_one_of_its_actions_it_does_not(
    deployer: Callable[[dict[str, Any]], Aws], folder: Path, action: str
) -> None:
    """So the server does check what the policy says."""
    with pytest.raises(LocalError, match=f"not authorized to perform: {action} "):
        up(deployer(without(action)), **WITH_DOMAIN)

    down(deployer(POLICY))


def test_what_is_only_registered_here_is_made_with_it(deployer: Callable[[dict[str, Any]], Aws], aws: Aws) -> None:
    """The provider makes, reads, changes and deletes records, health checks, topics and dashboards by these calls."""
    zone = aws.client("route53", REGIONS[0]).list_hosted_zones()["HostedZones"][-1]["Id"]
    record = {"Name": f"integers.{ZONE}.", "Type": "A", "TTL": 60, "ResourceRecords": [{"Value": "192.0.2.1"}]}
    asked = {"Type": "HTTPS", "FullyQualifiedDomainName": f"integers.{ZONE}", "Port": 443}
    name, body = f"global-integers-{STACK}-alarms", json.dumps({"widgets": []})

    def change(client: Any, action: str) -> None:
        batch = {"Changes": [{"Action": action, "ResourceRecordSet": record}]}
        client.change_resource_record_sets(HostedZoneId=zone, ChangeBatch=batch)
        client.list_resource_record_sets(HostedZoneId=zone)

    deploying = deployer(POLICY)
    route53, sns, cloudwatch = (deploying.client(one, REGIONS[0]) for one in ("route53", "sns", "cloudwatch"))
    for action in ("UPSERT", "DELETE"):
        change(route53, action)
    check = route53.create_health_check(CallerReference="one", HealthCheckConfig=asked)["HealthCheck"]["Id"]
    route53.get_health_check(HealthCheckId=check)
    route53.update_health_check(HealthCheckId=check, Port=8443)
    route53.delete_health_check(HealthCheckId=check)
    topic = sns.create_topic(Name=name)["TopicArn"]
    sns.set_topic_attributes(TopicArn=topic, AttributeName="KmsMasterKeyId", AttributeValue="key")
    sns.get_topic_attributes(TopicArn=topic)
    mail = {"Protocol": "email", "Endpoint": "ops@shop.example", "ReturnSubscriptionArn": True}
    subscription = sns.subscribe(TopicArn=topic, **mail)["SubscriptionArn"]
    sns.get_subscription_attributes(SubscriptionArn=subscription)
    sns.unsubscribe(SubscriptionArn=subscription)
    sns.delete_topic(TopicArn=topic)
    cloudwatch.put_dashboard(DashboardName=name, DashboardBody=body)
    cloudwatch.get_dashboard(DashboardName=name)
    cloudwatch.delete_dashboards(DashboardNames=[name])
    with pytest.raises(ClientError, match="not authorized to perform: route53:ChangeResourceRecordSets "):
        change(deployer(without("route53:ChangeResourceRecordSets")).client("route53", REGIONS[0]), "UPSERT")


def test_another_stack_is_not_its_own(deployer: Callable[[dict[str, Any]], Aws], folder: Path) -> None:
    with pytest.raises(LocalError, match="not authorized to perform"):
        deploy(Engine(deployer(POLICY), State("staging"), silent), PROJECT, config(*REGIONS, protect=False))


def test_roles_go_only_to_the_stacks_functions_and_apis() -> None:
    """This server doesn't check `iam:PassRole`."""
    (statement,) = (statement for statement in POLICY["Statement"] if "iam:PassRole" in statement["Action"])

    assert statement["Action"] == "iam:PassRole"
    assert statement["Resource"] == ROLES
    services = statement["Condition"]["StringEquals"]["iam:PassedToService"]
    assert services == ["apigateway.amazonaws.com", "lambda.amazonaws.com"]


def test_a_budget_is_made_and_read_by_actions_of_its_own() -> None:
    """None is made here. AWS calls its actions otherwise than its operations (Service Authorization Reference)."""
    (statement,) = (s for s in POLICY["Statement"] if any(action.startswith("budgets:") for action in actions_of(s)))

    assert {"budgets:ModifyBudget", "budgets:ViewBudget"} <= {*actions_of(statement)}


def test_little_is_allowed_on_everything() -> None:
    everywhere = [action for s in POLICY["Statement"] if s["Resource"] == "*" for action in actions_of(s)]

    assert everywhere == [  # as the Service Authorization Reference says, or the API's own page (PutCompositeAlarm)
        *("cloudwatch:DescribeAlarms", "cloudwatch:PutCompositeAlarm", "logs:DescribeLogGroups"),
        *("sns:GetSubscriptionAttributes", "sns:Unsubscribe", "acm:RequestCertificate"),
        *("route53:CreateHealthCheck", "route53:ListHostedZones", "route53:ListHostedZonesByName"),
    ]
    assert not [action for s in POLICY["Statement"] for action in s["Action"] if action.endswith("*")]


def test_the_tables_policies_let_it_deploy() -> None:
    ours = {action.partition(":")[2] for s in POLICY["Statement"] for action in actions_of(s) if "dynamodb:" in action}

    assert ours - {*OPEN} == {"CreateTable"}, "of a table that isn't there yet"


@pytest.mark.parametrize("text", FILES, ids=["always", "if used"])
def test_it_fits_a_managed_policy_with_the_longest_names(text: str) -> None:
    """IAM counts 6,144 characters, without whitespace (IAM guide, "IAM and AWS STS quotas")."""
    region = min((region for region, partition in partitions().items() if partition == PARTITION), key=len)
    room = ResourceNames("").room(region, [region], gateway=False)
    stack = "n" * (room - len(f"{PROJECT}-"))
    path, domain = f"/{'p' * 510}/", f"{'d' * (MAX_DOMAIN - len('.dev'))}.dev"
    longest = config(region, home=region, iamPath=path, domain=domain, hostedZone="Z" * 32)
    assert settings(longest, stack=stack).domain == domain
    assert refusals({**longest, f"{PROJECT}:iamPath": f"/p{path}"}, stack=f"{stack}n")[1:], "longer ones are refused"

    written = text.replace(":role/global", f":role{path}global").replace("Z0123456789", "Z" * 32)
    written = written.replace(f"{PROJECT}-{STACK}", f"{PROJECT}-{stack}").replace(WITH_DOMAIN["domain"], domain)
    assert len(written) - len(text) > len(stack) - len(STACK)
    assert len("".join(written.split())) <= 6144


@pytest.mark.slow
def test_only_the_domains_names_may_be_changed_in_its_zone() -> None:
    """This server doesn't check the condition."""
    (statement,) = (s for s in POLICY["Statement"] if "route53:ChangeResourceRecordSets" in actions_of(s))
    (names,) = statement["Condition"]["ForAllValues:StringLike"].values()
    deployment = mocked(config(*REGIONS, **WITH_DOMAIN, apiGateway=True))
    made = {record.inputs["name"] for record in deployment.of(RECORD)}

    assert names == [WITH_DOMAIN["domain"], f"*.{WITH_DOMAIN['domain']}"]
    assert len(made) == 3 + len(REGIONS)
    assert [name for name in made if name != names[0] and not name.endswith(names[1].removeprefix("*"))] == []
