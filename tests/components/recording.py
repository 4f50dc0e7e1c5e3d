"""A stand-in for the engine and for AWS: makes nothing, answers what AWS would, records what was registered."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from local.program import Registration

from .aws_answers import answers


@dataclass
class Deployment:
    """What a run registered, in order and without the stack itself, and what it exported."""

    resources: list[Registration]
    outputs: dict[str, Any]

    def of(self, resource_type: str) -> list[Registration]:
        return [resource for resource in self.resources if resource.type == resource_type]

    def one(self, resource_type: str, **inputs: object) -> Registration:
        """Return the only resource of this type with these inputs."""
        found = [r for r in self.of(resource_type) if all(r.inputs.get(key) == inputs[key] for key in inputs)]
        assert len(found) == 1, f"{len(found)} of {resource_type} with {inputs}: {[r.name for r in found]}"
        return found[0]


class Aws:
    """Makes nothing; answers what AWS would. In a preview nothing is known but what was registered."""

    def __init__(self, *, preview: bool, failing: str | None) -> None:
        self.preview = preview
        self.resources: list[Registration] = []
        self._failing = failing

    def call(self, token: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        raise AssertionError(f"the program asks AWS: {token}")

    def create(self, resource: Registration) -> tuple[str, Mapping[str, Any]]:
        self.resources.append(resource)
        if resource.type == self._failing:
            raise ValueError(f"{resource.name} can't be made")
        if not resource.custom or self.preview:
            return "", resource.inputs
        return f"{resource.name}-id", {**resource.inputs, **answers(resource.type, resource.inputs)}
