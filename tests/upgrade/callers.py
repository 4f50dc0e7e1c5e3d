"""Callers of everything that a deployment offers, by plain HTTP and by the client's programs, while it is upgraded."""

import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from pathlib import Path
from threading import Condition, Event, Thread
from typing import Any
from uuid import uuid4

import httpx

from local.domain.zone import HTTP_API_FAILED
from tests.local.machine import HANGING, integers_of

PROGRAM = Path(__file__).with_name("client_program.py")

PAUSE = 0.05
"""Seconds between two requests of a caller, who shares the machine with the functions and the deployment."""


@dataclass(frozen=True)
class Request:
    """What a caller asks for."""

    title: str
    method: str
    path: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    key: str = ""
    """Its `Idempotency-Key`. With `new`, each one is sent twice."""


AT_A_FUNCTION = (
    Request("an integer", "GET"),
    Request("an integer of orders", "POST", "orders"),
    Request("a block", "POST", "?count=3"),
    Request("a block in short form", "GET", "orders?count=3", {"Accept": "application/vnd.global-integers.block+json"}),
    Request("a large block", "POST", "?count=1001"),
    Request("plain text", "GET", "orders?count=2", {"Accept": "text/plain"}),
    Request("a new key", "POST", "orders", key="new"),
    Request("a new key of a block", "POST", "?count=3", key="new"),
    Request("a key from before", "POST", "", key="before"),
    Request("a key of a block from before", "POST", "orders?count=5", key="block-before"),
    Request("a key with another count", "POST", "orders?count=6", key="block-before"),
    Request("the page", "GET", "", {"Accept": "text/html"}),
    Request("an owner", "GET", "integers/1"),
    Request("an existing counter", "PUT", "orders"),
    Request("the counters", "GET", "-/counters"),
    Request("health", "GET", "-/health"),
    Request("status", "GET", "-/status?counter=orders"),
    Request("an unknown counter", "GET", "nobody-made-it"),
    Request("a wrong count", "GET", "?count=0"),
    Request("a wrong method", "DELETE", "orders"),
)

AT_API_GATEWAY = (
    Request("an integer", "GET"),
    Request("an integer of orders", "POST", "orders"),
    Request("an integer by systemKey", "GET", "counter?systemKey=orders"),
    Request("an unknown counter", "POST", "nobody-made-it"),
    Request("a wrong count", "POST", "?count=2"),
)


@dataclass(frozen=True)
class Place:
    """Where a caller sends its requests."""

    title: str
    url: str
    requests: Sequence[Request]
    host: str = ""
    """The header `Host`, if it isn't the URL's."""

    def send(self, client: httpx.Client, request: Request, key: str) -> httpx.Response:
        """Return the response, whatever its status is."""
        headers = {**request.headers, **({"Host": self.host} if self.host else {})}
        headers |= {"Idempotency-Key": key} if key else {}
        return client.request(request.method, self.url + request.path, headers=headers)

    def full(self, response: httpx.Response) -> bool:
        """Return whether there was no place for the request: on a small machine no error, and nothing was minted.

        It is 429, for which the domain's API sends a response of its own.
        """
        of_domain = bool(self.host) and response.content == HTTP_API_FAILED.body
        return of_domain or response.status_code == HTTPStatus.TOO_MANY_REQUESTS


def places(outputs: Mapping[str, Any]) -> list[Place]:
    """Return every way to call a deployment with Function URLs, API Gateway and a domain."""
    domain, gateway = (outputs[name].removeprefix("https://").strip("/") for name in ("domainUrl", "domainGatewayUrl"))
    here, home = outputs["localDomainUrl"], outputs["regions"][0]
    return [
        *(Place(f"urls.{region}", url, AT_A_FUNCTION) for region, url in outputs["urls"].items()),
        *(Place(f"gatewayUrls.{region}", url, AT_API_GATEWAY) for region, url in outputs["gatewayUrls"].items()),
        Place(f"{home}.{domain}", here, AT_A_FUNCTION, f"{home}.{domain}"),
        Place(gateway, here, AT_API_GATEWAY, gateway),
    ]


