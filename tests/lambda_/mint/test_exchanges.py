"""Requests and responses, as `exchanges/*.txt` have them: of a Function URL's events, and the same of a REST API's.

`WRITE_EXCHANGES=1 pytest -n0` on this file writes what the function responds. Then read the difference.

A line is a request and its response, or a method of `Exchange` with its arguments. A response is shown as its status,
the headers that not every response of its kind has, and what its body says: of a page, what a reader sees.
"""

import json
import os
import re
from collections.abc import Callable
from html import unescape
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import yaml
from coordinate.protocol.model import Item
from mint.api.pages import colour_of

from local.paths import ROOT
from tests.lambda_.coordinator_calls import deploy, put_item, scheduled_run, send
from tests.lambda_.fixtures import COORDINATOR, HOME, Sent, Stack, forget, response_in, rest_event, url_event
from tests.lambda_.table_losses import recreate

CASES = [
    (file, *section.split("\n", 1))
    for file in sorted((Path(__file__).parent / "exchanges").glob("*.txt"))
    for section in file.read_text().split("\n## ")[1:]
]
DOCUMENT: dict[str, Any] = yaml.safe_load((ROOT / "docs" / "openapi.yaml").read_text())
OF_PAGES = {"Vary", "Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy", "Strict-Transport-Security"}


@pytest.mark.parametrize("make", [url_event, rest_event])
@pytest.mark.parametrize(("file", "title", "lines"), CASES, ids=[f"{file.stem}, {title}" for file, title, _ in CASES])
def test_an_exchange(stack: Stack, sent: Sent, make: Callable[..., Any], file: Path, title: str, lines: str) -> None:
    exchange = Exchange(stack, make, sent)
    played = "\n".join(map(exchange.played, lines.split("\n")))

    if "WRITE_EXCHANGES" in os.environ:
        file.write_text(file.read_text().replace(f"## {title}\n{lines}", f"## {title}\n{played}"))
    assert played == lines


