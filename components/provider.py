"""What all resources have in common: the provider that makes them, and their tags."""

from collections.abc import Mapping
from typing import Any, cast

import pulumi
import pulumi_aws as aws

from .settings import SettingsError


def tagging(tags: Mapping[str, pulumi.Input[str]]) -> pulumi.ResourceTransformation:
    """Return the transformation that gives these tags to every resource that can have tags, which keeps its own.

    It belongs to the component, and so to all of its children: none has to ask for its tags.
    """

    def tag(args: pulumi.ResourceTransformationArgs) -> None:
        inputs = cast("dict[str, Any]", args.props)  # of all that the resource's class has
        if "tags" in inputs:
            inputs["tags"] = {**tags, **(inputs["tags"] or {})}

    return tag


def check_provider(home: str, component: pulumi.Resource) -> None:
    """Check that the provider which the program gave to the component, if any, is for the home region.

    Each resource names its region, so the region of another provider would be ignored without a word. `pulumi import`
    would read it, though (`arn_in` in `table.py`). The provider of a stack has `aws:region`, which is the home region.

    Raises:
        SettingsError: it is for another region.
    """
    if component.get_provider("aws:index/getRegion:getRegion") is None:
        return
    # Nothing is known of a provider that a preview is about to create.
    region = aws.get_region(opts=pulumi.InvokeOptions(parent=component)).region
    if region and region != home:
        raise SettingsError(
            f"home: {home!r} is not {region!r}, the region of the provider that this component was given; give it a "
            f"provider for {home}. It deploys to all regions: the settings name them, not the provider"
        )
