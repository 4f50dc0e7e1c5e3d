"""What every kind of resource can do, and the AWS clients that it does it with."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, cast, overload

import boto3
from botocore.config import Config

from ..stack import Made

if TYPE_CHECKING:  # the stubs are for the checks, not for running
    from types_boto3_dynamodb import DynamoDBClient
    from types_boto3_iam import IAMClient
    from types_boto3_lambda import LambdaClient
    from types_boto3_logs import CloudWatchLogsClient

ACCOUNT = "000000000000"

ANYWHERE = "us-east-1"
"""Where a global service is called: the region doesn't matter."""

Typed = Literal["dynamodb", "iam", "lambda", "logs"]
Untyped = Literal["acm", "apigateway", "apigatewayv2", "budgets", "cloudwatch", "events", "route53", "sns", "sts"]
"""The services whose clients have no stubs here."""


class Aws:
    """Clients of the server at this URL, one per service and region, with none of the user's settings.

    `keys` are an access key and its secret, by default the server's own, which may do everything.
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
    def client(self, service: Untyped | Typed, region: str) -> Any:
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


class Kind:
    """One type of resource. `before` is how the last deployment left it, None if it did not make it."""

    identity: tuple[str, ...]
    """The inputs that identify a resource. Where one changes, it is another resource, as for Pulumi."""

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Bring the real resource to `inputs`: create it where it is missing, else change it in place."""
        raise NotImplementedError

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs as they are now, or None (or the service's error) if it no longer exists.

        Inputs may be among them, as they are now: what somebody else has changed is changed back.
        """
        return made.outputs

    def delete(self, aws: Aws, made: Made) -> None:
        """Remove it. The caller ignores the service's error that it no longer exists."""


Inputs = Mapping[str, Any]

ID = "id"
"""The resource's id among its inputs. No input of the provider is called so."""


def capital(values: Inputs) -> dict[str, Any]:
    """Return arguments as boto3 calls them: `allowOrigins` is `AllowOrigins`."""
    return {name[0].upper() + name[1:]: value for name, value in values.items()}


class Call:
    """A call of a service.

    Args:
        operation: as boto3 calls it.
        alike: parameters that are inputs of the same name: `RouteKey` is the input `routeKey`.
        others: parameters, each with the input that it comes from, or a function of the inputs that returns it.
    """

    def __init__(self, operation: str, *alike: str, **others: str | Callable[[Inputs], Any]) -> None:
        self._operation = operation
        self.sources = {**{name: name[0].lower() + name[1:] for name in alike}, **others}

    def also(self, operation: str, **others: str | Callable[[Inputs], Any]) -> "Call":
        """Return a call of another operation with the same parameters, and others."""
        return Call(operation, **self.sources, **others)

    def make(self, client: Any, inputs: Inputs) -> Any:
        """Make the call, and return the response."""
        return getattr(client, self._operation)(**self.parameters(inputs))

    def parameters(self, inputs: Inputs) -> dict[str, Any]:
        """Return the parameters, without those that there are no inputs for."""
        values = {name: of(inputs) if callable(of) else inputs.get(of) for name, of in self.sources.items()}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True)
class Described(Kind):
    """A type of resource that is created, read and deleted by one call each."""

    service: str
    """As boto3 calls it."""
    identity: tuple[str, ...]
    id: str | Callable[[Inputs], str]
    """A pattern of inputs and of entries of the response to `create`, whose names begin with a capital."""
    create: Call
    read_by: Call
    """It fails if there is no such resource, or `now` tells."""
    delete_by: Call
    update: Call | None = None
    """By default, `create` writes over the earlier one."""
    recreated: bool = False
    """Whether the earlier one is deleted before `create`, since it can't be changed."""
    replaced_if: Callable[[Inputs, Inputs], bool] | None = None
    """Whether a change from inputs to others takes a new one, which replaces the earlier one."""
    then: Callable[[Any, Inputs, Made | None], None] | None = None
    """Makes further calls, with the client, after `create` and `update`."""
    now: Callable[[Inputs, Any], Mapping[str, Any] | None] | None = None
    """Returns its outputs (and inputs as they are now) from the response to `read_by`; None if it is gone."""

    def client(self, aws: Aws, inputs: Inputs) -> Any:
        """Return the client in the resource's region."""
        return cast("Any", aws).client(self.service, inputs.get("region", ANYWHERE))

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Create it, or change it in the way that is described."""
        client = self.client(aws, inputs)
        replaces = before is not None and self.replaced_if is not None and self.replaced_if(before.inputs, inputs)
        if before is not None and self.recreated:
            self.delete(aws, before)
        if before is None or replaces or self.update is None:
            response = self.create.make(client, inputs)
            id_ = self.id(inputs) if callable(self.id) else self.id.format_map({**inputs, **response})
        else:
            id_ = before.id
            self.update.make(client, {**inputs, ID: id_})
        if self.then:
            self.then(client, inputs, before)
        made = {**inputs, ID: id_}
        outputs = self.now(made, self.read_by.make(client, made)) if self.now else None
        return Result(id_, outputs or {}, replaces)

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs as they are now."""
        inputs = {**made.inputs, ID: made.id}
        found = self.read_by.make(self.client(aws, inputs), inputs)
        if self.now is None:
            return made.outputs
        outputs = self.now(inputs, found)
        return None if outputs is None else {**made.outputs, **outputs}

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete it."""
        self.delete_by.make(self.client(aws, made.inputs), {**made.inputs, ID: made.id})
