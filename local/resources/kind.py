"""What every kind of resource can do, and the AWS clients that it does it with."""

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, Protocol, overload

import boto3
from botocore.config import Config

from ..engine.state import Made

if TYPE_CHECKING:  # the stubs are for the checks, not for running
    from types_boto3_dynamodb import DynamoDBClient
    from types_boto3_iam import IAMClient
    from types_boto3_lambda import LambdaClient
    from types_boto3_logs import CloudWatchLogsClient

ACCOUNT = "000000000000"

Untyped = Literal["acm", "apigateway", "apigatewayv2", "budgets", "cloudwatch", "events", "route53", "sns"]
"""The services whose clients have no stubs here."""


class Aws:
    """Clients of the local server, one per service and region, with none of the user's settings.

    Args:
        endpoint: the server's URL.
        keys: an access key and its secret. By default the server's own, which may do everything.
    """

    def __init__(self, endpoint: str, keys: tuple[str, str] = ("test", "test")) -> None:
        self.endpoint = endpoint
        self._session = boto3.Session(aws_access_key_id=keys[0], aws_secret_access_key=keys[1])
        self._clients: dict[tuple[str, str], Any] = {}
        self._lock = Lock()

    def as_server(self) -> "Aws":
        """Return clients with the server's own keys, which may do everything."""
        return Aws(self.endpoint)

    @overload
    def client(self, service: Literal["dynamodb"], region: str) -> "DynamoDBClient": ...
    @overload
    def client(self, service: Literal["iam"], region: str) -> "IAMClient": ...
    @overload
    def client(self, service: Literal["lambda"], region: str) -> "LambdaClient": ...
    @overload
    def client(self, service: Literal["logs"], region: str) -> "CloudWatchLogsClient": ...
    @overload
    def client(self, service: Untyped, region: str) -> Any: ...
    def client(self, service: Untyped | Literal["dynamodb", "iam", "lambda", "logs"], region: str) -> Any:
        """Return the client of a service in a region."""
        with self._lock:
            if (service, region) not in self._clients:
                # 900 s: the coordinator may take as long as a function may run, and is asked once. Other calls are
                # repeated: the server answers 500 now and then where several threads ask at once.
                attempts = 1 if service == "lambda" else 4
                retries: Any = {"mode": "standard", "total_max_attempts": attempts}
                config = Config(read_timeout=900, retries=retries, proxies={})
                self._clients[service, region] = self._session.client(
                    service, region_name=region, endpoint_url=self.endpoint, config=config
                )
            return self._clients[service, region]


@dataclass(frozen=True)
class Result:
    """A resource as it is now: its id, and the outputs that the provider adds to the inputs."""

    id: str
    outputs: Mapping[str, Any]
    replaces: bool = False
    """Whether it is a new one, which takes the place of the one before. That is deleted at the end."""


class Kind(Protocol):
    """One type of resource. `before` is how the last deployment left it, None if it did not make it."""

    identity: tuple[str, ...]
    """The inputs that identify a resource. Where one changes, it is another resource, as for Pulumi."""

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Bring the real resource to `inputs`: create it where it is missing, else change it in place."""
        ...

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs as they are now, or None (or the service's error) if it no longer exists.

        Inputs may be among them, as they are now: what somebody else has changed is changed back.
        """
        ...

    def delete(self, aws: Aws, made: Made) -> None:
        """Remove it. The caller ignores the service's error that it no longer exists."""
        ...
