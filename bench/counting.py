"""A relay between the subjects and the endpoint, which counts the writes.

Write units as DynamoDB counts them (guide, "Capacity unit consumption for write operations"): one for a
write of an item up to 1 KB, two in a transaction, whether its condition holds or not.
"""

import http.client
import json
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread, local
from typing import Any
from urllib.parse import urlsplit

WRITES = {"UpdateItem": 1, "PutItem": 1, "DeleteItem": 1}
COPIED = ("content-type", "x-amz-crc32", "x-amzn-requestid")


class Relay:
    """Listens on a free port of 127.0.0.1 while it is used as a context."""

    def __init__(self, endpoint: str) -> None:
        self.counts: Counter[str] = Counter()
        relay, netloc, lock, connections = self, urlsplit(endpoint).netloc, Lock(), local()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if not hasattr(connections, "kept"):
                    connections.kept = http.client.HTTPConnection(netloc)
                connections.kept.request("POST", self.path, body, dict(self.headers.items()))
                response = connections.kept.getresponse()
                content = response.read()
                with lock:
                    relay.count(self.headers["X-Amz-Target"].rpartition(".")[2], json.loads(body), response.status)
                self.send_response(response.status)
                for name in COPIED:
                    if value := response.getheader(name):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever)

    def count(self, operation: str, request: dict[str, Any], status: int) -> None:
        """Count a request: its write units, and whether it was refused."""
        units = WRITES.get(operation, 0)
        if operation == "TransactWriteItems":
            units = 2 * len(request["TransactItems"])
        self.counts["write units"] += units
        if units:
            self.counts["writes"] += 1
            self.counts["refused"] += status != 200

    @property
    def endpoint(self) -> str:
        """Its URL."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "Relay":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
