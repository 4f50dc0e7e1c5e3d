"""Owners are those that the layouts give."""

from hypothesis import given
from hypothesis import strategies as st

from global_integers_core.lattice import Layout, OwningRegion, owner_of, places


@given(
    st.lists(st.permutations([f"r{i}" for i in range(6)]), min_size=1, max_size=4),
    st.lists(st.integers(1, 50), min_size=4, max_size=4),
    st.integers(1, 300),
)
def test_the_owner_is_the_region_with_the_integers_offset(
    orders: list[list[str]], steps: list[int], integer: int
) -> None:
    bases = [sum(steps[: i + 1]) for i in range(len(orders))]
    layouts = [Layout(i, base, tuple(o[:i])) for i, (o, base) in enumerate(zip(orders, bases, strict=True), start=1)]

    owner = owner_of(integer, layouts)

    if owner is None:
        assert integer < bases[0]
    else:
        layout = max((la for la in layouts if la.base <= integer), key=lambda la: la.epoch)
        place = places(layout.regions)[owner.region]
        assert (owner.offset, owner.stride, owner.epoch) == (place.offset, place.stride, layout.epoch)
        assert integer % owner.stride == owner.offset % owner.stride


def test_below_the_first_base_there_is_no_owner() -> None:
    layouts = [Layout(3, 100, ("a", "b")), Layout(4, 200, ("b",))]

    assert owner_of(99, layouts) is None
    assert owner_of(100, layouts) == OwningRegion("b", 2, 2, 3)
    assert owner_of(199, layouts) == OwningRegion("a", 1, 2, 3)
    assert owner_of(200, layouts) == OwningRegion("b", 1, 1, 4)
    assert owner_of(7, []) is None
