"""IAM policy documents as text, and roles that services of AWS assume."""

import json
from collections.abc import Sequence
from typing import Any

import pulumi
import pulumi_aws as aws

from ..settings.args import Settings


def allow(actions: Sequence[str], resource: str) -> dict[str, Any]:
    """Return a statement that allows these actions on this resource."""
    return {"Effect": "Allow", "Action": list(actions), "Resource": [resource]}


def use_keys(keys: Sequence[str]) -> list[dict[str, Any]]:
    """Return the statement that allows the use of these keys, through DynamoDB only; none if all are empty.

    DynamoDB uses a table's key on behalf of its caller (DynamoDB guide, "DynamoDB encryption at rest: authorizing
    use of a customer managed key"). The key's own policy must allow it, too, or leave it to policies like this.
    """
    if not any(keys):
        return []
    actions = ["Decrypt", "DescribeKey", "Encrypt", "GenerateDataKey*", "ReEncrypt*"]
    return [
        {
            "Effect": "Allow",
            "Action": [f"kms:{action}" for action in actions],
            "Resource": list(keys),
            "Condition": {"StringLike": {"kms:ViaService": "dynamodb.*"}},
        }
    ]


def policy(statements: Sequence[Any]) -> str:
    """Return a policy document of these statements."""
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def trusting(service: str) -> str:
    """Return the policy that lets an AWS service, like `lambda.amazonaws.com`, assume a role."""
    return policy([{"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}])


def role(
    resource: str,
    name: str,
    service: str,
    settings: Settings,
    parent: pulumi.Resource,
    *,
    description: pulumi.Input[str] | None = None,
) -> aws.iam.Role:
    """Register a role as a child of `parent`.

    Args:
        resource: the resource's name in the program.
        name: the role's name. A change of name or path would replace the role, and a function whose role is deleted
            stops. So later changes of both are ignored.
        service: who assumes it, like `lambda.amazonaws.com`.
        settings: they have the path and the permissions boundary of every role.
        parent: the component.
        description: its description at its creation, which never changes either.
    """
    kept = ["path", "name", *(["description"] if description is not None else [])]
    return aws.iam.Role(
        resource,
        name=name,
        path=None if settings.iam_path == "/" else settings.iam_path,
        permissions_boundary=settings.permissions_boundary or None,
        assume_role_policy=trusting(service),
        description=description,
        opts=pulumi.ResourceOptions(parent=parent, ignore_changes=kept),
    )
