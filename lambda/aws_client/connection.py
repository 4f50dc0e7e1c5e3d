"""A connection to a service, kept open: plain or TLS, one exchange of HTTP/1.1 (RFC 9112) at a time.

It doesn't use `http.client`, which parses headers with the `email` package. That would cost 14 ms more to import,
0.13 ms more processor time per request (0.20 ms for an exchange instead of 0.07 ms), and 6 MB more memory.

The parser is strict: an unclear response is an error. A wrong guess about where a response ends would give the
rest of it to the next request.

With TLS, Amazon's root certificates are read first, the others only if needed. AWS's endpoints prove who they are by
Amazon's five roots ("Amazon Trust Services: Repository"), read in 3 ms. A machine has about 140 roots, and reading all
of them takes 6 to 21 ms. Behind a company's proxy, or in another partition, an endpoint may need another root.
Then all are read, and the connection is made once more. A certificate's name only decides when it is read. Every
connection is verified, and only by roots that this machine trusts.
"""

import re
import select
import socket
import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from .signed_request import Endpoint

if TYPE_CHECKING:
    from ssl import SSLContext

    from .meaning import Meaning

SHORTEST = 0.001
"""The shortest time-out, in seconds. 0 would make the socket non-blocking."""

MAX_HEAD = 64 * 1024
MAX_BODY = 8 * 1024 * 1024
"""Bytes. Lambda's responses have at most 6 MB; DynamoDB's have a few hundred bytes here."""

STATUS_LINE = re.compile(r"HTTP/1\.([01]) ([2-5][0-9]{2})(?: .*)?")
LENGTH = re.compile(r"[0-9]{1,9}")
CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,8}")

FIRST = (b"Amazon Root CA", b"Starfield Services Root")
"""Amazon Root CA 1 to 4, and Starfield Services Root Certificate Authority - G2."""


class NoResponse(Exception):
    """There is no valid response. The call may have been carried out, unless there was no connection or no time."""

    meaning: "Meaning" = "unreachable"
    transient = True
    unaccepted = False
    attempts = 1
    """All as of `ServiceError`."""


def connect(endpoint: Endpoint, timeout: Callable[[], float]) -> "Connection":
    """Return a connection. With TLS, all roots are tried if Amazon's aren't enough.

    `timeout` returns the seconds that an attempt may take from now on, since reading all roots may take long.

    Raises:
        NoResponse: no connection could be made.
    """
    if not endpoint.secure:
        return Connection(endpoint, None, timeout())
    tls = trust()
    had_all = tls.has_all
    try:
        return Connection(endpoint, tls.context, timeout())
    except NoResponse as failure:
        from ssl import SSLCertVerificationError

        if had_all or not isinstance(failure.__cause__, SSLCertVerificationError):
            raise
    tls.read_all()
    return Connection(endpoint, tls.context, timeout())


class Connection:
    """A connection that is open from the start. After an error it is closed and can't be used again."""

    def __init__(self, endpoint: Endpoint, context: "SSLContext | None", timeout: float) -> None:
        """Connect within `timeout` seconds, to any of the host's addresses. `context` is for TLS, None for a plain one.

        Raises:
            NoResponse: no connection could be made.
        """
        self._socket: socket.socket | None = None
        self._authority = endpoint.authority
        self._poll = select.poll()
        try:
            ends = time.monotonic() + timeout
            self._socket = _connected(endpoint, ends)
            # Otherwise a request longer than a packet waits for an acknowledgement, which may be delayed by 40 ms.
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if context is not None:
                self._socket.settimeout(max(ends - time.monotonic(), SHORTEST))
                self._socket = context.wrap_socket(self._socket, server_hostname=endpoint.host)
            self._poll.register(self._socket, select.POLLIN)
        except OSError as error:  # includes an unknown host, a timeout and an untrusted certificate
            self.close()
            raise NoResponse(f"{self._authority}: {error}") from error

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close it, unless it is closed already."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def alive(self) -> bool:
        """Return whether another exchange can follow.

        Between two exchanges, anything that arrives means that the server has closed the connection. It does so
        when the connection was idle for long, for example while the function was frozen.
        """
        return self._socket is not None and not self._poll.poll(0)

    def exchange(self, request: bytes, timeout: float) -> "Response":
        """Send a request and read the whole response within `timeout` seconds.

        Raises:
            NoResponse: the response is lost, late, incomplete or not HTTP.
        """
        open_socket, self._socket = self._socket, None  # put back only after a complete exchange
        if open_socket is None:
            raise NoResponse(f"{self._authority}: the connection is closed")
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
            response = read(receive)
            if not response.last:
                self._socket = open_socket
            return response
        except OSError as error:
            raise NoResponse(f"{self._authority}: {error}") from error
        finally:
            if self._socket is None:
                open_socket.close()


