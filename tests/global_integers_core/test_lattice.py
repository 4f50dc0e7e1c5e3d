"""The lattice: which integers belong to which region, and where a region must stop."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from global_integers_core.lattice import MAX_INTEGER, MAX_REGIONS, Place, places

bases = st.integers(1, MAX_INTEGER)
strides = st.integers(1, MAX_REGIONS)
all_places = strides.flatmap(lambda stride: st.builds(Place, st.integers(1, stride), st.just(stride)))
layouts = strides.map(lambda number: [f"region-{i}" for i in range(number)])


def belongs(integer: int, place: Place) -> bool:
    return (integer - place.offset) % place.stride == 0


@given(layouts)
def test_region_i_of_n_has_offset_i_and_stride_n(regions: list[str]) -> None:
    found = places(regions)

    assert list(found) == regions
    assert [place.offset for place in found.values()] == list(range(1, len(regions) + 1))
    assert {place.stride for place in found.values()} == {len(regions)}


@given(layouts, bases, st.integers(1, 50))
def test_distinct_regions_never_meet(regions: list[str], base: int, mints: int) -> None:
    minted = [place.first(base) + step * place.stride for place in places(regions).values() for step in range(mints)]

    assert len(set(minted)) == len(regions) * mints


@given(all_places, bases)
def test_the_first_integer_is_the_smallest_from_the_base_on(place: Place, base: int) -> None:
    first = place.first(base)

    assert first >= base
    assert belongs(first, place)
    assert first - place.stride < base


@given(all_places, bases)
def test_the_first_mint_of_an_epoch_hands_out_the_first_integer(place: Place, base: int) -> None:
    before = place.before(base)

    assert before < base
    assert before + place.stride == place.first(base)


@given(all_places, bases, st.integers(0, MAX_INTEGER))
def test_a_ceiling_is_the_regions_last_integer_up_to_the_limit(place: Place, base: int, limit: int) -> None:
    ceiling = place.ceiling(limit, base)

    assert belongs(ceiling, place)
    assert ceiling == place.before(base) or limit - place.stride < ceiling <= limit


@given(all_places, bases)
def test_no_ceiling_lets_out_an_integer_of_2_to_the_53(place: Place, base: int) -> None:
    ceiling = place.ceiling(MAX_INTEGER, base)

    assert (place.first(base) <= ceiling) == (place.first(base) <= MAX_INTEGER)
    assert place.before(base) <= ceiling <= 2**53 - 1
    assert ceiling + place.stride > 2**53 - 1


@given(all_places, st.integers(MAX_INTEGER - 2 * MAX_REGIONS, MAX_INTEGER + MAX_REGIONS))
def test_at_the_end_a_region_mints_the_last_integers_only(place: Place, base: int) -> None:
    issued, ceiling = place.before(base), place.ceiling(MAX_INTEGER, base)

    assert issued <= ceiling
    minted = range(issued + place.stride, ceiling + 1, place.stride)
    assert list(minted) == [n for n in range(base, MAX_INTEGER + 1) if belongs(n, place)]


MANY = [f"region-{i}" for i in range(MAX_REGIONS + 1)]


@pytest.mark.parametrize(
    ("regions", "said"),
    [
        ([], "0 regions; 1 to 64 are"),
        (MANY, "65 regions; 1 to 64 are"),
        ([*"aba"], r"regions repeat: \['a', 'b', 'a'\]"),
    ],
    ids=["none", "too many", "twice"],
)
def test_a_wrong_layout_is_refused(regions: list[str], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        places(regions)
