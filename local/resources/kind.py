"""What every kind of resource can do."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, cast

from ..aws_clients import ANYWHERE, Aws
from ..stack import Made

ACCOUNT = "000000000000"


Applied = tuple[str, Mapping[str, Any]]
"""A resource's id, and those of its outputs that only its making tells."""

Inputs = Mapping[str, Any]


class Kind:
    """One type of resource. `before` is how the last deployment left it, None if it did not make it."""

    identity: tuple[str, ...]
    """The inputs that identify a resource. Where one changes, it is another resource, as for Pulumi.

    If there are none, the resource's name in the program identifies it.
    """

    replaced: bool = False
    """Whether a change takes a new one, which replaces the one before. That is deleted at the end."""

    done_if_failed = False
    """Whether an update that AWS refused counts as done, so that the next deployment doesn't repeat it."""

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Applied:
        """Bring the real resource to `inputs`: create it where it is missing, else change it in place."""
        raise NotImplementedError

    def planned(self, inputs: Inputs) -> Mapping[str, Any]:
        """Return the outputs that a preview knows of one that will be created."""
        return {}

    def known(self, before: Made, inputs: Inputs) -> Mapping[str, Any]:
        """Return the outputs that a preview knows of one that will change to these inputs."""
        return before.outputs

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs as they are now, or None (or the service's error) if it no longer exists.

        Inputs may be among them, as they are now: what somebody else has changed is changed back.
        """
        return made.outputs

    def delete(self, aws: Aws, made: Made) -> None:
        """Remove it. The caller ignores the service's error that it no longer exists."""


@dataclass(frozen=True)
class NotMade(Kind):
    """A type of resource that is only registered, since nothing here would read or do what is made for it."""

    identity: tuple[str, ...]
    id: str
    """A pattern of inputs."""
    outputs: Mapping[str, str] = field(default_factory=dict[str, str])
    """Patterns of inputs, by name."""

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Applied:
        """Make nothing."""
        outputs = {name: pattern.format_map(inputs) for name, pattern in self.outputs.items()}
        return self.id.format_map(inputs), outputs


ID = "id"
"""The resource's id among its inputs. No input of the provider is called so."""

SERVER = "server"
"""The URL of the local AWS server among the inputs."""

Source = str | list[str] | Callable[[Inputs], Any]
"""Where a parameter comes from: an input; a list of one; or a function of all inputs."""


def capital(values: Inputs) -> dict[str, Any]:
    """Return arguments as boto3 calls them: `allowOrigins` is `AllowOrigins`."""
    return {name[0].upper() + name[1:]: value for name, value in values.items()}


class Call:
    """A call of a service: the operation as boto3 calls it, and its parameters.

    Those in `alike` (`"ApiId RouteKey"`) are inputs of the same name (`apiId`, `routeKey`).
    """

    def __init__(self, operation: str, alike: str = "", **others: Source) -> None:
        self._operation = operation
        self.sources: dict[str, Source] = {**{name: name[0].lower() + name[1:] for name in alike.split()}, **others}

    def also(self, operation: str, **others: Source) -> "Call":
        """Return a call of another operation with the same parameters, and others."""
        return Call(operation, "", **self.sources, **others)

    def make(self, client: Any, inputs: Inputs) -> Any:
        """Make the call, and return the response."""
        return getattr(client, self._operation)(**self.parameters(inputs))

    def parameters(self, inputs: Inputs) -> dict[str, Any]:
        """Return the parameters, without those that there are no inputs for."""
        values = {name: _value(source, inputs) for name, source in self.sources.items()}
        return {name: value for name, value in values.items() if value is not None}


def _value(source: Source, inputs: Inputs) -> Any:
    if callable(source):
        return source(inputs)
    if isinstance(source, list):
        return [_value(one, inputs) for one in source]
    value = inputs.get(source)
    return capital(cast("Inputs", value)) if isinstance(value, dict) else value


@dataclass(frozen=True)
class Described(Kind):
    """A type of resource that is created, read and deleted by one call each."""

    service: str
    identity: tuple[str, ...] = ("region", "name")
    _: KW_ONLY
    id: str = ""
    """A pattern of inputs and of entries of the response to `create`; by default, the last of `identity`."""
    create: Call
    update: Call | None = None
    """By default, `create` writes over the earlier one."""
    recreated: bool = False
    """Whether the earlier one is deleted before `create`, since it can't be changed."""
    replaced: bool = False
    then: Callable[[Any, Inputs, Made | None], object] = lambda _client, _inputs, _before: None
    """Makes further calls, with the client, after `create` and `update`."""
    read_by: Call
    """It fails if there is no such resource, or `now` tells."""
    now: Callable[[Inputs, Any], Mapping[str, Any] | None] | None = None
    """Returns its outputs (and inputs as they are now) from the response to `read_by`; None if it is gone."""
    delete_by: str | Call
    """An operation with the parameters of `read_by`, or another call."""

    def client(self, aws: Aws, inputs: Inputs) -> Any:
        """Return the client in the resource's region."""
        return aws.client(self.service, inputs.get("region", ANYWHERE))

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Applied:
        """Create it, or change it in the way that is described."""
        client = self.client(aws, inputs)
        if before is not None and self.recreated:
            self.delete(aws, before)
        if before is None or self.replaced or self.update is None:
            response = self.create.make(client, inputs)
            id_ = (self.id or f"{{{self.identity[-1]}}}").format_map({**inputs, **response})
        else:
            id_ = before.id
            self.update.make(client, {**inputs, ID: id_})
        self.then(client, inputs, before)
        return id_, {}

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs as they are now."""
        inputs = {**made.inputs, ID: made.id, SERVER: aws.endpoint}
        found = self.read_by.make(self.client(aws, inputs), inputs)
        outputs = self.now(inputs, found) if self.now else made.outputs
        return None if outputs is None else {**made.outputs, **outputs}

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete it."""
        call = self.read_by.also(self.delete_by) if isinstance(self.delete_by, str) else self.delete_by
        call.make(self.client(aws, made.inputs), {**made.inputs, ID: made.id})
