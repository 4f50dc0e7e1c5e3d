"""Every region has a colour of its own, which readers can tell from its neighbours'."""

from itertools import combinations

import pytest
from mint.api.pages import COLOURS, colour_of

from components.settings.aws_regions import PARTITION, partitions

TOGETHER = {
    "docs": ("us-east-1", "eu-west-1", "ap-southeast-2", "us-west-2"),
    "us": ("us-east-1", "us-east-2", "us-west-1", "us-west-2", "ca-central-1"),
    "eu": ("eu-west-1", "eu-west-2", "eu-west-3", "eu-central-1", "eu-north-1"),
    "ap": ("ap-southeast-1", "ap-southeast-2", "ap-northeast-1", "ap-northeast-2", "ap-south-1"),
    "world": ("us-east-1", "us-west-2", "eu-west-1", "eu-central-1", "ap-southeast-1", "ap-northeast-1", "sa-east-1"),
}
"""Regions that are often used together."""

SEEN = {
    "all colours": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "no green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
}
"""What an eye without some cones makes of linear RGB (Machado, Oliveira and Fernandes 2009, severity 1.0)."""


def test_every_region_has_a_colour_of_its_own() -> None:
    regions = {region for region, partition in partitions().items() if partition == PARTITION}

    assert regions <= set(COLOURS)
    assert len(set(COLOURS.values())) == len(COLOURS)


def test_a_new_region_has_a_colour_too() -> None:
    assert {colour_of("us-west-9"), colour_of("x"), colour_of("")} <= set(COLOURS.values())
    assert colour_of("us-west-9") == colour_of("us-west-9")


def test_white_text_can_be_read_on_every_colour() -> None:
    for region, colour in COLOURS.items():
        red, green, blue = linear(colour)
        luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
        assert 1.05 / (luminance + 0.05) >= 4.5, region  # WCAG 2.2, 1.4.3


@pytest.mark.parametrize("together", TOGETHER)
@pytest.mark.parametrize("eye", SEEN)
def test_regions_that_are_used_together_differ(together: str, eye: str) -> None:
    for one, other in combinations(TOGETHER[together], 2):
        assert difference(colour_of(one), colour_of(other), eye) >= 0.04, (one, other)


def linear(colour: str) -> tuple[float, ...]:
    """Return the linear RGB of `#rrggbb`."""
    parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return tuple(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)


def difference(one: str, other: str, eye: str) -> float:
    """Return the distance of two colours in OKLab. Two patches at 0.02 are just told apart."""
    places = [oklab([max(0, dot(row, linear(colour))) for row in SEEN[eye]]) for colour in (one, other)]
    return sum((a - b) ** 2 for a, b in zip(*places, strict=True)) ** 0.5


def oklab(rgb: list[float]) -> list[float]:
    cones = ((0.4122, 0.5363, 0.0514), (0.2119, 0.6807, 0.1074), (0.0883, 0.2817, 0.6300))
    axes = ((0.2105, 0.7936, -0.0041), (1.9780, -2.4286, 0.4506), (0.0259, 0.7828, -0.8087))
    roots = [dot(row, rgb) ** (1 / 3) for row in cones]
    return [dot(row, roots) for row in axes]


def dot(row: tuple[float, ...], values: list[float] | tuple[float, ...]) -> float:
    return sum(a * b for a, b in zip(row, values, strict=True))
