"""One connection to a service, kept open: plain or TLS, one exchange at a time.

It doesn't use `http.client`, which parses headers with the `email` package. That would cost 14 ms more to import,
0.13 ms more processor time per request (0.20 ms for an exchange instead of 0.07 ms), and 6 MB more memory.
"""

import select
import socket
import time
from typing import TYPE_CHECKING

from .endpoint import Endpoint
from .failure import NoResponse, Unsent
from .response import Incoming, Response, read

if TYPE_CHECKING:
    from ssl import SSLContext


SHORTEST = 0.001
"""The shortest time-out, in seconds. 0 would make the socket non-blocking."""


class Connection:
    """A connection that is open from the start. After an error it is closed and can't be used again."""

    def __init__(self, endpoint: Endpoint, context: "SSLContext | None", timeout: float) -> None:
        """Connect.

        Args:
            endpoint: where to connect.
            context: TLS settings; None for a plain connection.
            timeout: seconds to connect to any of the host's addresses, and for TLS, together.

        Raises:
            Unsent: no connection could be made.
        """
        self._socket: socket.socket | None = None
        self._authority = endpoint.authority
        self._watch = select.poll()
        try:
            ends = time.monotonic() + timeout
            self._socket = _connected(endpoint, ends)
            # Otherwise a request longer than a packet waits for an acknowledgement, which may be delayed by 40 ms.
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if context is not None:
                self._socket.settimeout(max(ends - time.monotonic(), SHORTEST))
                self._socket = context.wrap_socket(self._socket, server_hostname=endpoint.host)
            self._watch.register(self._socket, select.POLLIN)
        except OSError as error:  # includes an unknown host, a timeout and an untrusted certificate
            self.close()
            raise Unsent(f"{self._authority}: {error}") from error

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection. It may be closed already."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def alive(self) -> bool:
        """Return whether another exchange can follow.

        Between two exchanges, anything that arrives means that the server has closed the connection. It does so
        when the connection was idle for long, for example while the function was frozen.
        """
        return self._socket is not None and not self._watch.poll(0)

    def exchange(self, request: bytes, timeout: float) -> Response:
        """Send a request and read the whole response within `timeout` seconds.

        Raises:
            NoResponse: the response is lost, late, incomplete or not HTTP.
        """
        open_socket, self._socket = self._socket, None  # put back only after a complete exchange
        if open_socket is None:
            raise Unsent(f"{self._authority}: the connection is closed")
        ends = time.monotonic() + timeout

        def receive() -> bytes:
            left = ends - time.monotonic()
            if left <= 0:
                raise TimeoutError("timed out")
            open_socket.settimeout(left)
            return open_socket.recv(64 * 1024)

        try:
            open_socket.settimeout(timeout)
            open_socket.sendall(request)
            response = read(Incoming(receive))
            if not response.last:
                self._socket = open_socket
            return response
        except OSError as error:
            raise NoResponse(f"{self._authority}: {error}") from error
        finally:
            if self._socket is None:
                open_socket.close()


def _connected(endpoint: Endpoint, ends: float) -> socket.socket:
    """Return a socket that is connected to one of the host's addresses. Each gets an even share of what is left.

    Raises:
        OSError: none could be reached before `ends`.
    """
    found = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    failed = OSError(f"{endpoint.host} has no address")
    for number, (family, kind, protocol, _, address) in enumerate(found):
        opened = socket.socket(family, kind, protocol)
        try:
            opened.settimeout(max((ends - time.monotonic()) / (len(found) - number), SHORTEST))
            opened.connect(address)
        except OSError as error:
            opened.close()
            failed = error
        else:
            return opened
    raise failed
