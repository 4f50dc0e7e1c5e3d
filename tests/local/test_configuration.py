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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "Pulumi.dev.yaml must be a mapping, .* it is the value 'hello'"),
        ("[1, 2]", "Pulumi.dev.yaml must be a mapping, .* it is a list"),
        ("7", "Pulumi.dev.yaml must be a mapping, .* it is the value 7"),
        ("config: [1]", "Pulumi.dev.yaml: config must be a mapping, .* it is a list"),
        ("config: hello", "Pulumi.dev.yaml: config must be a mapping, .* it is the value 'hello'"),
        ("config: 0", "Pulumi.dev.yaml: config must be a mapping, .* it is the value 0"),
        ("config: {1: 2}", "Pulumi.dev.yaml: 1 is not the name of a setting"),
        ("config: {null: 2}", "Pulumi.dev.yaml: None is not the name of a setting"),
        ("config: {[a]: 2}", "not valid YAML"),
        ("config: {a: {b}", "not valid YAML"),
        ("config: {a: 2026-01-01}", "Pulumi.dev.yaml: a: .*date is not JSON serializable; put it in quotes"),
        ("config: {a: &a [*a]}", "Pulumi.dev.yaml: a: Circular reference"),
        ("config: \x07", "not valid YAML"),
        ("config:\n  x:lease: 2\n  x:lease: 3\n", "x:lease is there twice"),
        ("a: {b: 1, b: 2}", "b is there twice"),
        ("config:\n  x:lease: 2\n  x:lease: 3\n", "line 3, column 3"),
        ("config: {lease: 2, x:lease: 3}", "lease and x:lease are the same setting"),
    ],
)
def test_a_file_that_is_no_mapping_of_settings_is_refused(project: Path, text: str, message: str) -> None:
    (project / "Pulumi.dev.yaml").write_text(text)

    with pytest.raises(LocalError, match=message):
        configuration("dev")


@pytest.mark.parametrize("stack", ["server", "gateway"])
def test_a_stack_that_is_called_like_a_process_is_refused(project: Path, stack: str) -> None:
    (project / f"Pulumi.{stack}.yaml").touch()

    with pytest.raises(LocalError, match=f"--stack {stack}: .* choose another"):
        configuration(stack)


def test_a_set_without_values_is_an_object_with_empty_ones(project: Path) -> None:
    (project / "Pulumi.dev.yaml").write_text("config: {a: {b}}")

    assert configuration("dev")["x:a"] == '{"b": null}'


def test_a_file_that_is_not_text_is_refused(project: Path) -> None:
    (project / "Pulumi.dev.yaml").write_bytes(b"config: \xff\xfe")

    with pytest.raises(LocalError, match="not valid YAML"):
        configuration("dev")


def test_a_stack_without_a_file_is_refused(project: Path) -> None:
    (project / "Pulumi.dev.yaml").touch()
    (project / "Pulumi.folder.yaml").mkdir()

    for stack in ("nonesuch", "folder", ""):
        with pytest.raises(LocalError, match=r"there is no Pulumi\..*yaml; known stacks are dev"):
            configuration(stack)


@pytest.mark.parametrize("override", ["regions", "=1", "", "aws:=x", "x:=1", ":=1"])
def test_an_override_without_key_or_value_is_refused(project: Path, override: str) -> None:
    (project / "Pulumi.dev.yaml").touch()

    with pytest.raises(LocalError, match="not of the form key=value"):
        configuration("dev", [override])


def test_an_override_that_is_repeated_must_be_the_same(project: Path) -> None:
    (project / "Pulumi.dev.yaml").touch()

    assert configuration("dev", ["lease=2", "x:lease=2", "lease=2"])["x:lease"] == "2"
    with pytest.raises(LocalError) as refused:
        configuration("dev", ["lease=2", "protect=true", "x:lease=3"])
    assert str(refused.value) == "-c x:lease=3: -c lease=2 sets lease to another value; leave one of them out"


