"""A stand-in for the engine and for AWS: makes nothing, answers what AWS would, records what was registered."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from global_integers_core.records import ADMITTED_KEY, RECORD_KEY
from local.engine.program import Registration, Skipped

from .aws_answers import GET_ZONE, INVOCATION, STASH, TABLE, answers


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

    def reconciling(self) -> list[Registration]:
        """Return the invocation that reconciles the layout, if it was registered; checks of waves are others."""
        return [resource for resource in self.of(INVOCATION) if resource.name.endswith("-reconcile")]

    def reconcile(self) -> Registration:
        """Return the invocation that reconciles the layout."""
        (reconcile,) = self.reconciling()
        return reconcile

    def checks(self) -> list[Registration]:
        """Return the checks of the regions' new versions, in the order of their waves."""
        return [resource for resource in self.of(INVOCATION) if "-check-" in resource.name]

    def releases(self) -> list[Registration]:
        """Return the moves of the regions' aliases, in the order of their waves."""
        return [resource for resource in self.of(INVOCATION) if "-release-" in resource.name]


class Aws:
    """Makes nothing; answers what AWS would. In a preview nothing is known but what was registered.

    Args:
        preview: whether it is a preview.
        standing: whether everything has been made before, so that a preview knows what AWS added to it.
        lost: the ends of the names of tables of which that isn't so.
        failing: the type whose resources can't be made, or the name of one.
        continuing: whether the run goes on then, as with `--continue-on-error`, but for what depends on them.
        record: the record of the last deployment, as DynamoDB attributes, or the error of reading it. None if there
            is none.
        copy: the mirror's copy of it, likewise.
        items: items of regions: (region, table without the prefix, key) → its attributes, or the error of reading it.
        labels: the stream labels of tables, by their region; of the others it is `LABEL`.
        first_layouts_label: what the state has kept as the label of the first layouts table.
        named: what the names of tables begin with in the state.
        zones: the hosted zones of the account: id → name, with a final dot if it is a private zone.
    """

    def __init__(
        self,
        *,
        preview: bool = False,
        standing: bool = False,
        lost: Collection[str] = (),
        failing: str | None = None,
        continuing: bool = False,
        record: Mapping[str, Any] | str | None = None,
        copy: Mapping[str, Any] | None = None,
        items: Mapping[tuple[str, str, str], Mapping[str, Any] | str] | None = None,
        labels: Mapping[str, str | None] | None = None,
        first_layouts_label: str | None = None,
        named: str | None = None,
        zones: Mapping[str, str] | None = None,
    ) -> None:
        self.preview = preview
        self.resources: list[Registration] = []
        self.calls: list[dict[str, Any]] = []
        self._known = standing or not preview
        self._lost = lost
        self._failing = failing
        self._continuing = continuing
        self._skipped: set[str] = set()
        self._record = record
        self._copy = copy
        self._items = items or {}
        self._labels = labels or {}
        self._first_layouts_label = first_layouts_label
        self._named = named
        self._zones = zones or {"Z123": "example.com"}

    def call(self, token: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        if token == GET_ZONE:
            return self._zone(arguments)
        if token != "aws:dynamodb/getTableItem:getTableItem":  # noqa: S105 (a function's name)
            raise AssertionError(f"the program asks AWS: {token}")
        self.calls.append(dict(arguments))
        table: str = arguments["tableName"]
        (key,) = (value["S"] for value in json.loads(arguments["key"]).values())
        named = table.rpartition("-")[2]
        stored: dict[str, Any] = {"layouts": self._record, "mirror": self._copy} if key == RECORD_KEY else {}
        if key == ADMITTED_KEY and self._record is not None:
            stored = {"layouts": {"token": {"S": "of the record"}}}
        item = self._items.get((arguments["region"], named, key), stored.get(named))
        if item is None:
            raise ValueError(f"reading DynamoDB Table Item ({table}|{key}): empty result")
        if isinstance(item, str):
            raise ValueError(f"reading DynamoDB Table Item ({table}|{key}): {item}")
        return {**arguments, "id": table, "item": json.dumps(item)}

    def _zone(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The zone of this id or name, as the provider returns it."""
        for zone_id, name in self._zones.items():
            if arguments.get("zoneId") == zone_id or arguments.get("name") == name.removesuffix("."):
                return {"id": zone_id, "zoneId": zone_id, "name": name, "privateZone": name.endswith(".")}
        raise ValueError("no matching Route 53 Hosted Zone found")

    def create(self, resource: Registration) -> tuple[str, Mapping[str, Any]]:
        self.resources.append(resource)
        failing = self._failing in (resource.type, resource.name)
        if self._continuing and (failing or resource.dependencies & self._skipped):
            self._skipped.add(resource.urn)
            raise Skipped
        if failing:
            raise ValueError(f"{resource.name} can't be made")
        lost = resource.type == TABLE and resource.inputs["name"].rpartition("-")[2] in self._lost
        follows = resource.type == INVOCATION and not isinstance(resource.inputs["input"], str)  # from what is lost
        if not resource.custom or not self._known or lost or follows:
            return "", resource.inputs
        return f"{resource.name}-id", {
            **resource.inputs,
            **answers(resource.type, resource.inputs),
            **self._of_the_state(resource),
        }

    def _of_the_state(self, resource: Registration) -> dict[str, Any]:
        region = resource.inputs.get("region", "")
        if self._first_layouts_label is not None and resource.type == STASH:
            return {"output": self._first_layouts_label}
        if self._named is not None and resource.type == TABLE:
            assert "name" in resource.ignore_changes, "Pulumi would not keep it"
            return {"name": f"{self._named}-{resource.inputs['name'].rpartition('-')[2]}"}
        if resource.name == f"integers-{region}-table" and region in self._labels:
            return {"streamLabel": self._labels[region]}
        return {}
