"""Nothing is installed from a name that nobody here owns: whoever registers it could fill it with code of theirs."""

import os
import re
import subprocess
import sys

import pytest

from local.paths import ROOT

OWNED: frozenset[str] = frozenset()
"""The sources that a release owns, as the first test prints them. CONTRIBUTING.md says when one is added."""

NAME = "global-integers"
PROJECT = r"global[-_.]integers(?:[-_.](?:client|global[-_.]integers))?"
"""The projects' names on an index, as it reads them, and the name of the SDK in Python."""

FETCHED = re.compile(
    "|".join(
        (
            r"(?:github|gitlab)\.com[:/]+(?:[\w-]+/)?(?:pulumi-)?global-integers\b",
            rf"@{NAME}/",
            # pip, uv, npm and their like, with the name as one of several; what comes from a URL or a file may be named
            rf"\b(?:install|add|download|uvx|npx|pipx run|npm i)\s(?:[^\n`]*[\s\"'])?{PROJECT}"
            r"(?![\w/:-]|\.\w|\S* @ [<$]|[^\n`]* --file)",
            rf"(?<![\w./-]){PROJECT}(?:\[[\w,]+\])?\s*(?:[=~!]=|[<>]=?\s*\d|@\s*(?:git\+|https?:))",
            # one line of a requirement file, or one entry of a list of dependencies
            rf"^\s*{PROJECT}(?:\[[\w,]+\])?\s*(?:#.*)?$",
            rf"^\s*[\"']{PROJECT}(?:\[[\w,]+\])?[\"'],?\s*$",
            r"(?:pypi\.org|npmjs\.(?:com|org)|pkg\.go\.dev|nuget\.org)/\S*global[-_.]?integers",
        )
    ),
    re.IGNORECASE | re.MULTILINE,
)


def fetched(text: str) -> list[str]:
    """Return what the text names as a source and no release owns."""
    return [found[0].strip() for found in FETCHED.finditer(text) if found[0].strip() not in OWNED]


@pytest.mark.slow
def test_no_file_names_a_source_that_is_not_owned() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = {name: fetched((ROOT / name).read_text(errors="replace")) for name in listed.splitlines()}

    assert len(found) > 200
    assert {name: sources for name, sources in found.items() if sources} == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f'pip install --upgrade "{NAME}-client[aws]"', True),
        (f"{NAME} @ git+https://git.example/us/it@v1.0.0", True),
        (f"import pulumi\n{NAME}-client[aws]  # signs", True),
        (f'dependencies = [\n    "{NAME}-client",\n]', True),
        (f'"@{NAME}/{NAME}": "file:sdks/x"', True),
        (f"require github.com/{NAME}/pulumi-{NAME}/sdk/go v1.0.0", True),
        (f"https://pypi.org/project/{NAME}/", True),
        (f'pip install "{NAME}-client[aws] @ <URL of your checkout>#subdirectory=client"', False),
        (f"pulumi plugin install resource {NAME} --file", False),
    ],
)
def test_a_source_that_is_not_owned_is_found(text: str, found: bool) -> None:
    assert bool(fetched(text)) == found


def install_template(checkout: str | None) -> "subprocess.CompletedProcess[str]":
    """Run pip as Pulumi does for a project of the template, without dependencies, and install nothing."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--dry-run", "--no-deps"]
    options = ["--no-build-isolation", "--index-url", "http://127.0.0.1:9/", "--retries", "0"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "GLOBAL_"))}
    environment |= {} if checkout is None else {"GLOBAL_INTEGERS_CHECKOUT": checkout}
    command = [*pip, *options, "-r", str(ROOT / "examples" / "template" / "requirements.txt")]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


@pytest.mark.long
@pytest.mark.parametrize("checkout", [None, NAME, "/no/such/checkout"])
def test_without_a_checkout_the_template_installs_nothing(checkout: str | None) -> None:
    refused = install_template(checkout)

    assert refused.returncode == 1
    assert "set-GLOBAL_INTEGERS_CHECKOUT-to-the-URL-of-your-checkout" in refused.stdout + refused.stderr
    assert "No matching distribution" not in refused.stderr, "an index was asked for the name"


@pytest.mark.slow
def test_the_template_installs_what_is_in_the_checkout() -> None:
    installed = install_template(ROOT.as_uri())

    assert f"Would install {NAME}-" in installed.stdout, installed.stderr
