"""The package for TypeScript: what only it has, its types, and its use as a service, in a page and in tests."""

import json
import re
import subprocess
import tarfile
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from components.plugin.__main__ import SDK_NAMES
from local.paths import ROOT
from proof.faulty_server import Request, Response, Server
from tests.client.callers import NODE
from tests.client.region_proxies import HANG
from tests.local.browser import browser
from tests.local.machine import Machine, up
from tools.release import TSC, VERSION, typescript
from tools.typescript import TITLES

HERE = ROOT / "tests" / "client" / "typescript"
PACKAGE: dict[str, Any] = json.loads((ROOT / "client" / "typescript" / "package.json").read_text())
NAME: str = PACKAGE["name"]

CONSUMER = f"""
import {{ Integers, Unavailable, type Credentials, type Event }} from "{NAME}";
import {{ Stack }} from "{NAME}/testing";

const events: Event[] = [];
const stack = new Stack();
const integers: Integers = stack.integers({{ lease: 1000, observer: (event) => events.push(event) }});
const one: number = await integers.next();
stack.regions[0]!.fail("timeout");
const many: number[] = await integers.counter("orders").take(2);
for await (const integer of integers.take(1)) console.log(one, many, integer satisfies number, Unavailable.name);
const credentials = async (): Promise<Credentials> => ({{ accessKeyId: "a", secretAccessKey: "b" }});
Integers.fromOutputs({{ "eu-west-1": "https://a.lambda-url.eu-west-1.on.aws/" }}, {{ credentials }});
// @ts-expect-error: there is no such option
integers.next({{ kee: "x" }}).catch((error: Error) => console.log(error.message));
"""


def run(*arguments: str | Path, cwd: Path = ROOT) -> str:
    """Run Node.js. Returns what it prints."""
    done = subprocess.run([NODE, *arguments], cwd=cwd, capture_output=True, text=True, timeout=HANG)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_what_only_this_client_has() -> None:
    assert re.search(r"^# pass [1-9]", run("--test", "--test-reporter=tap", HERE / "client.test.mts"), re.MULTILINE)


def test_nobody_can_publish_the_packages_name() -> None:
    """Npm accepts no new name with capital letters. The plugin's SDK has another one."""
    assert NAME.lower() != NAME
    assert SDK_NAMES["nodejs"]["packageName"] != NAME
    assert PACKAGE["version"] == VERSION
    assert {"dependencies", "peerDependencies", "scripts", "bin"} & PACKAGE.keys() == set()


def test_the_reference_has_what_programs_import() -> None:
    index = (ROOT / "client" / "typescript" / "src" / "index.ts").read_text()
    exported = {
        name for names in re.findall(r"export (?:type )?\{([^}]*)\}", index) for name in re.findall(r"\w+", names)
    }

    assert exported == {*" ".join(TITLES.values()).split()} - {*TITLES["Tests"].split()}
    assert "Integers" in exported


@pytest.mark.long
def test_the_types_are_right() -> None:
    assert run(TSC, "-p", HERE) == ""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in whose `node_modules` the built package is."""
    folder = tmp_path_factory.mktemp("installed")
    with tarfile.open(typescript(folder)) as archive:
        archive.extractall(folder, filter="data")
    (folder / "node_modules").mkdir()
    (folder / "package").rename(folder / "node_modules" / NAME)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "use.ts").write_text(CONSUMER)
    return folder


@pytest.mark.long
@pytest.mark.parametrize(("module", "resolution"), [("nodenext", "nodenext"), ("esnext", "bundler")])
def test_a_program_uses_the_built_package(installed: Path, module: str, resolution: str) -> None:
    libraries = "es2022,dom,dom.iterable,dom.asynciterable"
    how = ["--strict", "--noEmit", "--target", "es2022", "--lib", libraries]
    assert run(TSC, *how, "--module", module, "--moduleResolution", resolution, "use.ts", cwd=installed) == ""

    printed = run("use.ts", cwd=installed).splitlines()
    assert printed[0].startswith("1 [ 2, 5 ] 2 Unavailable")
    assert printed[1] == "there is no option 'kee'; there is key, keyFailover, signal"


@pytest.fixture
def page(installed: Path) -> Generator[str]:
    """The URL of a page beside the package's files."""

    async def serve(request: Request) -> Response:
        if request.path == "/":
            return Response(200, b"<!doctype html><title>A page</title>", {"Content-Type": "text/html"})
        file = installed / "node_modules" / NAME / "dist" / request.path.removeprefix("/")
        return Response(200, file.read_bytes(), {"Content-Type": "text/javascript"}) if file.exists() else Response(404)

    with Server(serve) as server:
        yield server.url


@pytest.mark.long
@pytest.mark.needs("chromium")
def test_a_page_mints_from_a_stack_with_its_origin(fresh: Machine, page: str) -> None:
    urls = up(fresh, settings=(f'corsOrigins=["{page}"]',)).outputs()["urls"]
    mint = """async ([urls]) => {
        const { Integers } = await import("/index.js");
        const integers = new Integers(urls, { prefer: "eu-west-1", lease: 100 });
        const keyed = [await integers.next({ key: "page-1" }), await integers.next({ key: "page-1" })];
        const minted = [await integers.next(), ...(await integers.take(2))];
        return [minted, keyed, await integers.counter("nothing").next().catch((error) => error.name)];
    }"""
    with browser() as chromium:
        shown = chromium.new_page()
        shown.goto(page)
        minted, keyed, failed = shown.evaluate(mint, [urls])

    assert [integer % 3 for integer in minted] == [2, 2, 2]
    assert len({*minted, *keyed}) == 4
    assert failed == "UnknownCounter"


class Service:
    """A service in Node.js that mints all the time."""

    def __init__(self, outputs: dict[str, Any]) -> None:
        environment = {"OUTPUTS": json.dumps(outputs), "TIMEOUT": f"{HANG:.0f}"}
        self._process: Any = subprocess.Popen(
            [NODE, HERE / "service.mts"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def goes_on(self) -> None:
        """Wait until 2,000 more are minted."""
        before = int(self._process.stdout.readline())
        while int(self._process.stdout.readline()) < before + 2000:
            pass

    def end(self) -> dict[str, Any]:
        """Return what was minted, and all errors."""
        out, _ = self._process.communicate(timeout=HANG)
        return json.loads(out.splitlines()[-1])


@pytest.mark.long
@pytest.mark.server
def test_200_callers_get_no_error_and_no_duplicate_whatever_fails(fresh: Machine) -> None:
    settings = ('counters=["integers", "orders"]',)
    service = Service(up(fresh, settings=settings).outputs())
    happens: list[Callable[[], object]] = [
        lambda: fresh.run("lose", "eu-west-1"),
        lambda: up(fresh, settings=settings),
        lambda: up(fresh, "us-east-1", "ap-southeast-2", settings=settings),
        fresh.kill,
        lambda: up(fresh, "us-east-1", "ap-southeast-2", settings=settings),
    ]
    service.goes_on()
    for event in happens:
        event()
        if event is not fresh.kill:
            service.goes_on()
    ended = service.end()

    assert ended["errors"] == []
    assert len({*ended["minted"]}) == len(ended["minted"])
