"""A value that Pulumi keeps in its state: `pulumi.Stash`. There is nothing of it in AWS."""

from collections.abc import Mapping
from typing import Any

from ..aws_clients import Aws
from ..stack import Made
from .kind import Inputs, Kind, Result


class Stash(Kind):
    """The `output` is the first `input`, for as long as the state has the resource.

    Pulumi's engine does the same (its `pkg/resource/deploy/builtins.go`).
    """

    identity = ()

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Take the input, if it is the first one."""
        return Result("stash", before.outputs if before is not None else self.planned(inputs))

    def planned(self, inputs: Inputs) -> Mapping[str, Any]:
        """Return the first value, which a preview may know."""
        return {"output": inputs["input"]}
