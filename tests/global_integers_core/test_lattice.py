"""The lattice: which integers belong to which region, where a region must stop, and who owned one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from global_integers_core.lattice import MAX_FLOOR, MAX_INTEGER, MAX_REGIONS, Layout, first_bases, owner_of, places

bases = st.integers(1, 500) | st.integers(1, MAX_INTEGER)
layouts = st.integers(1, MAX_REGIONS).map(lambda number: [f"region-{i}" for i in range(1, number + 1)])


@given(layouts, bases, st.integers(-200, 500))
def test_a_region_mints_its_integers_from_base_to_limit(regions: list[str], base: int, further: int) -> None:
    """Region number i of N mints the integers that are i modulo N, each of them once, and never one above the limit."""
    limit = min(base + further, MAX_INTEGER)
    for number, (region, place) in enumerate(places(regions).items(), 1):
        issued, ceiling = place.before(base), place.ceiling(limit, base)
        minted = range(issued + place.stride, ceiling + 1, place.stride)

        assert (region, place) == (f"region-{number}", (number, len(regions)))
        assert list(minted) == [n for n in range(base, limit + 1) if (n - number) % len(regions) == 0]
        assert base - len(regions) <= issued <= ceiling
        assert place.first(base) == issued + place.stride


def test_half_of_all_integers_lie_above_the_largest_floor() -> None:
    assert MAX_INTEGER - MAX_FLOOR + 1 == MAX_FLOOR


@pytest.mark.parametrize(
    ("regions", "said"),
    [
        ([], "0 regions; 1 to 64 are"),
        ([f"region-{i}" for i in range(MAX_REGIONS + 1)], "65 regions; 1 to 64 are"),
        ([*"aba"], r"regions repeat: \['a', 'b', 'a'\]"),
    ],
    ids=["none", "too many", "twice"],
)
def test_a_wrong_layout_is_refused(regions: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        places(regions)


@given(
    st.lists(st.permutations([f"r{i}" for i in range(6)]), max_size=4),
    st.lists(st.integers(1, 50), min_size=4, max_size=4),
    st.integers(1, 300),
)
def test_the_owner_is_the_region_with_the_integers_offset(
    orders: list[list[str]], steps: list[int], integer: int
) -> None:
    found = [Layout(7 + i, sum(steps[: i + 1]), tuple(order[: i + 1])) for i, order in enumerate(orders)]
    begun = [layout for layout in found if layout.base <= integer]

    owner = owner_of(integer, found)

    assert (owner is None) == (not begun)
    if owner is not None:
        assert (owner.offset, owner.stride) == places(begun[-1].regions)[owner.region]
        assert owner.epoch == begun[-1].epoch
        assert (integer - owner.offset) % owner.stride == 0


def test_a_region_has_minted_nothing_below_its_first_base() -> None:
    layouts = [Layout(1, 5, ("a", "b")), Layout(2, 30, ("b", "c")), Layout(3, 70, ("c", "a", "d"))]

    assert first_bases(layouts) == {"a": 5, "b": 5, "c": 30, "d": 70}
    assert first_bases(layouts[1:]) == {"b": 1, "c": 1, "a": 70, "d": 70}, "who knows what was before"
    assert first_bases([]) == {}
