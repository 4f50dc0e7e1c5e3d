"""Roles that services of AWS assume."""

from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from .policy import trusting


@dataclass(frozen=True)
class RoleRules:
    """What is the same for every role (settings `iamPath` and `permissionsBoundary`)."""

    path: str = "/"
    boundary: str = ""
    """The ARN of the policy that bounds it. Empty: none."""


def role(
    resource: str,
    name: str,
    service: str,
    rules: RoleRules,
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
        rules: what is the same for every role.
        parent: the component.
        description: its description at its creation, which never changes either.
    """
    kept = ["path", "name", *(["description"] if description is not None else [])]
    return aws.iam.Role(
        resource,
        name=name,
        path=None if rules.path == "/" else rules.path,
        permissions_boundary=rules.boundary or None,
        assume_role_policy=trusting(service),
        description=description,
        opts=pulumi.ResourceOptions(parent=parent, ignore_changes=kept),
    )
