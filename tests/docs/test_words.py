"""One word for one thing: no retired word in names, on the wire, on AWS, in settings, outputs and the docs' code font.

Prose isn't checked. What a word means is in docs/glossary.md.
"""

import ast
import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from subprocess import run
from typing import Any
from unittest.mock import Mock

import pytest
import yaml
from coordinate import events
from coordinate.dynamodb.encoding import attributes_of, item_values
from coordinate.dynamodb.run_lock import RunLock
from coordinate.protocol.model import Claim, Copy, Item
from coordinate.protocol.reconcile import Outcome
from coordinate.protocol.run import RunResult, reply
from coordinate.protocol.scan import TablesScan
from mint.grants import _may_ask as may_ask
from mint.model import Block
from mint.receipts import Receipts

from components.global_integers import GlobalIntegers
from components.settings.args import SETTINGS
from global_integers_core.lattice import Layout
from global_integers_core.names import camel
from global_integers_core.records import Recorded
from local.paths import ROOT
from proof.simulation.world import RECORDED
from tests.docs.pages import page
from tests.lambda_.coordinate.sample_records import record, register

RETIRED = {
    "wish": "desired state",
    "wished": "desired",
    "wishes": "desired states",
    "settle": "reconcile",
    "settled": "reconciled",
    "settles": "reconciles",
    "unsettled": "unreconciled",
    "address": "domain, unless it is an IP or an e-mail address",
    "addresses": "domains, unless they are IP or e-mail addresses",
    "door": "URL, or domain",
    "doors": "URLs",
    "front": "URL, or domain",
    "fronts": "URLs",
    "watch": "schedule",
    "watched": "scheduled run, or metric",
    "watches": "schedules",
    "watching": "schedule",
    "away": "unreachable",
    "ill": "alarm, or unhealthy",
    "well": "ok, or healthy",
    "placed": "put",
}
"""A word of a name → what takes its place."""

EMPTY = frozenset({"AHEAD", "Again", "Each", "Known", "Looked", "given", "kept", "looked", "stands", "told", "ways"})
"""Whole names that don't say what is inside."""

MODULES = frozenset({"asking", "laying_out", "losing", "made_up", "paces", "shapes", "stopped", "ways"})
"""The same, of modules."""

TERMS = re.compile(r"(ip|e?mail|server|local|socket|each)_?address(es)?|cloud_?watch|well_formed", re.IGNORECASE)
"""Terms of others, of which a retired word is a part."""

MEANT = {
    "client/src/global_integers/minting/transport.py": {"_addresses", "addresses", "address"},  # of a host, by DNS
    "client/src/global_integers/minting/forks.py": {"address", "addressof"},  # in memory
    "lambda/aws_client/connection.py": {"address"},
    "lambda/aws_client/signed_request.py": {"address"},
    "tests/client/test_deadline.py": {"ADDRESSES", "address"},
    "local/resources/__init__.py": {"Address"},  # AWS Budgets'
    "tests/lambda_/aws_client/test_connection.py": {"address"},
}
"""File → names in it that mean what they say."""

FILES = run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()


