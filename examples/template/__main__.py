"""Small unique integers from several AWS regions."""

import pulumi
from pulumi_global_integers import GlobalIntegers, GlobalIntegersArgs

config = pulumi.Config()
email = config.get("alarmEmail")
integers = GlobalIntegers(
    "integers",
    GlobalIntegersArgs(
        home=pulumi.Config("aws").require("region"),
        regions=[region.strip() for region in config.require("regions").split(",")],
        authorization=config.get("authorization"),
        alarm_emails=[email] if email else [],
    ),
)
pulumi.export("urls", integers.urls)
