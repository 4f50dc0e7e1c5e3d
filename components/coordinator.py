"""What the stack has once, in its home region: the layouts table and the coordinator that lays out the counters."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import pulumi
import pulumi_aws as aws

from .archive import archive
from .policy import allow
from .python_function import PythonFunction, PythonFunctionArgs
from .settings import Settings
from .table import TableArgs, table


@dataclass
class CoordinatorArgs:
    prefix: str
    """`<project>-<stack>`, which every name begins with."""
    settings: Settings
    tables: Sequence[aws.dynamodb.Table]
    """The regions' counter tables, all of one name. They exist before the coordinator runs."""


class Coordinator(pulumi.ComponentResource):
    """Outputs: `settled`, what the coordinator reported once every counter stands as wanted."""

    settled: pulumi.Output[dict[str, Any]]
    function_name: pulumi.Output[str]

    def __init__(self, name: str, args: CoordinatorArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("global-integers:index:Coordinator", name, None, opts)
        settings, home = args.settings, args.settings.home
        counters_table = f"{args.prefix}-counters"

        layouts = table(f"{name}-layouts", TableArgs(f"{args.prefix}-layouts", home, settings.protect), self)
        function = PythonFunction(
            f"{name}-coordinate",
            PythonFunctionArgs(
                name=f"{args.prefix}-coordinate",
                role_name=f"{args.prefix}-coordinate",
                region=home,
                handler="coordinate.handler.handler",
                code=archive("coordinate", "components/layout.py", "components/names.py"),
                environment={"LAYOUTS_TABLE": layouts.name, "COUNTERS_TABLE": counters_table},
                statements=layouts.arn.apply(lambda arn: _statements(arn, counters_table)),
                memory_size=1769,  # one whole processor: signing thousands of calls is what takes the time
                timeout=900,
                log_retention_days=settings.log_retention_days,
                log_level="INFO",
            ),
            opts=pulumi.ResourceOptions(parent=self),
        )
        invocation = aws.lambda_.Invocation(
            f"{name}-settle",
            region=home,
            function_name=function.name,
            # CRUD: a changed wish is an update in place, and the function sees which event it is.
            lifecycle_scope="CRUD",
            input=pulumi.Output.all(*(table.stream_label for table in args.tables)).apply(
                lambda labels: _wish(settings, cast("list[str]", labels))
            ),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[*args.tables, layouts, function.policy]),
        )
        self.settled = invocation.result.apply(json.loads)
        self.function_name = function.name
        self.register_outputs({"settled": self.settled, "functionName": self.function_name})


def _wish(settings: Settings, labels: Sequence[str]) -> str:
    """What the coordinator is asked for, and the tables that it is asked for: one made anew is checked again."""
    return json.dumps(
        {
            "regions": settings.regions,
            "counters": settings.counters,
            "floors": settings.floors,
            "tables": dict(zip(settings.regions, labels, strict=True)),
        },
        sort_keys=True,
    )


def _statements(layouts_arn: str, counters_table: str) -> list[dict[str, Any]]:
    """Just these actions on just these tables.

    The counter table is named in any region: one that leaves the layout must still be fenced when the
    program no longer knows it.
    """
    partition, account = layouts_arn.split(":")[1], layouts_arn.split(":")[4]
    in_any_region = f"arn:{partition}:dynamodb:*:{account}:table/{counters_table}"
    return [
        allow(["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Scan", "dynamodb:ConditionCheckItem"], layouts_arn),
        allow(["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"], in_any_region),
    ]