def words(name: str) -> set[str]:
    """Return the words of a name, in lower case: of `snake_case`, `camelCase` and `kebab-case`."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", TERMS.sub("", name))}


def retired(names: Iterable[str]) -> list[str]:
    """Return the names that have a retired word, with what takes its place."""
    return [f"{name}: {RETIRED[word]}" for name in sorted(set(names)) for word in sorted(words(name) & RETIRED.keys())]


def names_in(program: Path) -> tuple[set[str], set[str]]:
    """Return the names of what a program defines; and all others in it, with strings that could be names, like keys."""
    defined, used = set[str](), set[str]()
    for node in ast.walk(ast.parse(program.read_text())):
        defines = isinstance(node, ast.arg | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        found = defined if defines or isinstance(getattr(node, "ctx", None), ast.Store) else used
        for field in ("id", "attr", "arg", "asname", "value", "" if isinstance(node, ast.alias) else "name"):
            name = getattr(node, field, None)
            if isinstance(name, str) and re.fullmatch(r"[A-Za-z_][\w/.-]*", name):
                found.add(name)
    return defined, used


def names_in_source(text: str) -> list[str]:
    """Return the identifiers of JavaScript, TypeScript, Go, Java or CSS, also in HTML, without comments and strings."""
    parts = re.findall(r"<(?:script|style)[^>]*>(.*?)</", text, re.DOTALL) if "<html" in text else [text]
    code = re.sub(r"/\*.*?\*/|//[^\n]*|\"[^\"\n]*\"|'[^'\n]*'|`[^`]*`", " ", "\n".join(parts), flags=re.DOTALL)
    return [*re.findall(r"[A-Za-z_][\w-]*", code), *re.findall(r"(?:class|id|name)=\"([\w -]+)\"", text)]


def keys_in(text: str) -> list[str]:
    """Return the keys of YAML, TOML, JSON or a Makefile."""
    return re.findall(r"^[ \t-]*\"?([\w.:/-]+)\"?[ \t]*[:=]", text, re.MULTILINE)


def names_in_code_font(page: str) -> list[str]:
    """Return what Markdown has in code font and in blocks of code, without comments and quoted sentences."""
    blocks = re.findall(r"^```.*?\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL))
    code = [re.sub(r"\s#.*|\"[^\"\n]* [^\"\n]*\"", "", line) for block in blocks for line in block.splitlines()]
    return [name for line in (*code, *spans) for name in re.findall(r"[\w./-]+", line)]


READERS: Mapping[str, Callable[[str], list[str]]] = {
    **dict.fromkeys((".html", ".ts", ".go", ".java"), names_in_source),
    **dict.fromkeys((".yaml", ".yml", ".toml", ".json", ".xml"), keys_in),
    ".md": names_in_code_font,
}


@pytest.mark.slow
def test_no_file_and_no_program_has_a_retired_name() -> None:
    found: dict[str, list[str]] = {}
    for name in FILES:
        path, wrong = ROOT / name, retired([name])
        if path == Path(__file__) or name == "CHANGELOG.md":
            continue
        if path.suffix == ".py":
            defined, used = names_in(path)
            wrong += retired((defined | used) - MEANT.get(name, set()))
            wrong += EMPTY & {each.strip("_") for each in defined}
            wrong += MODULES & {path.stem.removeprefix("test_")}
        elif path.suffix in READERS:
            wrong += retired(READERS[path.suffix](path.read_text()))
        if wrong:
            found[name] = wrong

    assert len(FILES) > 300
    assert found == {}


def written(write: Callable[[Any], object]) -> dict[str, Any]:
    """Return the item that is written."""
    dynamodb = Mock()
    dynamodb.call.return_value = {}
    write(dynamodb)
    return dynamodb.call.call_args.args[1]["Item"]


STORED: Mapping[str, Any] = {
    "deployment record": attributes_of(record("a")),
    "admitted": attributes_of(record("a").admitted),
    "claim": attributes_of(Claim("a", 1, "run", ("a",), ("id",))),
    "register": attributes_of(register("a", lately=1, preceding=1, lost="loss")),
    "copy": attributes_of(Copy(register("a"), "mirror 1")),
    "item": item_values(Item(1, 1, 1, 2, fenced=True, held="token", past=(1, 1))),
    "layouts": {"receipt": {}, **RECORDED.encode(Recorded((Layout(1, 1, ("a",)),), {0: 1}))},
    "receipt": written(lambda dynamodb: Receipts("receipts", 3600, dynamodb).keep("a key", Block(1, 3, 1))),
    "asked": written(lambda dynamodb: may_ask(dynamodb, "receipts", "/asked", "/asked/orders", 1_795_000_000, 1)),
    "run lock": written(lambda dynamodb: RunLock(dynamodb, "layouts", "a run").take(over=True)),
}
"""What the tables have → its attributes."""


def replies() -> dict[str, Any]:
    """Return all that the coordinator may reply."""
    outcome = Outcome(register("a", "b"), ("b",), created=True)
    scan = TablesScan(stray={"y": ("a",)})
    done = reply(RunResult(outcomes={"c": outcome}, reported=("c",), scan=scan, unfinished=1))
    of_releases = ("checked", "released", "unmoved", "paused", "back", "stay", "reason")
    without_run = dict.fromkeys((*of_releases, "position", "perSecond", "unreachable", "next"), "a")
    return {**done, **reply(RunResult(skipped="another run")), **reply(RunResult(to_delete=("c",))), **without_run}


def wire() -> set[str]:
    """Return the attributes in tables and in the coordinator's events and replies, without names of counters."""
    stored = {key for attributes in STORED.values() for key in attributes}
    sent = {*events.KEYS, *events.CHECK_KEYS, *events.DESIRED_KEYS}
    found = replies()
    of_counter = {*next(iter(found["counters"].values()))}
    of_region = {*next(iter(found["counters"]["c"]["regions"].values()))}
    return {re.sub(r"_\d+$", "_<epoch>", key) for key in stored | sent | found.keys() | of_counter | of_region}


def explained(name: str) -> set[str]:
    """Return what a page has in code font in the first column of its tables."""
    cells = re.findall(r"^\| (`[^|]+`) \|", page(name), re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_the_glossary_explains_all_that_is_on_the_wire() -> None:
    assert wire() == explained("glossary.md")


def test_settings_outputs_and_responses_are_on_their_pages() -> None:
    settings = {camel(name) for name in SETTINGS} - {"home", "prefix"}
    outputs = {camel(name) for name in GlobalIntegers.__annotations__}
    assert explained("settings.md") == settings | outputs | {"localDomainUrl"}
    code = re.findall(r"^```.*?^```|`[^`\n]+`", page("api.md"), re.MULTILINE | re.DOTALL)
    described: set[str] = set()

    def note(part: dict[str, Any]) -> dict[str, Any]:
        described.update(part.get("properties", ()))
        return part

    json.loads(json.dumps(yaml.safe_load(page("openapi.yaml"))), object_hook=note)
    assert {word for part in code for word in re.findall(r"\w+", part)} >= described
