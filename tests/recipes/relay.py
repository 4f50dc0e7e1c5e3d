"""A way to the local server on which a test sees every call, and may act between the server's answer and the caller."""

import http.client
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Call:
    """One call, and what the server answered."""

    path: str
    headers: dict[str, str]
    status: int
    body: bytes

    @property
    def minted(self) -> bool:
        return self.path.startswith("/_aws/lambda-url/")

    @property
    def target(self) -> str:
        """The AWS operation: `PutItem`."""
        return self.headers.get("x-amz-target", "").rpartition(".")[2]


@dataclass
class Relay:
    """Everything is passed on as it is. `answered` is called with each call before its caller has the answer.

    If it raises ConnectionError, the caller never gets it.
    """

    port: int
    calls: list[Call] = field(default_factory=list[Call])
    answered: Callable[[Call], None] = lambda _: None


@contextmanager
def relay_to(server: int) -> Generator[Relay]:
    """A relay on a free port of 127.0.0.1 to the server's."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            upstream = http.client.HTTPConnection("127.0.0.1", server, timeout=60)
            upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                upstream.putheader(name, value)
            upstream.endheaders(body)
            answer = upstream.getresponse()
            content = answer.read()
            headers = {name.lower(): value for name, value in self.headers.items()}
            call = Call(self.path, headers, answer.status, content)
            relay.calls.append(call)
            try:
                relay.answered(call)
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in ("connection", "content-length", "transfer-encoding"):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
            except ConnectionError:  # the caller was killed meanwhile, or the test says so
                self.close_connection = True
            finally:
                upstream.close()

        def log_message(self, *_: Any, **__: Any) -> None:
            """Tests tell what they have to tell."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        relay = Relay(listening.server_address[1])
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield relay
        finally:
            listening.shutdown()
            thread.join()
