"""What a company asks of every resource: tags, the path and the boundary of roles, keys of its own.

A transformation applies it (Pulumi's docs, "Transformations"). So no component has to know of it, and a resource that
is added later can't be forgotten.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws


@dataclass(frozen=True)
class CompanyRules:
    """The settings that are the same for every resource of a kind."""

    tags: Mapping[str, str]
    iam_path: str
    permissions_boundary: str
    """Empty: none."""
    kms_keys: Mapping[str, str]
    """Region → the ARN of the key of its tables."""
    log_kms_keys: Mapping[str, str]
    """Region → the ARN of the key of its log groups."""

    def apply(self, args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        """Return a resource's inputs and options as these rules want them; None to leave both as they are."""
        resource = args.resource
        properties: dict[str, Any] = dict(args.props)
        region = str(properties.get("region"))
        options = args.opts
        if self.tags and hasattr(type(resource), "tags"):
            properties["tags"] = {**self.tags, **(properties.get("tags") or {})}
        match resource:
            case aws.iam.Role():
                if self.iam_path != "/":
                    properties["path"] = self.iam_path
                if self.permissions_boundary:
                    properties["permissions_boundary"] = self.permissions_boundary
                # Another path or name is another role, and a function whose role is deleted stops.
                kept = pulumi.ResourceOptions(ignore_changes=["path", "name"])
                options = pulumi.ResourceOptions.merge(options, kept)
            case aws.dynamodb.Table() if region in self.kms_keys:
                properties["server_side_encryption"] = aws.dynamodb.TableServerSideEncryptionArgs(
                    enabled=True, kms_key_arn=self.kms_keys[region]
                )
            case aws.cloudwatch.LogGroup() if region in self.log_kms_keys:
                properties["kms_key_id"] = self.log_kms_keys[region]
            case _:
                pass
        return pulumi.ResourceTransformationResult(properties, options)
