"""Clients of the local AWS server, and what its errors mean."""

import os
import re
from collections.abc import Callable, Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, overload

import botocore.session
from botocore.config import Config
from botocore.exceptions import ClientError

if TYPE_CHECKING:  # the stubs are for the checks, not for running
    from types_boto3_dynamodb import DynamoDBClient
    from types_boto3_lambda import LambdaClient

ANYWHERE = "us-east-1"
"""Where a global service is called: the region doesn't matter."""


BUILT_IN: dict[str, tuple[None, None, Any, Any]] = {
    name: (None, None, default, convert)
    for name, (_, _, default, convert) in botocore.session.Session.SESSION_VARIABLES.items()
} | dict.fromkeys(("config_file", "credentials_file"), (None, None, os.devnull, None))
"""botocore's settings with their defaults: none is read from the environment or from the user's files."""

SESSION: Any = botocore.session.Session(session_vars=BUILT_IN)
"""What all clients have in common: the models of services, which are large, are read once."""

_creating = Lock()


GONE = re.compile("NoSuch|NotFound")
"""What the codes of errors contain that say that something doesn't exist."""


def says(error: Exception, code: re.Pattern[str]) -> bool:
    """Return whether an error of the server has such a code."""
    return isinstance(error, ClientError) and bool(code.search(error.response.get("Error", {}).get("Code", "")))


def found(ask: Callable[..., Any], **parameters: Any) -> Mapping[str, Any] | None:
    """Return what a client's operation finds, or None if it is gone."""
    try:
        return ask(**parameters)
    except ClientError as error:
        if not says(error, GONE):
            raise
        return None


class Aws:
    """Clients of the server at this URL, one per service and region, with none of the user's settings.

    `keys` are an access key and its secret, by default the server's own, which may do everything.
    """

    def __init__(self, endpoint: str, keys: tuple[str, str] = ("test", "test")) -> None:
        self.endpoint = endpoint
        self._of_each = {"endpoint_url": endpoint, "aws_access_key_id": keys[0], "aws_secret_access_key": keys[1]}
        self._clients: dict[tuple[str, str], Any] = {}

    @overload
    def client(self, service: Literal["dynamodb"], region: str) -> "DynamoDBClient": ...
    @overload
    def client(self, service: Literal["lambda"], region: str) -> "LambdaClient": ...
    @overload
    def client(self, service: str, region: str) -> Any: ...
    def client(self, service: str, region: str) -> Any:
        """Return the client of a service in a region."""
        with _creating:
            if (service, region) not in self._clients:
                # 900 s: the coordinator may take as long as a function may run, and is asked once. Other calls are
                # repeated: the server answers 500 now and then where several threads ask at once.
                retries: Any = {"mode": "standard", "total_max_attempts": 1 if service == "lambda" else 4}
                config = Config(read_timeout=900, retries=retries, proxies={})
                self._clients[service, region] = SESSION.create_client(service, region, config=config, **self._of_each)
            return self._clients[service, region]