def _connected(endpoint: Endpoint, ends: float) -> socket.socket:
    """Return a socket that is connected to one of the host's addresses. Each gets an even share of the time left."""
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


class Response(NamedTuple):
    """One response. Names of headers are in lower case; repeated ones are joined with a comma."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    last: bool
    """Whether the connection can't be used for another request."""


class _Incoming:
    """The bytes of a connection as they arrive; those that were not read yet are `held`."""

    def __init__(self, receive: Callable[[], bytes]) -> None:
        self._receive = receive
        self.held = b""

    def until(self, mark: bytes) -> bytes:
        while (end := self.held.find(mark)) < 0:
            if len(self.held) > MAX_HEAD:
                _broken(f"more than {MAX_HEAD} bytes of headers")
            self._more()
        found, self.held = self.held[:end], self.held[end + len(mark) :]
        return found

    def exactly(self, count: int) -> bytes:
        while len(self.held) < count:
            self._more()
        found, self.held = self.held[:count], self.held[count:]
        return found

    def _more(self) -> None:
        self.held += self._receive() or _broken("the connection was closed before the end")


def read(receive: Callable[[], bytes]) -> Response:
    """Read one response. `receive` returns a connection's next bytes, or none at its end; its errors are passed on.

    Raises:
        NoResponse: the response is incomplete or not understood.
    """
    incoming = _Incoming(receive)
    first, *lines = incoming.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
    status = STATUS_LINE.fullmatch(first) or _broken(f"not a status line: {first[:80]!r}")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            _broken(f"not a header: {line[:80]!r}")
        name, value = name.lower(), value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    length, coding = headers.get("content-length"), headers.get("transfer-encoding")
    if coding is None and length is not None and LENGTH.fullmatch(length):
        body = incoming.exactly(_allowed(int(length)))
    elif length is None and coding is not None and coding.lower() == "chunked":
        body = _chunks(incoming)
    else:
        _broken(f"the length is unclear: Content-Length {length!r}, Transfer-Encoding {coding!r}")
    last = status[1] == "0" or headers.get("connection", "").lower() == "close" or bool(incoming.held)
    return Response(int(status[2]), headers, body, last)


def _chunks(incoming: _Incoming) -> bytes:
    """Read a chunked body (section 7.1). Extensions and trailers are ignored."""
    body = b""
    while True:
        size = incoming.until(b"\r\n").partition(b";")[0].strip()
        if not CHUNK_SIZE.fullmatch(size):
            _broken(f"not the size of a chunk: {size[:80]!r}")
        count = int(size, 16)
        if count == 0:
            while incoming.until(b"\r\n"):
                pass
            return body
        body += incoming.exactly(_allowed(len(body) + count) - len(body))
        if incoming.exactly(2) != b"\r\n":
            _broken("a chunk is longer than it says")


def _allowed(length: int) -> int:
    return length if length <= MAX_BODY else _broken(f"a body of {length} bytes")


def _broken(what: str) -> NoReturn:
    raise NoResponse(f"invalid response: {what}")


class Trust:
    """The TLS settings of all connections. They read `SSL_CERT_FILE` and `SSL_CERT_DIR`, as OpenSSL does."""

    def __init__(self) -> None:
        import ssl

        first = _first(ssl.get_default_verify_paths().cafile)
        self.context = ssl.create_default_context(cadata=first or None)  # without cadata, it reads all
        self.has_all = not first

    def read_all(self) -> None:
        """Read all roots."""
        self.context.load_default_certs()
        self.has_all = True


@cache
def trust() -> Trust:
    """Return the settings that all services share. The first call takes long, so it is made during initialisation."""
    return Trust()


def _first(file: str | None) -> bytes:
    """Return the certificates of a PEM file that are read first, as DER; nothing if it can't be read."""
    from binascii import a2b_base64

    if file is None:
        return b""
    try:
        with open(file, "rb") as bundle:  # noqa: PTH123 (pathlib would take 4 ms to import)
            parts = bundle.read().split(b"-----BEGIN CERTIFICATE-----")[1:]
        found = [a2b_base64(part.partition(b"-----END CERTIFICATE-----")[0]) for part in parts]
    except (OSError, ValueError):
        return b""
    return b"".join(der for der in found if any(name in der for name in FIRST))
