"""The program's own cost: `__main__.py` under Pulumi's mocks, by number of regions. `python -m bench.program`."""

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from statistics import median
from typing import Any

from components.settings.aws_regions import WITHOUT_FUNCTION_URLS, partitions
from local.engine.program import Registration, run_program
from local.paths import ROOT

REGIONS = (3, 10, 30)
ROUNDS = 5

Cost = Mapping[str, float]
"""`resources`, and `seconds` of processor time."""


def costs() -> dict[str, Cost]:
    """Return the costs by number of regions: medians of several runs, each in a process of its own."""
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
    """Return a table. Its last column is the cost of each further region since the row above."""
    lines = ["regions  resources  seconds  ms per extra region"]
    before: tuple[int, float] | None = None
    for count, cost in costs.items():
        seconds = cost["seconds"]
        more = f"{(seconds - before[1]) / (int(count) - before[0]) * 1000:.0f}" if before else ""
        lines.append(f"{count:>7}  {cost['resources']:>9.0f}  {seconds:>7.2f}  {more:>19}".rstrip())
        before = int(count), seconds
    return "\n".join(lines)


class Instant:
    """Makes nothing, and returns at once the outputs that the program needs."""

    def __init__(self) -> None:
        self.resources = 0

    def call(self, token: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:  # noqa: ARG002 (a Provider's)
        """Find nothing: there is no record of an earlier deployment."""
        return {"item": ""}

    def create(self, resource: Registration) -> tuple[str, Mapping[str, Any]]:
        """Count the resource and return its outputs."""
        self.resources += 1
        arn = f"arn:aws:service:{resource.inputs.get('region', 'us-east-1')}:123456789012:kind/{resource.name}"
        computed = {"arn": arn, "result": '{"counters": {}}', "streamLabel": "", "functionUrl": ""}
        return resource.name, {**resource.inputs, **computed}


def one(count: int) -> Cost:
    """Return the cost of a deployment to `count` regions, without the imports."""
    import pulumi_aws.dynamodb
    import pulumi_aws.iam

    for module in (pulumi_aws.dynamodb, pulumi_aws.iam, pulumi_aws.cloudwatch, pulumi_aws.lambda_):
        assert module
    regions = sorted(region for region, partition in partitions().items() if partition == "aws")[:count]
    provider = Instant()
    settings = {"regions": regions, "allowUrlRegions": sorted(WITHOUT_FUNCTION_URLS)}
    config = {f"global-integers:{key}": json.dumps(value) for key, value in settings.items()}
    begun = time.process_time()
    outcome = run_program(
        provider, project="global-integers", stack="bench", config={"aws:region": regions[0], **config}
    )
    seconds = time.process_time() - begun
    if outcome.error is not None:
        raise outcome.error
    return {"resources": provider.resources, "seconds": seconds}


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(one(int(sys.argv[1]))))
    else:
        print(table(costs()))
