"""The program's own cost: `__main__.py` under Pulumi's mocks, by number of regions. `python -m bench.program`."""

import asyncio
import json
import runpy
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any, cast

import pulumi
from pulumi.runtime import mocks, settings, stack

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
REGIONS = (3, 10, 30)
ROUNDS = 5

Cost = Mapping[str, float]
"""`resources`, and `seconds` of processor time."""


def costs() -> dict[str, Cost]:
    """By number of regions, each in a process of its own, in turn; the medians."""
    runs: dict[int, list[Cost]] = {count: [] for count in REGIONS}
    for _ in range(ROUNDS):
        for count, made in runs.items():
            command = [sys.executable, "-W", "ignore", "-m", "bench.program", str(count)]
            made.append(
                json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
            )
    return {
        str(count): {name: median(run[name] for run in made) for name in ("resources", "seconds")}
        for count, made in runs.items()
    }


def table(costs: Mapping[str, Cost]) -> str:
    """The last column: what each region more has cost since the row above."""
    lines = ["regions  resources  seconds  ms a region more"]
    before: tuple[int, float] | None = None
    for count, cost in costs.items():
        seconds = cost["seconds"]
        more = f"{(seconds - before[1]) / (int(count) - before[0]) * 1000:.0f}" if before else ""
        lines.append(f"{count:>7}  {cost['resources']:>9.0f}  {seconds:>7.2f}  {more:>16}".rstrip())
        before = int(count), seconds
    return "\n".join(lines)


class Answers(mocks.Mocks):
    """Makes nothing, and answers at once what the program goes on with."""

    def __init__(self) -> None:
        self.resources = 0

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[str, Any], None]:
        raise NotImplementedError(args.token)

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        self.resources += 1
        inputs: dict[str, Any] = dict(args.inputs)  # pyright: ignore[reportUnknownArgumentType]
        arn = f"arn:aws:service:{inputs.get('region', 'us-east-1')}:123456789012:kind/{args.name}"
        return args.name, {**inputs, "arn": arn, "result": '{"counters": {}}', "streamLabel": "", "functionUrl": ""}


def one(count: int) -> Cost:
    """A deployment to `count` regions, the first of those that AWS has. Imports are not counted."""
    import pulumi_aws.dynamodb
    import pulumi_aws.iam

    from components.configuration import partitions

    for module in (pulumi_aws.dynamodb, pulumi_aws.iam, pulumi_aws.cloudwatch, pulumi_aws.lambda_):
        assert module
    regions = sorted(region for region, partition in partitions().items() if partition == "aws")[:count]
    answers = Answers()
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    mocks.set_mocks(answers, project="global-integers", stack="bench", preview=False)
    settings.set_root_resource(cast("pulumi.Resource", None))
    pulumi.runtime.set_all_config({"aws:region": regions[0], "global-integers:regions": json.dumps(regions)})

    def program() -> None:
        runpy.run_path(str(ROOT / "__main__.py"), run_name="__main__")

    begun = time.process_time()
    loop.run_until_complete(stack.run_in_stack(program))
    seconds = time.process_time() - begun
    loop.close()
    return {"resources": answers.resources, "seconds": seconds}


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(one(int(sys.argv[1]))))
    else:
        print(table(costs()))
