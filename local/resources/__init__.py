"""What the local deployment can make and answer: the Pulumi resource types and provider functions of the program.

To add a type, describe its calls (`Described` in `kind.py`), in the module of its AWS service or here. Where a type
does more than that, write a class with `apply`, `read` and `delete`. Tags aren't set.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ..aws_clients import ANYWHERE, Aws
from ..stack import Made
from . import apigateway, cloudwatch, lambda_, route53
from .dynamodb import Table, table_item
from .kind import ACCOUNT, ID, Applied, Call, Described, Inputs, Kind, NotMade

__all__ = ["FUNCTIONS", "KINDS", "Kind"]


class _Stash(Kind):
    """A value that Pulumi keeps in its state. There is nothing of it in AWS.

    The `output` is the first `input`, for as long as the state has the resource. Pulumi's engine does the same (its
    `pkg/resource/deploy/builtins.go`).
    """

    identity = ()

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Applied:
        return "stash", before.outputs if before is not None else self.planned(inputs)

    def planned(self, inputs: Inputs) -> Mapping[str, Any]:
        return {"output": inputs["input"]}


def _certificate(_inputs: Inputs, found: Any) -> dict[str, Any]:
    certificate = found["Certificate"]
    return {
        "arn": certificate["CertificateArn"],
        "status": certificate["Status"],
        "domainValidationOptions": [
            {
                "domainName": option["DomainName"],
                **{f"resourceRecord{name}": value for name, value in option["ResourceRecord"].items()},
            }
            for option in certificate["DomainValidationOptions"]
        ],
    }


class _Role(Described):
    def delete(self, aws: Aws, made: Made) -> None:
        client = aws.client("iam", ANYWHERE)
        for policy in client.list_role_policies(RoleName=made.id)["PolicyNames"]:  # of a run that was killed
            client.delete_role_policy(RoleName=made.id, PolicyName=policy)
        super().delete(aws, made)


def _changed_role(client: Any, inputs: Inputs, before: Made | None) -> None:
    name = inputs["name"]
    if "permissionsBoundary" in inputs:
        client.put_role_permissions_boundary(RoleName=name, PermissionsBoundary=inputs["permissionsBoundary"])
    elif before is not None and "permissionsBoundary" in before.inputs:
        client.delete_role_permissions_boundary(RoleName=name)


TOPIC = f"arn:aws:sns:{{region}}:{ACCOUNT}:{{name}}"

POLICY = Call("get_role_policy", RoleName="role", PolicyName="name")


KINDS: dict[str, Kind] = {
    **apigateway.KINDS,
    **cloudwatch.KINDS,
    **lambda_.KINDS,
    **route53.KINDS,
    "aws:acm/certificate:Certificate": Described(  # the server issues it at once and looks for no record in DNS
        "acm",
        ("region", "domainName"),
        id="{CertificateArn}",
        create=Call("request_certificate", "DomainName SubjectAlternativeNames ValidationMethod"),
        replaced=True,
        read_by=Call("describe_certificate", CertificateArn=ID),
        now=_certificate,
        delete_by="delete_certificate",
    ),
    "aws:acm/certificateValidation:CertificateValidation": NotMade(("region", "certificateArn"), "{certificateArn}"),
    # Nothing costs anything here, so none would ever send an e-mail.
    "aws:budgets/budget:Budget": NotMade(("name",), "{name}"),
    "aws:dynamodb/resourcePolicy:ResourcePolicy": Described(
        "dynamodb",
        ("region", "resourceArn"),
        create=Call("put_resource_policy", "ResourceArn Policy"),
        read_by=Call("get_resource_policy", "ResourceArn"),
        now=lambda _inputs, found: {"policy": found["Policy"]},
        delete_by="delete_resource_policy",
    ),
    "aws:dynamodb/table:Table": Table(),
    "aws:iam/role:Role": _Role(
        "iam",
        ("name",),
        create=Call(
            "create_role",
            "Description Path",
            RoleName="name",
            AssumeRolePolicyDocument="assumeRolePolicy",
        ),
        update=Call("update_assume_role_policy", RoleName="name", PolicyDocument="assumeRolePolicy"),
        then=_changed_role,
        read_by=Call("get_role", RoleName=ID),
        now=lambda _inputs, found: {"arn": found["Role"]["Arn"], "uniqueId": found["Role"]["RoleId"]},
        delete_by="delete_role",
    ),
    "aws:iam/rolePolicy:RolePolicy": Described(
        "iam",
        ("role", "name"),
        id="{role}:{name}",
        create=POLICY.also("put_role_policy", PolicyDocument="policy"),
        read_by=POLICY,
        delete_by="delete_role_policy",
    ),
    # No alarm is evaluated here, so none would ever be notified.
    "aws:sns/topic:Topic": NotMade(("region", "name"), TOPIC, {"arn": TOPIC}),
    "aws:sns/topicSubscription:TopicSubscription": NotMade(
        ("region", "topic", "protocol", "endpoint"), "{topic}:{endpoint}", {"arn": "{topic}:{endpoint}"}
    ),
    "pulumi:index:Stash": _Stash(),
}

FUNCTIONS: dict[str, Callable[[Aws, Mapping[str, Any]], Mapping[str, Any]]] = {
    "aws:dynamodb/getTableItem:getTableItem": table_item,
    "aws:route53/getZone:getZone": route53.zone,
}
