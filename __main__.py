"""Global integers: every region mints its own share of the integers, and no two regions mint the same."""

import pulumi

from components.configuration import args_of_stack
from components.global_integers import GlobalIntegers

integers = GlobalIntegers("integers", args_of_stack())

pulumi.export("regions", integers.regions)
pulumi.export("layout", integers.layout)
pulumi.export("urls", integers.urls)
pulumi.export("gatewayUrls", integers.gateway_urls)
pulumi.export("leaving", integers.leaving)
pulumi.export("counters", integers.counters)
pulumi.export("coordinator", integers.coordinator)
