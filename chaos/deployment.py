"""`python -m chaos.deployment <endpoint> <stack> key=value…` deploys the program and prints its outputs as JSON.

It is a process of its own, so that it can be killed at any moment. `CHAOS_DYNAMODB` is the endpoint of another
DynamoDB.
"""

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from botocore.config import Config

from local.configuration import configuration, project
from local.engine import deploy
from local.paths import LocalError
from local.resources import Aws


class StackAws(Aws):
    """Clients of the local server; DynamoDB's may be those of another one."""

    def __init__(self, endpoint: str, dynamodb: str | None) -> None:
        super().__init__(endpoint)
        self._dynamodb = dynamodb

    def as_server(self) -> Aws:
        """Return these clients, which have the server's own keys."""
        return self

    def client(self, service: Any, region: str) -> Any:
        """Return the client of a service in a region."""
        if service != "dynamodb" or self._dynamodb is None:
            return super().client(service, region)
        with self._lock:
            if (service, region) not in self._clients:
                client: Any = self._session.client(
                    service, region_name=region, endpoint_url=self._dynamodb, config=Config(proxies={})
                )
                client.update_continuous_backups = _no_backups  # DynamoDB Local has none
                self._clients[service, region] = client
            return self._clients[service, region]


def _no_backups(**_: Any) -> None:
    """Do nothing."""


def _nothing(*_: str) -> None:
    """Report nothing."""


def main(arguments: Sequence[str]) -> int:
    """Deploy. Return 1 after an error (which is printed)."""
    endpoint, stack, *overrides = arguments
    aws = StackAws(endpoint, os.environ.get("CHAOS_DYNAMODB"))
    try:
        outputs = deploy(project()["name"], stack, configuration(stack, overrides), aws, _nothing)
    except LocalError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(outputs))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
