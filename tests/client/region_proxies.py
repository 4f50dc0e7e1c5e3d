"""Proxies to the local server's regions, whose responses a test can delay or spoil, and names that lead to them."""

import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx
from global_integers.testing import Region

from proof.faulty_server import HOP, PATIENCE, Fault, Handler, Reply, Request, Response, Server, forward

Failure = Literal[
    "cut",
    "cut after",
    "ends early",
    "drips",
    "hang",
    "500",
    "503",
    "429",
    "404",
    "410",
    "403",
    "rubbish",
    "redirect",
    "large",
]

HANG = PATIENCE
"""Seconds after which a test gives up: ten times what a machine with several busy processes on each core needs."""

PATIENT: dict[str, Any] = {"timeout": HANG, "attempt_timeout": HANG / 2}
"""Options of a client in a test in which no time-out matters, however busy the machine is."""

HOST = "integers.example.com"
DOMAIN_URL = f"https://{HOST}/"


def _problem(status: int) -> Response:
    return Response(status, b'{"detail": "as the test says"}', {"Content-Type": "application/problem+json"})


REPLIES: dict[Failure, Reply] = {
    "500": _problem(500),
    "503": _problem(503),
    "ends early": b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{"counter": "int',
    "429": Response(429, b'{"Reason": "ReservedFunctionConcurrentInvocationLimitExceeded"}', {"Retry-After": "0"}),
    "404": _problem(404),
    "410": _problem(410),
    "403": _problem(403),
    "rubbish": Response(200, b"<h1>Welcome to the hotel's network</h1>", {"Content-Type": "text/html"}),
    "redirect": Response(302, b"", {"Location": "https://login.invalid/"}),
    "large": Response(200, b"[" + b"1," * 600_000 + b"1]", {"Content-Type": "application/json"}),
}
FAULTS: dict[Failure, Fault] = {
    "cut": Fault(end="close"),
    "cut after": Fault(carried_out=True, end="close"),
    "drips": Fault(replies=(b"HTTP/1.1 200 OK\r\n",), drip=b"X: y\r\n", every=0.1),
    "hang": Fault(hold=True, end="close"),
    **{name: Fault(replies=(reply,), end="close" if name == "ends early" else "") for name, reply in REPLIES.items()},
}


def to_mint(request: Request) -> bool:
    return request.method == "POST"


def to_check(request: Request) -> bool:
    return request.path == "/-/health"


CHECKS_HELD = Fault(matches=to_check, hold=True)


def forwarded_to(url: str) -> Handler:
    """Return what forwards requests to a region."""
    return lambda request: forward(url, request, host=urlsplit(url).netloc)


def answered_by(region: Region) -> Handler:
    """Return what lets a region in memory answer."""

    async def answer(request: Request) -> Response:
        url = region.url + request.path.removeprefix("/")
        answered = region.answer(httpx.Request(request.method, url, headers=dict(request.headers)))
        headers = {name: value for name, value in answered.headers.items() if name not in HOP}
        return Response(answered.status_code, answered.content, headers)

    return answer


class RegionProxy(Server):
    """A server on 127.0.0.1 before one region, which answers unless a fault is set."""

    def __init__(self, region: Handler) -> None:
        super().__init__(region)

    @property
    def mints(self) -> int:
        """How many requests to mint have arrived."""
        return sum(map(to_mint, tuple(self.requests)))

    @property
    def checks(self) -> int:
        """How many health checks have arrived."""
        return sum(map(to_check, tuple(self.requests)))

    def fail(self, failure: Failure) -> None:
        """Fail in this way from now on, and in no other."""
        self.faults[:] = [FAULTS[failure]]

    def hang_once(self) -> None:
        """Let the next request to mint hang until `recover`, and no other."""
        self.faults[:] = [replace(FAULTS["hang"], matches=to_mint, times=1)]

    def edit(self, edit: Callable[[bytes], bytes]) -> None:
        """Change the bodies of responses."""
        self.faults.append(Fault(carried_out=True, edit=lambda response: replace(response, body=edit(response.body))))

    def hold_checks(self) -> None:
        """Let health checks wait."""
        self.faults.append(CHECKS_HELD)

    def release_checks(self, delay: float = 0) -> None:
        """Let health checks go on after so many seconds."""
        self.faults[:] = [Fault(matches=to_check, delay=(delay, delay))]

    def recover(self) -> None:
        """End the faults, also for the requests that hang."""
        self.faults.clear()


@contextmanager
def proxies_to(regions: Mapping[str, Handler]) -> Generator[dict[str, RegionProxy]]:
    """Yield a server before each region, in the same order."""
    with ExitStack() as stack:
        yield {region: stack.enter_context(RegionProxy(answers)) for region, answers in regions.items()}


class Names:
    """Which proxy each host name of a domain leads to. A test may change `hosts`; names that don't exist fail."""

    def __init__(self, proxies: Mapping[str, RegionProxy]) -> None:
        self.hosts = {f"{region}.{HOST}": proxy.url for region, proxy in proxies.items()}
        self.hosts[HOST] = next(iter(self.hosts.values()))
        self.asked: list[tuple[str, str]] = []
        """Host and path of each request, also of those whose host doesn't exist."""
        self._arrived = threading.Condition()

    def lead(self, request: httpx.Request) -> None:
        """Send the request to the proxy of its host name.

        Raises:
            httpx.ConnectError: there is no such name.
        """
        host = request.url.host
        with self._arrived:
            self.asked.append((host, request.url.raw_path.decode()))
            self._arrived.notify_all()
        if host not in self.hosts:
            raise httpx.ConnectError("Name or service not known", request=request)
        target = httpx.URL(self.hosts[host])
        request.url = request.url.copy_with(scheme="http", host=target.host, port=target.port)

    def paths(self, host: str) -> list[str]:
        """Return the paths that a host was asked for, except health checks."""
        return [path for asked, path in self.asked if asked == host and path != "/-/health"]

    def until(self, enough: Callable[[], bool]) -> None:
        """Wait until enough was asked."""
        with self._arrived:
            assert self._arrived.wait_for(enough, HANG)

    def client(self) -> httpx.Client:
        """Return an HTTP client for threads."""
        return httpx.Client(event_hooks={"request": [self.lead]})

    def async_client(self) -> httpx.AsyncClient:
        """Return an HTTP client for tasks."""

        async def lead(request: httpx.Request) -> None:
            self.lead(request)

        return httpx.AsyncClient(event_hooks={"request": [lead]})
