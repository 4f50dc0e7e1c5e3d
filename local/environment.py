"""Environment variables that concern calls to other machines. All that runs here calls only this machine.

It needs only Python: the first installation uses it.
"""

import os
import re
from collections.abc import Mapping, MutableMapping

NETWORK = re.compile(
    r"(?i:\w+_proxy)|SSL_CERT_FILE|SSL_CERT_DIR|SSLKEYLOGFILE|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|PIP_\w+"
)
"""Variables that say how another machine is reached. A wrong one stops calls to this machine too."""

SETTINGS = re.compile(r"(AWS_|BOTO|PULUMI_)\w+")
"""Variables that are for AWS, and for the Pulumi CLI."""

NO_FILES = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
"""Instead of the user's files in `~/.aws`."""


def isolate(environment: MutableMapping[str, str] = os.environ) -> None:
    """Remove the user's settings for other machines: AWS's, Pulumi's, proxies and certificates.

    It comes before the imports of what reads them, and holds also for the processes that this one starts.
    """
    for name in (*network_variables(environment), *filter(SETTINGS.fullmatch, [*environment])):
        del environment[name]
    environment.update(NO_FILES)


def network_variables(environment: Mapping[str, str]) -> list[str]:
    """Return the names of the variables in it that say how another machine is reached."""
    return sorted(name for name, value in environment.items() if value and NETWORK.fullmatch(name))
