"""Floors for counters that don't exist: the coordinator refuses them, so a preview does, too."""

import json
from collections.abc import Mapping
from typing import Any

from ..aws_clients import Aws, found
from ..paths import LocalError


def check_floors(aws: Aws | None, project: str, stack: str, config: Mapping[str, str]) -> None:
    """Raise `LocalError` if a floor is for no counter, as the coordinator does (its `protocol/admit.py`).

    A counter exists if the settings have it, or if there is a register, a copy of one, or an item in any region.
    `config` has been checked by the program.
    """

    def setting(name: str, default: Any) -> Any:
        return json.loads(config.get(f"{project}:{name}") or "null") or default

    unknown = sorted(setting("floors", {}).keys() - {"*", *setting("counters", [])})
    if aws is not None and unknown:
        from components.names import ResourceNames  # with all of Pulumi, which few commands need

        names, home = ResourceNames(f"{project}-{stack}"), config["aws:region"]
        places = [(home, names.layouts_table), (home, names.mirror_table)]
        places += [(at, names.counters_table) for at in (*setting("regions", []), *setting("leaving", []))]
        unknown = [each for each in unknown if not any(_has(aws, *place, each) for place in places)]
    if unknown:
        raise LocalError(
            f"floors: there is no counter {', '.join(unknown)}; add it to counters, or remove it from floors. Nothing "
            "was changed."
        )


def _has(aws: Aws, region: str, table: str, counter: str) -> bool:
    get = aws.client("dynamodb", region).get_item
    return "Item" in (found(get, TableName=table, Key={"counter": {"S": counter}}, ConsistentRead=True) or {})
