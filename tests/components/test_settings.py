"""Sound settings of what another program asks for: the dataclass, or a dict of it as other languages send it."""

from typing import Any

import pytest

from components.global_integers_args import GlobalIntegersArgs
from components.settings import SettingsError, settings_of

REGIONS = ["us-east-1", "eu-west-1"]


def test_what_is_left_out_takes_its_default() -> None:
    settings = settings_of(GlobalIntegersArgs(home="us-east-1", regions=REGIONS), "shop-dev-orders")

    assert (settings.home, settings.regions, settings.prefix) == ("us-east-1", tuple(REGIONS), "shop-dev-orders")
    assert (settings.counters, settings.authorization, settings.lease) == (("integers",), "AWS_IAM", 1)
    assert (settings.window, settings.headroom, settings.watch_minutes) == (100_000_000, 10_000, 5)
    assert settings.leaving == ()
    assert settings.protect


def test_a_dict_with_whole_floats_is_as_good_as_the_dataclass() -> None:
    """Pulumi's protocol has one type of number, a double."""
    floats: dict[str, Any] = {
        "home": "us-east-1",
        "regions": REGIONS,
        "memory_size": 512.0,
        "floors": {"integers": 5e6},
    }
    args = GlobalIntegersArgs(home="us-east-1", regions=REGIONS, memory_size=512, floors={"integers": 5_000_000})

    settings = settings_of(floats, "p")

    assert settings == settings_of(args, "p")
    assert isinstance(settings.memory_size, int)
    assert isinstance(settings.floors["integers"], int)


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        ({"memory_size": 256.5}, "memory_size: 256.5 is not an integer; 128 to 10240 are allowed"),
        ({"memory_size": True}, "memory_size: True is not an integer; 128 to 10240 are allowed"),
        ({"memory_size": float("inf")}, "memory_size: inf is not an integer; 128 to 10240 are allowed"),
        ({"protect": "yes"}, "protect: 'yes' is neither true nor false"),
        ({"prefix": 7}, "prefix: 7 is not a string"),
        ({"home": ["us-east-1"]}, "home: ['us-east-1'] is not a string"),
        ({"floors": {5: 5}}, "floors: 5 is not a counter's name"),
        ({"prefix": "my.shop"}, "prefix: 'my.shop' may hold letters, digits, - and _ only"),
        ({"regions": []}, "regions: the list is empty; at least one is needed: regions=['us-east-1', 'eu-west-1']"),
        ({"floors": [1]}, "floors: [1] is not an object of counters and integers: floors={'integers': 5000000}"),
        ({"floors": {"my_counter": 0}}, "floors.my_counter: 0 is out of range; 1 to "),
        ({"memorySize": 256}, "memorySize: there is no such setting; did you mean 'memory_size'?"),
    ],
)
def test_a_wrong_value_is_reported_in_the_words_of_the_program(given: dict[str, Any], reported: str) -> None:
    with pytest.raises(SettingsError) as wrong:
        settings_of({"home": "us-east-1", "regions": REGIONS, **given}, "p")

    first, line = str(wrong.value).splitlines()
    assert first == "the settings are wrong:"
    assert reported in line
