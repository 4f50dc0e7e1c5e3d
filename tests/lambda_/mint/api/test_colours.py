"""Every region has a colour of its own, on which white text can be read."""

from mint.api.pages import COLOURS, colour_of

from components.settings.aws_regions import PARTITION, partitions


def test_every_region_has_a_colour_of_its_own() -> None:
    regions = {region for region, partition in partitions().items() if partition == PARTITION}

    assert regions <= set(COLOURS)
    assert len(set(COLOURS.values())) == len(COLOURS)
    assert {colour_of("us-west-9"), colour_of("")} <= set(COLOURS.values()), "a new one has another's"


def test_white_text_can_be_read_on_every_colour() -> None:
    for region, colour in COLOURS.items():
        parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
        assert 1.05 / (luminance + 0.05) >= 4.5, region  # WCAG 2.2, 1.4.3
