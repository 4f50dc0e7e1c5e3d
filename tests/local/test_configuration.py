"""A stack's file, read as Pulumi reads it; a wrong one gets an error that says what is wrong."""

import json
from pathlib import Path

import pytest

from local.paths import LocalError
from local.stack import configuration


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a project with one setting that has a default."""
    monkeypatch.setattr("local.stack.ROOT", tmp_path)
    settings = "  lease:\n    default: 1\n  regions: {type: array}\n  floors: {type: object}\n"
    (tmp_path / "Pulumi.yaml").write_text(f"name: x\nconfig:\n{settings}")
    return tmp_path


def test_values_are_text_and_those_of_the_run_win(project: Path) -> None:
    (project / "Pulumi.dev.yaml").write_text("config:\n  x:regions: [a, b]\n  protect: false\n  aws:region: c\n")

    assert configuration("dev", ["aws:region=d", "memorySize=512"]) == {
        "x:lease": "1",
        "x:regions": json.dumps(["a", "b"]),
        "x:protect": "false",
        "aws:region": "d",
        "x:memorySize": "512",
    }


@pytest.mark.parametrize("text", ["", "config:\n", "config: {}\n", "encryptionsalt: v1\n", "# nothing\n"])
def test_a_file_without_settings_leaves_the_defaults(project: Path, text: str) -> None:
    (project / "Pulumi.dev.yaml").write_text(text)

    assert configuration("dev") == {"x:lease": "1"}


NO_MAPPING = r"Pulumi\.dev\.yaml must be a mapping, .* it is "
IN_CONFIG = r"Pulumi\.dev\.yaml: config must be a mapping, .* it is "
NO_KEY = "not of the form key=value"
WHOLE = ": write the whole value: -c"
NOT_HERE = "is for AWS and has no effect on this machine"


@pytest.mark.parametrize(
    ("text", "override", "message"),
    [
        ("hello", "", f"{NO_MAPPING}the value 'hello'"),
        ("[1, 2]", "", f"{NO_MAPPING}a list"),
        ("7", "", f"{NO_MAPPING}the value 7"),
        ("config: [1]", "", f"{IN_CONFIG}a list"),
        ("config: hello", "", f"{IN_CONFIG}the value 'hello'"),
        ("config: 0", "", f"{IN_CONFIG}the value 0"),
        ("config: {1: 2}", "", r"Pulumi\.dev\.yaml: 1 is not the name of a setting"),
        ("config: {null: 2}", "", r"Pulumi\.dev\.yaml: None is not the name of a setting"),
        ("config: {[a]: 2}", "", "not valid YAML"),
        ("config: {a: {b}", "", "not valid YAML"),
        ("config: {a: 2026-01-01}", "", r"Pulumi\.dev\.yaml: a: .*date is not JSON serializable; put it in quotes"),
        ("config: {a: &a [*a]}", "", r"Pulumi\.dev\.yaml: a: Circular reference"),
        ("config: \x07", "", "not valid YAML"),
        ("config: \udcff\udcfe", "", "not valid YAML"),  # no text: these are written as bytes
        ("config:\n  x:lease: 2\n  x:lease: 3\n", "", r'(?s)x:lease is there twice.*\.yaml", line 3, column 3'),
        ("a: {b: 1, b: 2}", "", "b is there twice"),
        ("config: {lease: 2, x:lease: 3}", "", "lease and x:lease are the same setting"),
        ("config: {aws:rgion: x}", "", r"^Pulumi\.dev\.yaml: nothing reads aws:rgion; did you mean 'aws:region'\?$"),
        ("config: {aws:skipRegionValidaton: x}", "", "did you mean 'aws:skipRegionValidation'"),
        ("config: {aws:endpoint: x}", "", "nothing reads aws:endpoint; did you mean 'aws:endpoints'"),
        ("config: {aws:region.name: x}", "", "did you mean 'aws:region'"),
        *(("", override, NO_KEY) for override in ("regions", "=1", "aws:=x", "x:=1", ":=1")),
        ("config: {x:regions: [a, b]}", "regions[2]=c", rf"""{WHOLE} 'regions=\["a", "b", "c"\]'$"""),
        ("config: {x:regions: [a, b]}", "x:regions[0]=c", rf"""{WHOLE} 'regions=\["c", "b"\]'$"""),
        ("", "floors.integers=5", rf"""{WHOLE} 'floors=\{{"integers": 5\}}'$"""),
        ("", "floors['*']=5", rf"""{WHOLE} 'floors=\{{"\*": 5\}}'$"""),
        ("", 'floors["*"]=5', rf"""{WHOLE} 'floors=\{{"\*": 5\}}'$"""),
        ("", "aws:rgion=x", "nothing reads aws:rgion; did you mean 'aws:region'"),
        ("", "aws:Region=x", "nothing reads aws:Region; did you mean 'aws:region'"),
        ("", "AWS:region=x", "nothing reads AWS:region; did you mean 'aws:region'"),
        ("", "aws:region.name=x", "nothing reads aws:region.name; did you mean 'aws:region'"),
        ("", "aws:region[0]=x", r"nothing reads aws:region\[0\]; did you mean 'aws:region'"),
        ("", ":lease=2", "nothing reads :lease; did you mean 'x:lease'"),
        ("", "X:lease=2", "nothing reads X:lease; did you mean 'x:lease'"),
        ("", "xx:floors={}", "nothing reads xx:floors; did you mean 'x:floors'"),
        ("", "pulumi:tags={}", "nothing reads pulumi:tags; known are aws:region, x:floors, x:lease, x:regions"),
        ("", "datadog:apiKey=x", "nothing reads datadog:apiKey; known are aws:region, "),
        ("", "aws:profile=work", f"aws:profile {NOT_HERE}; leave it out"),
        ("", "aws:endpoints[0].lambda=x", rf"aws:endpoints\[0\]\.lambda {NOT_HERE}"),
        ("", "aws:defaultTags.tags.team=x", f"aws:defaultTags.tags.team {NOT_HERE}"),
        ("", "aws:s3UsEast1RegionalEndpoint=x", f"aws:s3UsEast1RegionalEndpoint {NOT_HERE}"),
    ],
)
def test_a_wrong_file_or_override_is_refused(project: Path, text: str, override: str, message: str) -> None:
    (project / "Pulumi.dev.yaml").write_text(text, errors="surrogateescape")

    with pytest.raises(LocalError, match=message) as refused:
        configuration("dev", ["lease=2", override] if override else [])
    if override and message != NO_KEY:
        assert str(refused.value).startswith(f"-c {override}: ")


@pytest.mark.parametrize("stack", ["server", "gateway"])
def test_a_stack_that_is_called_like_a_process_is_refused(project: Path, stack: str) -> None:
    (project / f"Pulumi.{stack}.yaml").touch()

    with pytest.raises(LocalError, match=f"--stack {stack}: .* choose another"):
        configuration(stack)


def test_a_set_without_values_is_an_object_with_empty_ones(project: Path) -> None:
    (project / "Pulumi.dev.yaml").write_text("config: {a: {b}}")

    assert configuration("dev")["x:a"] == '{"b": null}'


def test_a_stack_without_a_file_is_refused(project: Path) -> None:
    (project / "Pulumi.dev.yaml").touch()
    (project / "Pulumi.folder.yaml").mkdir()

    for stack in ("nonesuch", "folder", ""):
        with pytest.raises(LocalError, match=r"there is no Pulumi\..*yaml; known stacks are dev"):
            configuration(stack)


def test_an_override_that_is_repeated_must_be_the_same(project: Path) -> None:
    (project / "Pulumi.dev.yaml").touch()

    assert configuration("dev", ["lease=2", "x:lease=2", "lease=2"])["x:lease"] == "2"
    with pytest.raises(LocalError) as refused:
        configuration("dev", ["lease=2", "protect=true", "x:lease=3"])
    assert str(refused.value) == "-c x:lease=3: -c lease=2 sets lease to another value; leave one of them out"


def test_the_file_may_have_what_pulumi_and_other_providers_read(project: Path) -> None:
    keys = ("aws:profile", "aws:region", "aws:skipMetadataApiCheck", "pulumi:tags", "datadog:apiKey")
    (project / "Pulumi.dev.yaml").write_text("config:\n" + "".join(f"  {key}: v\n" for key in keys))

    assert configuration("dev") == {"x:lease": "1", **dict.fromkeys(keys, "v")}


def test_what_is_no_part_of_a_setting_is_left_to_the_program(project: Path) -> None:
    (project / "Pulumi.dev.yaml").touch()

    assert configuration("dev", ["lease.a=1", "region[0]=c"]) == {"x:lease": "1", "x:lease.a": "1", "x:region[0]": "c"}
