"""Proxies to the local server's regions, whose responses a test can delay or spoil, and names that lead to them."""

import http.client
import socket
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import urlsplit

import httpx

Fault = Literal["none", "cut", "cut after", "hang", "503", "429", "404", "410", "403", "rubbish", "redirect", "large"]

HANG = 120.0
"""Seconds after which a test gives up: ten times what a machine with several busy processes on each core needs."""

PATIENT: dict[str, Any] = {"timeout": HANG, "attempt_timeout": HANG / 2}
"""Options of a client in a test in which no time-out matters, however busy the machine is."""

HOST = "integers.example.com"
DOMAIN_URL = f"https://{HOST}/"


class RegionProxy:
    """A proxy on 127.0.0.1 that forwards requests to one region, unless a fault is set."""

    def __init__(self, target: str) -> None:
        self.target = urlsplit(target)
        self.url = ""
        self.fault: Fault = "none"
        self.requests: list[tuple[str, str]] = []
        """Method and path of each request."""
        self.minting: Callable[[], None] = lambda: None
        """Called with every request to mint, before it is answered."""
        self.edit: Callable[[bytes], bytes] = lambda body: body
        """Returns what becomes of a response's body."""
        self.checkable = threading.Event()
        """Health checks wait for it, then for `delay` seconds."""
        self.checkable.set()
        self.delay = 0.0
        self._arrived = threading.Condition()
        self._recovered = threading.Event()

    @property
    def mints(self) -> int:
        """How many requests to mint have arrived."""
        return sum(method == "POST" for method, _ in self.requests)

    @property
    def checks(self) -> int:
        """How many health checks have arrived."""
        return sum(path == "/-/health" for _, path in self.requests)

    def until(self, enough: Callable[[], bool]) -> None:
        """Wait until enough requests have arrived."""
        with self._arrived:
            assert self._arrived.wait_for(enough, HANG)

    def recover(self) -> None:
        """End the fault, also for the requests that hang."""
        with self._arrived:
            self.fault = "none"
            self._recovered.set()
            self._recovered = threading.Event()

    def arrived(self, method: str, path: str) -> Fault:
        """Note a request, wait as long as the test wants, and return what happens to it."""
        with self._arrived:
            self.requests.append((method, path))
            self._arrived.notify_all()
            fault, recovered = self.fault, self._recovered
        if method == "POST":
            self.minting()
        if path == "/-/health":
            self.checkable.wait(HANG)
            time.sleep(self.delay)
        if fault == "hang":
            recovered.wait(HANG)
        return fault

    def end(self) -> None:
        """Let everything go that waits."""
        self.checkable.set()
        self._recovered.set()


def _handler(proxy: RegionProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def handle(self) -> None:
            with suppress(ConnectionError):  # the caller is gone
                super().handle()

        def handle_one(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            match proxy.arrived(self.command, self.path):
                case "none":
                    self.answer(*forward(proxy, self.command, self.path, self.headers.items(), body))
                case "cut" | "hang":
                    self.close_connection = True
                case "cut after":
                    forward(proxy, self.command, self.path, self.headers.items(), body)
                    self.close_connection = True
                case "rubbish":
                    self.answer(200, {"Content-Type": "text/html"}, b"<h1>Welcome to the hotel's network</h1>")
                case "large":
                    self.answer(200, {"Content-Type": "application/json"}, b"[" + b"1," * 600_000 + b"1]")
                case "redirect":
                    self.answer(302, {"Location": "https://login.invalid/"}, b"")
                case "429":
                    reason = b'{"Reason": "ReservedFunctionConcurrentInvocationLimitExceeded"}'
                    self.answer(429, {"Retry-After": "0"}, reason)
                case status:
                    problem = {"Content-Type": "application/problem+json"}
                    self.answer(int(status), problem, b'{"detail": "as the test says"}')

        do_GET = do_POST = do_PUT = handle_one  # noqa: N815 (as http.server has it)

        def answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            with suppress(ConnectionError):  # the caller has given up
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_: Any, **__: Any) -> None:
            """Print nothing."""

    return Handler


def forward(proxy: RegionProxy, method: str, path: str, headers: Any, body: bytes) -> tuple[int, dict[str, str], bytes]:
    """Forward a request to the region, and return its response."""
    upstream = http.client.HTTPConnection(proxy.target.netloc, timeout=HANG)
    try:
        upstream.putrequest(method, proxy.target.path.rstrip("/") + path, skip_accept_encoding=True)
        for name, value in headers:
            if name.lower() != "host":
                upstream.putheader(name, value)
        upstream.endheaders(body)
        answer = upstream.getresponse()
        dropped = ("connection", "content-length", "transfer-encoding")
        headers = {name: value for name, value in answer.getheaders() if name.lower() not in dropped}
        return answer.status, headers, proxy.edit(answer.read())
    finally:
        upstream.close()


@contextmanager
def proxies_to(urls: Mapping[str, str]) -> Generator[dict[str, RegionProxy]]:
    """Yield a proxy to each region, in the same order."""
    with ExitStack() as stack:
        yield {region: stack.enter_context(_way_to(url)) for region, url in urls.items()}


@contextmanager
def _way_to(url: str) -> Generator[RegionProxy]:
    proxy = RegionProxy(url)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(proxy))
    server.daemon_threads = True
    proxy.url = f"http://127.0.0.1:{server.server_address[1]}/"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.end()
        server.shutdown()
        server.server_close()
        thread.join()


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
