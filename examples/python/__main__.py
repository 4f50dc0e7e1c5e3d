"""A shop: its checkout function numbers orders. The integers are one component of its program."""

from pathlib import Path

import pulumi
import pulumi_aws as aws
from pulumi_global_integers import GlobalIntegers, GlobalIntegersArgs

REGIONS = ["us-east-1", "eu-west-1"]
settings = GlobalIntegersArgs("us-east-1", REGIONS, counters=["orders"], default_counter="orders", prefix="shop")
integers = GlobalIntegers("integers", settings)
role = aws.iam.Role("checkout", name="shop-checkout", assume_role_policy=Path("trust.json").read_text())
aws.iam.RolePolicy("checkout", name="mint", role=role.name, policy=Path("mint.json").read_text())
for region in REGIONS:
    aws.lambda_.Function(
        f"checkout-{region}",
        name="shop-checkout",
        region=region,
        role=role.arn,
        runtime="python3.13",
        handler="checkout.handler",
        code=pulumi.FileArchive("build"),  # README.md says how it is made
        timeout=30,
        environment={"variables": {"GLOBAL_INTEGERS_URLS": pulumi.Output.json_dumps(integers.urls)}},
    )
pulumi.export("urls", integers.urls)
