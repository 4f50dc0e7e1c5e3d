"""Each home has a later term than the one before, whatever regions know of it."""

from random import Random

from tests.proof.simulation.by_hand import at, deployment, two_regions


def test_a_later_home_has_the_next_term_although_no_region_knows() -> None:
    world, terms = two_regions(), list[int]()
    for home in ("h1", "h2", "h3"):
        deployment(world, "ab", home, home=home).finish(at(world, home))
        assert world.record is not None
        terms.append(world.record.term)
        for region in "ab":
            world.lose(f"receipts {region}", "recreated", Random(0))

    assert terms == [1, 2, 3]
