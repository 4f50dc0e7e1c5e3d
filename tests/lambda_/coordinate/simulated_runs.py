"""Whole runs of the coordinator on tables in memory."""

from collections.abc import Sequence
from typing import Any

from coordinate.protocol.operations import CarryOut, Operation
from coordinate.protocol.run import Run, RunResult, ScheduledRun, run

from proof.simulation import deployments
from proof.simulation.checks import CheckedWorld
from proof.simulation.coordinator import SimulatedCoordinator
from proof.simulation.world import World


def begun(request: Run, name: str) -> SimulatedCoordinator:
    return SimulatedCoordinator(run(request, name, RunResult()))


def deployment(world: CheckedWorld, regions: Sequence[str], name: str, **settings: Any) -> SimulatedCoordinator:
    """Return the run of a deployment, as `deployments.deployment` makes it of these settings."""
    return begun(deployments.deployment(world, regions, **settings), name)


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
