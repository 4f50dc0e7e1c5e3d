"""A colour for each AWS region: the same in every layout, on the pages and in the drawings of `docs/`."""

COLOURS = {
    "af-south-1": "#954d05",
    "ap-east-1": "#8457d8",
    "ap-east-2": "#c43783",
    "ap-northeast-1": "#554f07",
    "ap-northeast-2": "#93147f",
    "ap-northeast-3": "#078543",
    "ap-south-1": "#0a7e83",
    "ap-south-2": "#0e7461",
    "ap-southeast-1": "#03527b",
    "ap-southeast-2": "#005b44",
    "ap-southeast-3": "#6533b3",
    "ap-southeast-4": "#a65706",
    "ap-southeast-5": "#544ccb",
    "ap-southeast-6": "#0d76ad",
    "ap-southeast-7": "#a40834",
    "ca-central-1": "#a10354",
    "ca-west-1": "#0f6f82",
    "eu-central-1": "#128263",
    "eu-central-2": "#ad3498",
    "eu-north-1": "#0172be",
    "eu-south-1": "#075761",
    "eu-south-2": "#8b1b8c",
    "eu-west-1": "#a9650d",
    "eu-west-2": "#a31900",
    "eu-west-3": "#3845bf",
    "il-central-1": "#9c4cc6",
    "me-central-1": "#006a9e",
    "me-south-1": "#b4144e",
    "mx-central-1": "#015d2d",
    "sa-east-1": "#cd3462",
    "us-east-1": "#3b6ee5",
    "us-east-2": "#af43af",
    "us-west-1": "#008719",
    "us-west-2": "#7a28a2",
}
"""White text can be read on each of them: its contrast is at least 4.5 (WCAG 2.2, 1.4.3). Regions that are often used
together differ most, in lightness too, so readers who confuse red and green can tell them apart."""


def colour_of(region: str) -> str:
    """Return a region's colour as `#rrggbb`. The name of a region that isn't in `COLOURS` selects one of them."""
    return COLOURS.get(region) or list(COLOURS.values())[sum(region.encode()) % len(COLOURS)]
