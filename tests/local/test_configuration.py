"""A stack's file and options, read as Pulumi reads them; a wrong one is refused in one sentence."""

import json
from pathlib import Path

import pytest

from local.paths import LocalError
from local.stack import configuration


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a project with one setting that has a default."""
    monkeypatch.setattr("local.stack.ROOT", tmp_path)
    (tmp_path / "Pulumi.yaml").write_text("name: x\nconfig:\n  lease: {default: 1}\n  floors: {type: object}\n")
    return tmp_path


def test_values_are_text_and_those_of_the_run_win(project: Path) -> None:
    (project / "Pulumi.dev.yaml").write_text("config:\n  x:regions: [a, b]\n  protect: false\n  aws:profile: c\n")

    assert configuration("dev", ["aws:region=d", "memorySize=512", "x:protect=1=1"]) == {
        "x:lease": "1",
        "x:regions": json.dumps(["a", "b"]),
        "x:protect": "1=1",
        "aws:profile": "c",
        "aws:region": "d",
        "x:memorySize": "512",
    }


@pytest.mark.parametrize("text", ["", "config:\n", "encryptionsalt: v1\n"])
def test_a_file_without_settings_leaves_the_defaults(project: Path, text: str) -> None:
    (project / "Pulumi.dev.yaml").write_text(text)

    assert configuration("dev") == {"x:lease": "1"}


@pytest.mark.parametrize(
    "text", ["hello", "[1]", "config: [1]", "config: {1: 2}", "config: {a: {b}", "config: {a: 2026-01-01}", "\udcff"]
)
def test_a_wrong_file_is_named_with_its_form(project: Path, text: str) -> None:
    (project / "Pulumi.dev.yaml").write_text(text, errors="surrogateescape")

    with pytest.raises(LocalError, match=r"(?s)^Pulumi\.dev\.yaml can't be read: .*it must be YAML with `config:`"):
        configuration("dev")


def test_an_encrypted_setting_is_refused_unless_the_run_has_its_own(project: Path) -> None:
    (project / "Pulumi.dev.yaml").write_text(
        "config:\n  aws:secretKey: {secure: v1:a}\n  lease: {secure: v1:b}\n  x:floors: {orders: {secure: v1:c}}\n"
    )

    for options, key in ((["lease=2"], "floors"), (["floors={}"], "lease")):
        with pytest.raises(LocalError, match=rf"^Pulumi\.dev\.yaml: x:{key} is encrypted.*-c {key}=<value>$"):
            configuration("dev", options)
    assert configuration("dev", ["lease=2", "floors={}"])["x:lease"] == "2"


FORM = r"not of the form key=value; a list or an object is written whole, like -c 'regions=\[\"us-east-1\"\]'$"
KNOWN = "; known are aws:region, x:lease, x:floors$"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        *((override, FORM) for override in ("regions", "=1", "x:=1", "regions[2]=c", "floors.integers=5")),
        *((f"{key}=2", f"nothing here reads {key}{KNOWN}") for key in ("aws:rgion", ":lease", "aws:profile")),
    ],
)
def test_a_wrong_option_is_refused(project: Path, override: str, message: str) -> None:
    (project / "Pulumi.dev.yaml").touch()

    with pytest.raises(LocalError, match=message) as refused:
        configuration("dev", ["lease=2", override])
    assert str(refused.value).startswith(f"-c {override}: ")


@pytest.mark.parametrize(
    ("stack", "message"),
    [("server", "recorded under this name here"), *((name, "known stacks are dev") for name in ("nonesuch", ""))],
)
def test_a_stack_that_cant_be_is_refused(project: Path, stack: str, message: str) -> None:
    (project / "Pulumi.dev.yaml").touch()

    with pytest.raises(LocalError, match=f"--stack {stack}: .*{message}"):
        configuration(stack)
