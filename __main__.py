"""Global integers: every region mints its own share of the integers, and no two regions mint the same."""

import pulumi

from components.global_integers import GlobalIntegers
from components.settings import args_of_stack

integers = GlobalIntegers("integers", args_of_stack())

pulumi.export("regions", integers.regions)
pulumi.export("layout", integers.layout)
pulumi.export("urls", integers.urls)
pulumi.export("gatewayUrls", integers.gateway_urls)
pulumi.export("leaving", integers.leaving)
pulumi.export("counters", integers.counters)
pulumi.export("defaultCounter", integers.default_counter)
pulumi.export("coordinator", integers.coordinator)
if integers.domain_url is not None:
    pulumi.export("domainUrl", integers.domain_url)
if integers.domain_gateway_url is not None:
    pulumi.export("domainGatewayUrl", integers.domain_gateway_url)
if integers.records is not None:
    pulumi.export("records", integers.records)