class History:
    """What all callers got, and what no caller may get after it."""

    def __init__(self) -> None:
        self.minted: dict[str, list[int]] = defaultdict(list)
        """By counter."""
        self.failed: list[str] = []
        self._shapes: dict[str, tuple[int, str, set[str]]] = {}
        self._last: dict[tuple[str, str], int] = {}
        self._by_key: dict[tuple[str, str], list[int]] = {}

    def check(self, place: Place, request: Request, key: str, response: httpx.Response) -> None:
        """Take note of a response, or raise `AssertionError`: a caller couldn't use it."""
        media_type = response.headers["content-type"]
        document: Any = response.json() if media_type.endswith("json") else {}
        shape = (response.status_code, media_type, {*document})
        was = self._shapes.setdefault(f"{request.title} at {place.title}", shape)
        assert shape[:2] == was[:2], f"answered {was[:2]} before, and now {shape[:2]}: {response.text[:500]}"
        assert shape[2] >= was[2], f"lacks {was[2] - shape[2]} now: {response.text[:500]}"
        if media_type.startswith("text/plain"):
            integers = [int(line) for line in response.text.split()]
        elif "integer" in document and "owner" not in request.title:
            integers = [document["integer"]]
        else:
            integers = integers_of(document) if {"integers", "first"} & {*document} else []
        if not integers:
            return
        counter = "orders" if "orders" in request.path else "integers"
        if first := self._by_key.get((place.title, key)) if key else None:
            assert integers == first, f"the key {key} got {first} before, and now {integers}"
            assert response.headers.get("idempotency-replayed") == "true", "it isn't marked as replayed"
            return
        last = self._last.get((place.title, counter), 0)
        assert integers[0] > last, f"minted {integers[0]} after {last}"
        self._last[place.title, counter] = integers[-1]
        self.minted[counter] += integers
        if key:
            self._by_key[place.title, key] = integers


class Callers:
    """Callers of a deployment, which call until the end."""

    def __init__(self, history: History, outputs: Mapping[str, Any], folder: Path, clients: Mapping[str, Path]) -> None:
        """`clients` are folders to import the client from, by what failures call them."""
        self._history = history
        self._stop, self._changed = Event(), Condition()
        self._file = folder / "outputs.json"
        self._file.write_text(json.dumps(outputs))
        callers = {place.title: partial(self._http, place) for place in places(outputs)}
        callers |= {title: partial(self._client, path) for title, path in clients.items()}
        self._rounds = Counter(dict.fromkeys(callers, 0))
        self._threads = [Thread(target=self._called, args=caller) for caller in callers.items()]
        for thread in self._threads:
            thread.start()

    def _called(self, title: str, run: Callable[[], Iterator[None]]) -> None:
        """Let a caller call until the end; it yields after each round."""
        try:
            for _ in run():
                with self._changed:
                    self._rounds[title] += 1
                    self._changed.notify_all()
        except Exception as error:
            with self._changed:
                self._history.failed.append(f"{title}: {error}")
                self._changed.notify_all()

    def _http(self, place: Place) -> Iterator[None]:
        with httpx.Client(timeout=HANGING, trust_env=False) as client:
            while not self._stop.is_set():
                for request in place.requests:
                    key = request.key and f"{request.key}-{uuid4() if request.key == 'new' else place.title}"
                    for _ in range(2 if request.key == "new" else 1):
                        try:
                            while place.full(response := place.send(client, request, key)):
                                if self._stop.wait(0.1):
                                    return
                            self._history.check(place, request, key, response)
                        except Exception as error:
                            what = f"{request.title} ({request.method} /{request.path})"
                            raise RuntimeError(f"{what}: {str(error) or repr(error)}") from error
                        self._stop.wait(PAUSE)
                yield

    def _client(self, package: Path) -> Iterator[None]:
        with subprocess.Popen(
            [sys.executable, str(PROGRAM), str(self._file)],
            env={"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as program:
            for line in program.stdout or ():
                for counter, integers in json.loads(line).items():
                    self._history.minted[counter] += integers
                yield
                if self._stop.is_set() and program.stdin:
                    program.stdin.close()
            said = program.stderr.read() if program.stderr else ""
        if program.returncode:
            raise RuntimeError(said)

    def wait_for_rounds(self, more: int = 2) -> None:
        """Wait until every caller has done some more, or one of them has failed."""
        with self._changed:
            wanted = {title: rounds + more for title, rounds in self._rounds.items()}

            def done() -> bool:
                return bool(self._history.failed) or all(self._rounds[title] >= wanted[title] for title in wanted)

            assert self._changed.wait_for(done, HANGING), self._rounds

    def end(self) -> None:
        """Stop all callers once their round is over."""
        self._stop.set()
        for thread in self._threads:
            thread.join()


@contextmanager
def calling(history: History, outputs: Mapping[str, Any], folder: Path, clients: Mapping[str, Path]) -> Generator[None]:
    """Let callers call. An error names those that have failed by then."""
    callers = Callers(history, outputs, folder, clients)
    try:
        callers.wait_for_rounds()
        yield
        callers.wait_for_rounds()
    except BaseException as error:
        error.add_note("\n".join(["callers that failed:", *history.failed]))
        raise
    finally:
        callers.end()
