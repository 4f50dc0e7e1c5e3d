"""A stand-in for the engine and for AWS: makes nothing, answers what AWS would, records what was registered."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from global_integers_core.records import ADMITTED_KEY, RECORD_KEY
from local.engine.program import Registration, Skipped

from .aws_answers import GET_ZONE, INVOCATION, ROLE, STASH, TABLE, answers, arn

TOKEN, FOLLOWED = "8f14e45f/0", "c9f0f895/1"


def recorded(
    desired: Mapping[str, Any], *, reconciled: bool = True, token: str = TOKEN, number: int = 4, term: int = 1
) -> dict[str, Any]:
    """Return the record of a deployment, as the coordinator writes it. If it was killed, there is no report."""
    report: dict[str, Any] = {
        "counters": {"orders": {"epoch": 3, "base": 7}},
        "pending": [],
        "windows": {"orders": 3000},
    }
    return {
        "counter": {"S": RECORD_KEY},
        "layoutsId": {"S": "id"},
        "token": {"S": token},
        "number": {"N": str(number)},
        "follows": {"S": FOLLOWED},
        "term": {"N": str(term)},
        "requested": {"N": "1794000000"},
        "desired": {"S": json.dumps(desired)},
        "reconciled": {"BOOL": reconciled},
        "report": {"S": json.dumps(report if reconciled else {})},
    }


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


@dataclass(eq=False, kw_only=True)
class Aws:
    """Makes nothing; answers what AWS would. In a preview nothing is known but what was registered."""

    preview: bool = False
    standing: bool = False
    """Whether everything has been made before, so that a preview knows what AWS added to it."""
    lost: Collection[str] = ()
    """The ends of the names of tables of which that isn't so."""
    failing: str | None = None
    """The type whose resources can't be made, or the name of one."""
    continuing: bool = False
    """Whether the run goes on then, as with `--continue-on-error`, but for what depends on them."""
    record: Mapping[str, Any] | str | None = None
    """The record of the last deployment, as DynamoDB attributes, or the error of reading it. None if there is none."""
    copy: Mapping[str, Any] | None = None
    """The mirror's copy of it, likewise."""
    items: Mapping[tuple[str, str, str], Mapping[str, Any] | str] = field(default_factory=dict[Any, Any])
    """Items of regions: (region, table without the prefix, key) → its attributes, or the error of reading it."""
    labels: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    """The stream labels of tables, by their region; of the others it is `LABEL`."""
    first_layouts_label: str | None = None
    """What the state has as the label of the first layouts table."""
    named: str | None = None
    """What the names of tables begin with in the state."""
    imported: str | None = None
    """The name of a table that was imported into the state from ap-south-1."""
    role_id: str | None = None
    """The unique id of the roles, if it isn't that of a first deployment."""
    zones: Mapping[str, str] = field(default_factory=lambda: {"Z123": "example.com"})
    """The hosted zones of the account: id → name, with a final dot if it is a private zone."""
    resources: list[Registration] = field(default_factory=list[Registration])
    calls: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    skipped: set[str] = field(default_factory=set[str])

    def call(self, token: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        if token == GET_ZONE:
            return self._zone(arguments)
        if token != "aws:dynamodb/getTableItem:getTableItem":  # noqa: S105 (a function's name)
            raise AssertionError(f"the program asks AWS: {token}")
        self.calls.append(dict(arguments))
        table: str = arguments["tableName"]
        (key,) = (value["S"] for value in json.loads(arguments["key"]).values())
        named = table.rpartition("-")[2]
        stored: dict[str, Any] = {"layouts": self.record, "mirror": self.copy} if key == RECORD_KEY else {}
        if key == ADMITTED_KEY and self.record is not None:
            stored = {"layouts": {"token": {"S": "of the record"}}}
        item = self.items.get((arguments["region"], named, key), stored.get(named))
        if item is None:
            raise ValueError(f"reading DynamoDB Table Item ({table}|{key}): empty result")
        if isinstance(item, str):
            raise ValueError(f"reading DynamoDB Table Item ({table}|{key}): {item}")
        return {**arguments, "id": table, "item": json.dumps(item)}

    def _zone(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The zone of this id or name, as the provider returns it."""
        for zone_id, name in self.zones.items():
            if arguments.get("zoneId") == zone_id or arguments.get("name") == name.removesuffix("."):
                return {"id": zone_id, "zoneId": zone_id, "name": name, "privateZone": name.endswith(".")}
        raise ValueError("no matching Route 53 Hosted Zone found")

    def create(self, resource: Registration) -> tuple[str, Mapping[str, Any]]:
        self.resources.append(resource)
        failing = self.failing in (resource.type, resource.name)
        if self.continuing and (failing or resource.dependencies & self.skipped):
            self.skipped.add(resource.urn)
            raise Skipped
        if failing:
            raise ValueError(f"{resource.name} can't be made")
        lost = resource.type == TABLE and resource.inputs["name"].rpartition("-")[2] in self.lost
        follows = resource.type == INVOCATION and not isinstance(resource.inputs["input"], str)  # from what is lost
        if not resource.custom or (self.preview and not self.standing) or lost or follows:
            return "", resource.inputs
        return f"{resource.name}-id", {
            **resource.inputs,
            **answers(resource.type, resource.inputs),
            **self._of_the_state(resource),
        }

    def _of_the_state(self, resource: Registration) -> dict[str, Any]:
        region = resource.inputs.get("region", "")
        if self.first_layouts_label is not None and resource.type == STASH:
            return {"output": self.first_layouts_label}
        if self.named is not None and resource.type == TABLE:
            assert "name" in resource.ignore_changes, "Pulumi would not keep it"
            return {"name": f"{self.named}-{resource.inputs['name'].rpartition('-')[2]}"}
        if resource.name == self.imported:
            return {"arn": arn("dynamodb", "ap-south-1", f"table/{resource.inputs['name']}")}
        if self.role_id is not None and resource.type == ROLE:
            return {"uniqueId": self.role_id}
        if resource.name == f"integers-{region}-table" and region in self.labels:
            return {"streamLabel": self.labels[region]}
        return {}
