"""The rule for counter names, which the settings, the minting function and the coordinator share."""

import re

COUNTER_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
"""1 to 63 characters that need no escaping in a URL, a DynamoDB key or a mapping template."""
