"""IAM roles and their inline policies. IAM is global, so the region of the client does not matter."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..engine.state import Made
from .kind import Aws, Result

if TYPE_CHECKING:  # the stubs are for the checks, not for running
    from types_boto3_iam import IAMClient

ANYWHERE = "us-east-1"


class Role:
    """A role."""

    identity: tuple[str, ...] = ("name",)

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Create the role, or change who may assume it and its description."""
        client = aws.client("iam", ANYWHERE)
        name = inputs["name"]
        if before is None:
            client.create_role(
                RoleName=name,
                AssumeRolePolicyDocument=inputs["assumeRolePolicy"],
                Description=inputs.get("description", ""),
                Path=inputs.get("path", "/"),
            )
        else:
            client.update_assume_role_policy(RoleName=name, PolicyDocument=inputs["assumeRolePolicy"])
            client.update_role(RoleName=name, Description=inputs.get("description", ""))
        self._bind(client, inputs, before)
        return Result(name, {"arn": client.get_role(RoleName=name)["Role"]["Arn"]})

    def _bind(self, client: "IAMClient", inputs: Mapping[str, Any], before: Made | None) -> None:
        """Bring the role's permissions boundary to `inputs`."""
        name = inputs["name"]
        if "permissionsBoundary" in inputs:
            client.put_role_permissions_boundary(RoleName=name, PermissionsBoundary=inputs["permissionsBoundary"])
        elif before is not None and "permissionsBoundary" in before.inputs:
            client.delete_role_permissions_boundary(RoleName=name)

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs, or raise the service's error if it no longer exists."""
        client = aws.client("iam", ANYWHERE)
        client.get_role(RoleName=made.id)
        return made.outputs

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete the role with all its policies."""
        client = aws.client("iam", ANYWHERE)
        for policy in client.list_role_policies(RoleName=made.id)["PolicyNames"]:  # of a run that was killed
            client.delete_role_policy(RoleName=made.id, PolicyName=policy)
        client.delete_role(RoleName=made.id)


class RolePolicy:
    """An inline policy of a role."""

    identity: tuple[str, ...] = ("role", "name")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Write the policy, over an earlier one."""
        aws.client("iam", ANYWHERE).put_role_policy(
            RoleName=inputs["role"], PolicyName=inputs["name"], PolicyDocument=inputs["policy"]
        )
        return Result(f"{inputs['role']}:{inputs['name']}", {})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs, or raise the service's error if it no longer exists."""
        client = aws.client("iam", ANYWHERE)
        client.get_role_policy(RoleName=made.inputs["role"], PolicyName=made.inputs["name"])
        return made.outputs

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete the policy."""
        client = aws.client("iam", ANYWHERE)
        client.delete_role_policy(RoleName=made.inputs["role"], PolicyName=made.inputs["name"])
