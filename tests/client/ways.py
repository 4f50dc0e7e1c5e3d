"""Proxies to the local server's regions. A test can make them delay, cut off or spoil responses."""

import http.client
import socket
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import urlsplit

Fault = Literal[
    "none", "cut", "cut after", "hang", "503", "429", "404", "410", "403", "rubbish", "redirect", "large", "late"
]

PATIENT: dict[str, Any] = {"timeout": 30.0, "attempt_timeout": 10.0}
"""Options of a client in a test in which no region hangs, however busy the machine is."""

LATE = 0.3
"""Seconds by which a late response is delayed."""


class Way:
    """A proxy on 127.0.0.1 that forwards requests to one region, unless a fault is set."""

    def __init__(self, target: str) -> None:
        self.target = urlsplit(target)
        self.fault: Fault = "none"
        self.delay = 0.0
        """Seconds by which every response is delayed, as if the region were far away."""
        self.requests: list[tuple[str, str]] = []
        """Method and path of each request."""
        self.url = ""
        self.released = threading.Event()

    @property
    def mints(self) -> int:
        """How many requests to mint have arrived."""
        return sum(method == "POST" for method, _ in self.requests)


def _handler(way: Way) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

        def handle_one(self) -> None:
            way.requests.append((self.command, self.path))
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            time.sleep(way.delay + (LATE if way.fault == "late" else 0))
            match way.fault:
                case "none" | "late":
                    self.answer(*forward(way, self.command, self.path, self.headers.items(), body))
                case "cut":
                    self.hang_up()
                case "cut after":
                    forward(way, self.command, self.path, self.headers.items(), body)
                    self.hang_up()
                case "hang":
                    way.released.wait(30)
                    self.hang_up()
                case "rubbish":
                    self.answer(200, {"Content-Type": "text/html"}, b"<h1>Welcome to the hotel's network</h1>")
                case "large":
                    self.answer(200, {"Content-Type": "application/json"}, b"[" + b"1," * 600_000 + b"1]")
                case "redirect":
                    self.answer(302, {"Location": "https://login.invalid/"}, b"")
                case "429":
                    self.answer(
                        429, {"Retry-After": "0"}, b'{"Reason": "ReservedFunctionConcurrentInvocationLimitExceeded"}'
                    )
                case status:
                    self.answer(
                        int(status), {"Content-Type": "application/problem+json"}, b'{"detail": "as the test says"}'
                    )

        do_GET = do_POST = do_PUT = handle_one  # noqa: N815 (as http.server has it)

        def answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            with suppress(ConnectionError):  # the caller has given up
                self.end_headers()
                self.wfile.write(body)

        def hang_up(self) -> None:
            self.close_connection = True

        def log_message(self, *_: Any, **__: Any) -> None:
            """Print nothing."""

    return Handler


def forward(way: Way, method: str, path: str, headers: Any, body: bytes) -> tuple[int, dict[str, str], bytes]:
    """Forward a request to the region, and return its response."""
    upstream = http.client.HTTPConnection(way.target.netloc, timeout=60)
    try:
        upstream.putrequest(method, way.target.path.rstrip("/") + path, skip_accept_encoding=True)
        for name, value in headers:
            if name.lower() != "host":
                upstream.putheader(name, value)
        upstream.endheaders(body)
        answer = upstream.getresponse()
        kept = {
            n: v
            for n, v in answer.getheaders()
            if n.lower() not in ("connection", "content-length", "transfer-encoding")
        }
        return answer.status, kept, answer.read()
    finally:
        upstream.close()


@contextmanager
def ways_to(urls: Mapping[str, str]) -> Generator[dict[str, Way]]:
    """Yield a proxy to each region, in the same order."""
    with ExitStack() as stack:
        yield {region: stack.enter_context(_way_to(url)) for region, url in urls.items()}


@contextmanager
def _way_to(url: str) -> Generator[Way]:
    way = Way(url)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(way))
    server.daemon_threads = True
    way.url = f"http://127.0.0.1:{server.server_address[1]}/"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield way
    finally:
        way.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
