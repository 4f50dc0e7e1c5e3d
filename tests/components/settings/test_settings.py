"""Wrong settings are reported with their value and what is allowed, all at once, before anything is created."""

import re
from collections.abc import Mapping
from typing import Any, cast

import pulumi
import pytest
from botocore.session import get_session

from components.settings import SettingsError, desired_state_of, settings_of
from components.settings.args import SETTINGS, GlobalIntegersArgs
from components.settings.aws_regions import WITHOUT_FUNCTION_URLS, partitions
from components.settings.rules import MAX_DOMAIN, MAX_ORIGINS
from components.settings.values import Findings, kind
from global_integers_core.names import camel
from tests.components.running import HOME, PROJECT, THREE, config, deploy_badly, refusals, settings
from tests.components.settings.refused import REFUSALS, in_program, of_stack, refused

DOMAIN = "integers.example.com"
LONG = f"{'x' * 40}.{'y' * (MAX_DOMAIN - 40 - len('.example.com') - 1)}.example.com"
ROLE = "arn:aws:iam::123456789012:role"
KEYS = {region: f"arn:aws:kms:{region}:123456789012:key/7d1e" for region in THREE}
LOSS = "loss-c9f0f895fb98ab91-7"


def test_all_that_is_wrong_is_told_before_anything_is_made() -> None:
    settings = config(
        *("us-east-1", "eu-wset-1", "us-east-1"),
        home="moon",
        memorySize="much",
        memorysize=1,
    )
    error, deployment = deploy_badly(settings)

    assert isinstance(error, pulumi.RunError), "Pulumi shows a RunError without a traceback"
    assert deployment.resources == []
    first, *lines = str(error).splitlines()
    assert first == "the settings are wrong:"
    assert sorted(line.split(":")[0].strip() for line in lines) == ["aws", "memorySize", "memorysize", *["regions"] * 2]


def test_the_refusal_of_a_wrong_value_is_in_the_file() -> None:
    text = REFUSALS.read_text(encoding="utf-8")

    assert refused(text) == text, "if that is meant: make fix, and read the difference"


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ({"regions": [f"us-east-{number}" for number in range(1, 66)]}, "regions: 65 regions; at most 64 are possible"),
        ({"kmsKeys": {**KEYS, "mars": KEYS[HOME]}}, "kmsKeys: 'mars' is not an AWS region"),
        ({"callers": {f"{ROLE}/{'x' * 63}{n}": ["orders"] for n in range(30)}}, "bytes as JSON; 2500 are possible"),
        (
            {"callers": {f"arn:aws:iam::{account}:role/shop": "*" for account in range(10**11, 10**11 + 21)}},
            "callers: names 21 accounts; 20 are possible: let callers of further accounts assume a role of one of ",
        ),
    ],
)
def test_a_setting_that_is_too_long_is_refused(setting: dict[str, Any], expected: str) -> None:
    found = of_stack(**setting)

    assert expected in " ".join(found)


def test_regions_without_function_urls_must_be_allowed() -> None:
    china = ["cn-north-1", "cn-northwest-1"]
    assert settings(config(china[0], home=china[1], allowUrlRegions=china)).regions == (china[0],)
    assert settings(config(HOME, home="ca-west-1")).home == "ca-west-1", "nobody calls the home region"
    for region in WITHOUT_FUNCTION_URLS:
        (line,) = refusals(config(HOME, region))
        assert line.startswith(f"regions: '{region}' has no Lambda Function URLs")
        behind = config(HOME, region, domain=DOMAIN, functionUrls=False)
        for allowed in (config(HOME, region, allowUrlRegions=[region]), behind):
            assert settings(allowed).regions == (HOME, region)


