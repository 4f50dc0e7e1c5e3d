"""Whole runs of the coordinator on tables in memory."""

from collections.abc import Sequence
from typing import Any

from coordinate.protocol.model import Deploy
from coordinate.protocol.operations import CarryOut, Operation
from coordinate.protocol.run import Run, RunResult, ScheduledRun, run

from proof.simulation.checks import CheckedWorld
from proof.simulation.coordinator import SimulatedCoordinator
from proof.simulation.deployments import decoded, desired
from proof.simulation.world import LAYOUTS, World


def begun(request: Run, name: str) -> SimulatedCoordinator:
    return SimulatedCoordinator(run(request, name, RunResult()))


def deployment(
    world: CheckedWorld,
    regions: Sequence[str],
    name: str,
    *,
    home: str = "",
    follows: str | None = None,
    **settings: Any,
) -> SimulatedCoordinator:
    """Return the run of a deployment whose preview reads what is admitted now, unless it `follows` something else."""
    record, copy = world.record, world.record_copy
    if copy and (record is None or record.layouts_id != world.layouts.id):
        record = copy.original
    home = home or world.home
    world.make_home(home)
    asked = decoded(desired(regions, layouts_label=f"{home} {world.database.tables[home, LAYOUTS].id}", **settings))
    admitted = record.token if record else ""
    return begun(Deploy(asked, admitted if follows is None else follows, world.now), name)


def deployed(world: CheckedWorld, *regions: str, **settings: Any) -> RunResult:
    for region in regions:
        world.make_table(region)
    return deployment(world, regions, world.new_id("deployment"), **settings).finish(world.carry_out)


def scheduled_run(world: CheckedWorld, name: str = "schedule") -> RunResult:
    return begun(ScheduledRun(), name).finish(world.carry_out)


def world_with(*regions: str, **settings: Any) -> CheckedWorld:
    """Return a world in which these regions are deployed."""
    world = CheckedWorld()
    deployed(world, *regions, **settings)
    return world


def answering(world: World, kind: type[Operation], answer: object) -> CarryOut:
    """Return what carries out all operations but those of one kind, which get this answer."""
    return lambda operation: answer if isinstance(operation, kind) else world.carry_out(operation)