class Exchange:
    """A region's function. It sends the coordinator events, which nothing carries out before `grant`."""

    def __init__(self, stack: Stack, make: Callable[..., dict[str, Any]], sent: Sent) -> None:
        self.stack, self.make, self.sent = stack, make, sent
        self.region, self.event, self.is_warm, self.records = HOME, "get", False, dict[str, Any]()
        self.clock(0)

    def played(self, line: str) -> str:
        asked = line.partition(" -> ")[0]
        timed = re.fullmatch(r"(?:\[(.*) s\] )?([A-Z]+ .*)", asked)
        word, *words = asked.split(" ")
        if timed:
            before = len(self.sent)
            self.clock(float(timed[1] or 0))
            response = self.response(timed[2])
            assert all(function == COORDINATOR for function, _ in self.sent)
            events = [f"[sends {json.dumps(event)}]" for _, event in self.sent[before:]]
            return " ".join([f"{asked} -> {response}", *events])
        if word and word != "#":
            getattr(self, word)(*words)
        return line

    def response(self, asked: str) -> str:
        request, *headers = asked.split(" | ")
        method, target = request.split(" ")
        path, _, query = target.partition("?")
        names = dict(header.split(": ") for header in headers)
        before = self.items()
        get, head = (self.make(way, path, query, self.event, **names) for way in (method, "HEAD"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.stack.aws, "answer", check_consistent)
            response = response_in(self.stack, self.region, get, warm=self.is_warm)
        html = response["headers"]["Content-Type"] == "text/html; charset=utf-8"
        if self.is_warm:
            pass  # it may have to write to find out
        elif html or method not in ("GET", "POST") or path.strip("/").count("/") or response["statusCode"] != 200:
            assert self.items() == before, "it minted something"
        if method == "GET" and path.strip("/").count("/"):
            assert response_in(self.stack, self.region, head, warm=self.is_warm) == {**response, "body": ""}
        assert response.pop("isBase64Encoded") is False
        sent = {*response["headers"]} - {"Content-Type", *(OF_PAGES if html else ())}
        sent |= {"Vary"} if html and response["statusCode"] == 200 else set[str]()
        for way in {method, "HEAD"} if method == "GET" and path.strip("/").count("/") else {method}:
            check_documented(way, path.strip("/"), response["statusCode"], sent)
        return self.page(**response) if html else self.document(**response)

    def document(self, statusCode: int, headers: dict[str, str], body: str) -> str:  # noqa: N803
        assert headers.pop("Cache-Control") == "no-store"
        if headers["Content-Type"] == ("application/json" if statusCode < 400 else "application/problem+json"):
            del headers["Content-Type"]
        shown = "".join(f" [{name}: {value}]" for name, value in headers.items() if (name, value) != ("Vary", "Accept"))
        if not body:
            return f"{statusCode}{shown}"
        if statusCode >= 400:
            said = json.loads(body)
            common = [said.pop(name) for name in ("type", "title", "status", "region")]
            assert common == ["about:blank", HTTPStatus(statusCode).phrase, statusCode, self.region]
            body = said.pop("detail") + (f" {json.dumps(said)}" if said else "")
        elif "Content-Type" in headers:
            body = body.replace("\n", "\\n")
        assert ("Vary" in headers) == (statusCode == 200 and not re.match(r'{"(status|counters)":', body))
        return f"{statusCode}{shown} " + (body if len(body) < 600 else f"{body[:99]} … {body[-40:]} ({len(body)})")

    def page(self, statusCode: int, headers: dict[str, str], body: str) -> str:  # noqa: N803
        shown = "".join(f" [{name}: {value}]" for name, value in headers.items() if name == "Retry-After")
        assert headers.keys() - {"Retry-After"} == {"Content-Type", "Cache-Control", *OF_PAGES}
        if found := re.findall(r' id="data">(.*?)</script>', body):
            data = json.loads(found[0])
            shown_regions = {self.region}.union(*(layout["regions"] for layout in data["layouts"]))
            assert data.pop("colours") == {name: colour_of(name) for name in shown_regions}
            return f"{statusCode} page that mints, {json.dumps(data)}"
        text = re.sub('<a href="([^"]*)">(.*?)</a>', r" [\2](\1)", body.partition("</head>")[2])
        text = re.sub("</?(b|bdi)( [^>]*)?>|<small>.*?</small>|<form.*?</form>", "", text, flags=re.DOTALL)
        return f"{statusCode}{shown} page: " + " ".join(unescape(re.sub("<[^>]*>", " ", text)).split())

    def items(self) -> Any:
        found = self.client().scan(TableName=self.stack.counters, ConsistentRead=True)
        return sorted(found["Items"], key=lambda item: item["counter"]["S"])

    def client(self) -> Any:
        return self.stack.aws.client("dynamodb", self.region)

    def deploy(self, *words: str) -> None:
        regions, settings = read(words)
        deploy(*regions, **settings)

    def at(self, region: str) -> None:
        self.region = region

    def put(self, counters: str, *words: str) -> None:
        flags, numbers = read(words)
        held = "a run" if "held" in flags else ""
        for counter in counters.split(","):
            put_item(self.stack, self.region, Item(**numbers, fenced="fenced" in flags, held=held), counter)

    def delete(self, counter: str) -> None:
        self.client().delete_item(TableName=self.stack.counters, Key={"counter": {"S": counter}})

    def set(self, name: str, *value: str) -> None:
        self.stack.monkeypatch.setenv(name, " ".join(value))

    def unset(self, name: str) -> None:
        self.stack.monkeypatch.delenv(name)

    def signed(self, event: str) -> None:
        self.event = event

    def clock(self, seconds: float) -> None:
        for name in ("time", "monotonic"):
            self.stack.monkeypatch.setattr(f"mint.minting.time.{name}", lambda: 1_795_000_000 + seconds)

    def warm(self) -> None:
        forget()
        self.is_warm = True

    def grant(self) -> None:
        """Have the coordinator do what was sent last."""
        send(self.sent[-1][1], invoked=COORDINATOR)

    def schedule(self) -> None:
        scheduled_run()

    def recreate(self, table: str) -> None:
        recreate(self.stack, self.region, table, "receipt")

    def remember(self, region: str) -> None:
        """Remember the layouts on record there."""
        key: Any = {"receipt": {"S": "integers/layouts"}}
        client: Any = self.stack.aws.client("dynamodb", region)
        self.records[region] = client.get_item(TableName=self.stack.receipts, Key=key)["Item"]

    def restore(self, region: str) -> None:
        self.stack.aws.client("dynamodb", region).put_item(TableName=self.stack.receipts, Item=self.records[region])


def check_documented(method: str, path: str, status: int, headers: set[str]) -> None:
    """Check that the headers of a response are those that docs/openapi.yaml names, and all that it requires."""
    paths: dict[str, Any] = DOCUMENT["paths"]
    operations = paths.get(f"/{path}") or paths.get("/{counter}/{integer}" if "/" in path else "/{counter}", {})
    found: Any = operations.get(method.lower(), {"responses": {}})["responses"].get(str(status))
    if found is None:
        assert status in (404, 405), "a path or a method that it doesn't name"
        found = DOCUMENT["components"]["responses"]["Problem"]
        headers = headers - {"Allow"}
    described = resolved(found)["headers"]
    required = {name for name, header in described.items() if resolved(header).get("required")}
    assert required <= headers <= {*described}


def resolved(found: Any) -> Any:
    """Return a part of the document, also if it is only a reference to it."""
    if "$ref" not in found:
        return found
    part: Any = DOCUMENT
    for name in found["$ref"].removeprefix("#/").split("/"):
        part = part[name]
    return part


def check_consistent(_region: str, operation: str, request: dict[str, Any]) -> None:
    """Let DynamoDB answer, unless the answer might be an earlier state."""
    assert operation != "getitem" or request["ConsistentRead"]


def read(words: tuple[str, ...]) -> tuple[list[str], dict[str, Any]]:
    """Return words, and those that are `name=value`, with decoded JSON."""
    named = dict(word.split("=") for word in words if "=" in word)
    return [word for word in words if "=" not in word], {name: json.loads(value) for name, value in named.items()}