@pytest.mark.parametrize(
    "setting",
    [
        {"memorySize": 128, "logRetentionDays": 1},
        {"memorySize": 10_240, "logRetentionDays": 3653},
        *({"counters": ["integers", name]} for name in ("0", "a" * 63, "a_b-c")),
        {"counters": ["orders"], "defaultCounter": "orders"},
        *({"recovery": {"loss": LOSS, "above": above}} for above in (0, 2**53 - 1)),
        {"budget": 1_000_000, "alarmEmails": [f"{'a' * 39}{n}@x.example" for n in range(10)]},
        {"domain": LONG},
        {"domain": "xn--bcher-kva.example.com"},
        {"domain": "a.b.c-1.example.com", "hostedZone": "c-1.example.com."},
        {"domain": "example.com", "hostedZone": "example.com"},
        {"domain": DOMAIN, "hostedZone": "Z123", "functionUrls": False},
        {"domain": DOMAIN, "corsOrigins": ["https://shop.example"]},
        {"corsOrigins": ["capacitor://localhost", "ionic://localhost", "tauri://localhost", "app://obsidian.md"]},
        {"corsOrigins": ["capacitor://", "file://", "safari-web-extension://140BB581-A2C0", "https://localhost"]},
        {"corsOrigins": ["chrome-extension://abcdefghijklmnop", "http://localhost:8080", "http://[::1]:3000", "*"]},
        {"domain": DOMAIN, "corsOrigins": ["https://shop.example"], "functionUrls": False, "authorization": "NONE"},
        {"domain": "", "hostedZone": ""},
        {"tags": {"k" * 128: "v" * 256, "Kostenstelle für Büro": "", "a+b-c=d._:/@": "x+-=._:/@ 1", "caws:": "4711"}},
        {"tags": {f"k{n}": "v" for n in range(48)}},
        {"tags": {**{f"k{n}": "v" for n in range(48)}, "global-integers": "mine", "Name": "integers"}},
        {"tags": {f"k{n}": "v" for n in range(8)}, "domain": DOMAIN, "hostedZone": "example.com"},
        {"leaving": ["us-west-2"], "paused": ["us-west-2", HOME]},
        {"kmsKeys": {**KEYS, "us-west-2": KEYS[HOME].replace(HOME, "us-west-2")}},  # of a region that is gone
        *(
            {"callers": {pattern: ["orders", "*"]}}
            for pattern in (
                "*",
                f"{ROLE}/shop",
                f"{ROLE}/shop-*",
                f"{ROLE}/aws-reserved/sso.amazonaws.com/eu-west-1/AWSReservedSSO_Admin_0a1b",
                "arn:aws:iam::123456789012:user/teams/*",
                "arn:aws:sts::123456789012:assumed-role/shop/i-*",
                "arn:aws-cn:iam::*:role/shop",
            )
        ),
    ],
)
def test_a_right_value_is_accepted(setting: dict[str, Any]) -> None:
    assert settings(config(*THREE, **setting)).regions == THREE


def test_a_function_url_has_so_many_origins() -> None:
    origins = [f"https://{number}.example" for number in range(MAX_ORIGINS + 1)]

    assert len(settings(config(HOME, corsOrigins=origins[1:])).cors_origins) == MAX_ORIGINS
    assert of_stack(corsOrigins=origins) == [
        "corsOrigins: has 101 origins; at most 100 are possible for a Function URL"
    ]
    model = get_session().get_service_model("lambda").shape_for("Cors")
    assert cast("Any", model).members["AllowOrigins"].metadata["max"] == MAX_ORIGINS


def test_a_dict_has_the_names_of_python() -> None:
    """The words are those of a program in any language, and Pulumi translates the names of others."""
    with pytest.raises(SettingsError, match="memorySize: there is no such setting; did you mean 'memory_size'"):
        settings_of({"home": HOME, "regions": THREE, "memorySize": 5}, "p", Findings(camel))
    with pytest.raises(SettingsError, match="memory: there is no such setting; did you mean 'memorySize'"):
        settings_of({"home": HOME, "regions": THREE, "memory": 5}, "p", Findings(camel))


