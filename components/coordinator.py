"""What the stack has once, in its home region: the layouts table and the coordinator that lays out the counters."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pulumi
import pulumi_aws as aws

from .archive import archive
from .policy import allow
from .python_function import PythonFunction, PythonFunctionArgs
from .resource_names import ResourceNames
from .table import TableArgs, table


@dataclass
class CoordinatorArgs:
    """What the coordinator is asked for, and where."""

    names: ResourceNames
    home: str
    """The region of the coordinator and the layouts table."""
    regions: Sequence[str]
    counters: Sequence[str]
    floors: Mapping[str, int]
    tables: Sequence[aws.dynamodb.Table]
    """The counters tables in the order of the regions. They exist before the coordinator runs."""
    log_retention_days: int
    protect: bool


class Coordinator(pulumi.ComponentResource):
    """The layouts table, the coordinator, and its run at every deployment that asks for something else.

    Outputs: `settled`, the coordinator's report, once every counter has its layout; `function_name`.
    """

    settled: pulumi.Output[dict[str, Any]]
    function_name: pulumi.Output[str]

    def __init__(self, name: str, args: CoordinatorArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("global-integers:index:Coordinator", name, None, opts)
        names = args.names
        layouts = table(f"{name}-layouts", TableArgs(names.layouts_table, args.home, args.protect), self)
        function = PythonFunction(
            f"{name}-coordinate",
            PythonFunctionArgs(
                name=names.coordinate_function,
                role_name=names.coordinate_function,
                region=args.home,
                handler="coordinate.handler.handler",
                code=archive("coordinate"),
                environment={"LAYOUTS_TABLE": layouts.name, "COUNTERS_TABLE": names.counters_table},
                statements=layouts.arn.apply(lambda arn: _statements(arn, names.counters_table)),
                memory_size=1769,  # one whole processor: signing thousands of calls is what takes the time
                timeout=900,
                log_retention_days=args.log_retention_days,
                log_level="INFO",
            ),
            opts=pulumi.ResourceOptions(parent=self),
        )
        invocation = aws.lambda_.Invocation(
            f"{name}-settle",
            region=args.home,
            function_name=function.name,
            # CRUD: a changed request is an update in place, and the function sees which event it is.
            lifecycle_scope="CRUD",
            input=pulumi.Output.all(*(table.stream_label for table in args.tables)).apply(
                lambda labels: _request(args, cast("list[str]", labels))
            ),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[*args.tables, layouts, function.policy]),
        )
        self.settled = invocation.result.apply(json.loads)
        self.function_name = function.name
        self.register_outputs({"settled": self.settled, "functionName": self.function_name})


def _request(args: CoordinatorArgs, labels: Sequence[str]) -> str:
    """Return the coordinator's event. It has the tables' stream labels, so that a recreated table changes it."""
    return json.dumps(
        {
            "regions": list(args.regions),
            "counters": list(args.counters),
            "floors": dict(args.floors),
            "tables": dict(zip(args.regions, labels, strict=True)),
        },
        sort_keys=True,
    )


def _statements(layouts_arn: str, counters_table: str) -> list[dict[str, Any]]:
    """Return statements that allow only the coordinator's calls, on its tables only.

    The counters table is named in any region: a region that leaves the layout must still be fenced when the
    program no longer knows it.
    """
    partition, account = layouts_arn.split(":")[1], layouts_arn.split(":")[4]
    in_any_region = f"arn:{partition}:dynamodb:*:{account}:table/{counters_table}"
    return [
        allow(["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Scan", "dynamodb:ConditionCheckItem"], layouts_arn),
        allow(["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"], in_any_region),
    ]