@pytest.mark.parametrize(
    ("override", "instead"),
    [
        ("regions[2]=c", """'regions=["a", "b", "c"]'"""),
        ("x:regions[0]=c", """'regions=["c", "b"]'"""),
        ("floors.integers=5", """'floors={"integers": 5}'"""),
        ("floors['*']=5", """'floors={"*": 5}'"""),
        ('floors["*"]=5', """'floors={"*": 5}'"""),
    ],
)
def test_a_part_of_a_setting_is_refused(project: Path, override: str, instead: str) -> None:
    (project / "Pulumi.dev.yaml").write_text("config:\n  x:regions: [a, b]\n")

    with pytest.raises(LocalError) as refused:
        configuration("dev", [override])
    assert str(refused.value) == f"-c {override}: write the whole value: -c {instead}"


@pytest.mark.parametrize(
    ("override", "refusal"),
    [
        ("aws:rgion=x", "nothing reads aws:rgion; did you mean 'aws:region'?"),
        ("aws:Region=x", "nothing reads aws:Region; did you mean 'aws:region'?"),
        ("AWS:region=x", "nothing reads AWS:region; did you mean 'aws:region'?"),
        ("aws:region.name=x", "nothing reads aws:region.name; did you mean 'aws:region'?"),
        ("aws:region[0]=x", "nothing reads aws:region[0]; did you mean 'aws:region'?"),
        (":lease=2", "nothing reads :lease; did you mean 'x:lease'?"),
        ("X:lease=2", "nothing reads X:lease; did you mean 'x:lease'?"),
        ("xx:floors={}", "nothing reads xx:floors; did you mean 'x:floors'?"),
        ("pulumi:tags={}", "nothing reads pulumi:tags; known are aws:region, x:floors, x:lease, x:regions"),
        ("datadog:apiKey=x", "nothing reads datadog:apiKey; known are aws:region, "),
        ("aws:profile=work", "aws:profile is for AWS and has no effect on this machine; leave it out"),
        ("aws:endpoints[0].lambda=x", "aws:endpoints[0].lambda is for AWS and has no effect on this machine"),
        ("aws:defaultTags.tags.team=x", "aws:defaultTags.tags.team is for AWS and has no effect on this machine"),
        ("aws:s3UsEast1RegionalEndpoint=x", "aws:s3UsEast1RegionalEndpoint is for AWS and has no effect"),
    ],
)
def test_a_key_that_nothing_reads_is_refused(project: Path, override: str, refusal: str) -> None:
    (project / "Pulumi.dev.yaml").touch()

    with pytest.raises(LocalError) as refused:
        configuration("dev", ["lease=2", override])
    assert str(refused.value).startswith(f"-c {override}: {refusal}")


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("aws:rgion", "aws:region"),
        ("aws:skipRegionValidaton", "aws:skipRegionValidation"),
        ("aws:endpoint", "aws:endpoints"),
        ("aws:region.name", "aws:region"),
    ],
)
def test_a_misspelt_key_of_aws_in_the_file_is_refused(project: Path, key: str, meant: str) -> None:
    (project / "Pulumi.dev.yaml").write_text(f"config: {{'{key}': x}}")

    with pytest.raises(LocalError) as refused:
        configuration("dev")
    assert str(refused.value) == f"Pulumi.dev.yaml: nothing reads {key}; did you mean '{meant}'?"


def test_the_file_may_have_what_pulumi_and_other_providers_read(project: Path) -> None:
    keys = ("aws:profile", "aws:region", "aws:skipMetadataApiCheck", "pulumi:tags", "datadog:apiKey")
    (project / "Pulumi.dev.yaml").write_text("config:\n" + "".join(f"  {key}: v\n" for key in keys))

    assert configuration("dev") == {"x:lease": "1", **dict.fromkeys(keys, "v")}


def test_what_is_no_part_of_a_setting_is_left_to_the_program(project: Path) -> None:
    (project / "Pulumi.dev.yaml").touch()

    assert configuration("dev", ["lease.a=1", "region[0]=c"]) == {"x:lease": "1", "x:lease.a": "1", "x:region[0]": "c"}
