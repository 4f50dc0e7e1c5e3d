"""What schedules are made of that are written by hand: runs that stop anywhere, mints, losses and answers."""

from collections.abc import Iterable
from contextlib import suppress

from coordinate.protocol import operations as op
from coordinate.protocol.model import Refused
from coordinate.protocol.reconcile import reconcile
from coordinate.protocol.run import Create, Delete

from proof.simulation.checks import CheckedWorld
from proof.simulation.coordinator import SimulatedCoordinator
from tests.lambda_.coordinate.interrupted_runs import run_to
from tests.lambda_.coordinate.simulated_runs import begun, deployed, deployment, scheduled_run, world_with


def two_regions() -> CheckedWorld:
    """Return a world in which nothing is deployed."""
    world = CheckedWorld()
    for region in "ab":
        world.make_table(region)
    return world


def at(world: CheckedWorld, home: str) -> op.CarryOut:
    """Return what carries out the operations of a run in this home region."""

    def carry_out(operation: op.Operation) -> object:
        world.at = home
        try:
            return world.carry_out(operation)
        finally:
            world.at = "home"

    return carry_out


def settling(world: CheckedWorld, token: str) -> SimulatedCoordinator:
    assert world.record is not None
    return SimulatedCoordinator(reconcile("c", token, world.record))


def stopped_before(world: CheckedWorld, kind: type[op.Operation], late: SimulatedCoordinator) -> SimulatedCoordinator:
    run_to(late, kind, world.carry_out)
    return late


def finish(*runs: SimulatedCoordinator, world: CheckedWorld) -> None:
    """Let runs go on to their ends, or until they are refused."""
    for each in runs:
        with suppress(Refused):
            each.finish(world.carry_out)


def create(world: CheckedWorld, counter: str = "e") -> None:
    begun(Create((counter,)), world.new_id("creation")).finish(world.carry_out)


def delete(world: CheckedWorld, counter: str = "e") -> None:
    begun(Delete((counter,)), world.new_id("deletion")).finish(world.carry_out)


def mint(world: CheckedWorld, most: int = 5) -> list[int]:
    """Mint some integers of e in both regions."""
    integers = [world.mint(region, "e") for region in "ab" for _ in range(most)]
    return [integer for integer in integers if integer is not None]


def mint_all(world: CheckedWorld, *regions: str, most: int = 1_000) -> None:
    world.now += 1_000  # so a fence is near
    for region in regions:
        for _ in range(most):
            if world.mint(region) is None:
                break


def minting(*regions: str, most: int = 5) -> CheckedWorld:
    """Return a world in which these regions have minted."""
    world = world_with(*regions)
    mint_all(world, *regions, most=most)
    return world


def created(*regions: str, most: int = 5) -> CheckedWorld:
    """Return a world in which a caller has created e, and these regions have minted it."""
    world = world_with(*regions)
    create(world)
    mint(world, most)
    return world


def raise_in_a(world: CheckedWorld) -> None:
    """Raise the limit while only a answers, so that no ceiling elsewhere shows it, and let a mint up to it."""
    world.unreachable = {"b"}
    scheduled_run(world)
    mint_all(world, "a")


def go_on_without_a(world: CheckedWorld, *, minting: str = "ab") -> None:
    """Deploy b alone, while a doesn't answer, and mint."""
    world.unreachable = {"a"}
    deployed(world, "b")
    mint_all(world, *minting)


def forget(world: CheckedWorld, counter: str = "c") -> str:
    """Lose a counter's register and its copy. Return the id of the loss. No function has seen what was minted."""
    world.warm.clear()
    del world.registers[counter], world.copies[counter]
    with suppress(Refused):
        if counter == "c":
            scheduled_run(world, world.new_id("finding"))
        else:
            create(world, counter)
    return world.registers[counter].lost


def answer(world: CheckedWorld, regions: Iterable[str], loss: str, above: int | None = None) -> SimulatedCoordinator:
    """Return the deployment of these regions that answers a loss, by default with the smallest number that is right."""
    tops = [item.ceiling for region in world.tables for item in world.items(region).values()]
    tops += [integer for _, integer in world.minted]
    recovery = {"loss": loss, "above": max([0, *tops]) if above is None else above}
    return deployment(world, [*regions], world.new_id("answer"), recovery=recovery)