def test_every_name_of_the_domain_fits_in_dns() -> None:
    longest = max(map(len, partitions()))

    assert "gateway" not in partitions()
    assert longest + 1 + MAX_DOMAIN <= 253
    assert longest <= 63


FAR = "ap-southeast-2"

ROOMS: dict[str, dict[str, Any]] = {
    f"coordinate-{FAR}": {"home": FAR},
    f"gateway-{FAR}": {"apiGateway": True, "regions": [HOME, FAR]},
    f"coordinate-{HOME}": {"regions": [HOME, FAR]},
}


@pytest.mark.parametrize("role", ROOMS)
def test_a_stacks_name_leaves_room_for_the_longest_role(role: str) -> None:
    room = 64 - len(f"-{role}")
    stack, with_it = "s" * (room - len(f"{PROJECT}-")), config(HOME, **ROOMS[role])

    assert settings(with_it, stack=stack).prefix == f"{PROJECT}-{stack}"
    (line,) = refusals(with_it, stack=f"{stack}s")
    assert f"<project>-<stack>: '{PROJECT}-{stack}s' has {room + 1} characters" in line
    assert f"with these regions at most {room} are possible" in line
    assert "before the first deployment, with `pulumi stack init`" in line, "`pulumi stack rename` replaces every table"
    assert "rename " not in line
    assert "argument" not in line, "the component has `prefix`, a stack doesn't"


def test_a_stack_of_another_alphabet_is_told_what_it_can_do() -> None:
    (line,) = refusals(config(HOME), stack="prod.eu")

    assert line == (
        f"<project>-<stack>: '{PROJECT}-prod.eu' may hold letters, digits, - and _ only, as a Lambda function's name; "
        "choose another name before the first deployment, with `pulumi stack init`, or `name` in Pulumi.yaml: a "
        "deployed stack can't be renamed, because that would replace its tables"
    )


def test_a_dict_of_whole_floats_is_as_good_as_the_dataclass() -> None:
    """Pulumi's protocol has one type of number, a double."""
    answer = {"loss": LOSS, "above": 7.0}
    of_all: dict[str, Any] = {"home": HOME, "regions": THREE}
    found = settings_of({**of_all, "memory_size": 512.0, "floors": {"integers": 5e6}, "recovery": answer}, "p")

    args = GlobalIntegersArgs(
        **of_all, memory_size=512, floors={"integers": 5_000_000}, recovery={"loss": LOSS, "above": 7}
    )
    assert found == settings_of(args, "p")
    assert isinstance(found.memory_size, int)
    assert isinstance(found.floors["integers"], int)
    assert isinstance(found.recovery["above"], int)


@pytest.mark.parametrize("name", [name for name in SETTINGS if kind(name) is Mapping])
def test_the_values_of_an_object_are_checked(name: str) -> None:
    """The table of `args.py` has no range for them: add a check to `rules.py`, and what it refuses to the file."""
    assert re.search(rf"[→|] {camel(name)}\.", REFUSALS.read_text())


@pytest.mark.parametrize(("setting", "value"), [("memory_size", float("inf")), ("floors", {5: 5})])
def test_what_json_has_not_is_refused_in_a_program(setting: str, value: Any) -> None:
    (line,) = in_program(**{setting: value})

    assert line.startswith((f"{setting}: inf is not an integer;", f"{setting}: a key: 5 is not a string;"))


@pytest.mark.parametrize(
    ("chosen", "window"),
    [
        ({"window": 7}, 7),
        ({"apiGateway": True}, 480_000),
        ({"apiGateway": True, "apiGatewayRate": 1, "scheduleMinutes": 1}, 1000),
        ({"apiGateway": True, "window": 10**6}, 10**6),
    ],
)
def test_where_nobody_can_ask_a_window_lasts_until_the_next_run(chosen: dict[str, Any], window: int) -> None:
    assert desired_state_of(settings(config(HOME, **chosen)))["window"] == window
