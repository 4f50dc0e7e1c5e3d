"""A run for one counter, which a region has asked for: on tables in memory, beside all other runs."""

from typing import Any

import pytest
from coordinate.protocol.operations import Operation
from coordinate.protocol.run import Grant

from proof.simulation.checks import CheckedWorld
from proof.simulation.coordinator import SimulatedCoordinator
from tests.lambda_.coordinate.simulated_runs import begun, deployed


def grant(counter: str = "c", name: str = "grant", count: int = 1) -> SimulatedCoordinator:
    return begun(Grant(counter, count), name)


def use_up(world: CheckedWorld, region: str) -> None:
    while world.mint(region) is not None:
        pass


def laid_out() -> CheckedWorld:
    world = CheckedWorld()
    deployed(world, "a", "b")
    return world


def test_it_scans_nothing_and_takes_no_run_lock() -> None:
    world = laid_out()
    use_up(world, "a")
    seen: list[Operation] = []

    def carry_out(operation: Operation) -> Any:
        seen.append(operation)
        return world.carry_out(operation)

    grant().finish(carry_out)

    kinds = {type(operation).__name__ for operation in seen}
    assert not [kind for kind in kinds if kind.startswith("Scan")]
    assert "TakeRunLock" not in kinds
    assert {getattr(operation, "counter", "c") for operation in seen} == {"c"}
    assert world.mint("a") is not None


@pytest.mark.parametrize("sizes", [(200,), (200, 120), (200, 1)])
def test_who_asks_ahead_is_refused_at_first_only(sizes: tuple[int, ...]) -> None:
    world = laid_out()
    world.largest = max(sizes)
    refused: list[int] = []
    for number in range(100):
        world.now += 3
        size = sizes[number % len(sizes)]
        if not world.mint_block("a", size):
            refused.append(number)
            grant(name=f"grant {number}", count=size).finish(world.carry_out)
            assert len(world.mint_block("a", size)) == size
        elif world.warm["a"].low.pop("c", None):
            grant(name=f"early {number}", count=size).finish(world.carry_out)

    assert refused in ([0], [0, 1])
