"""TLS settings that trust this machine's root certificates: Amazon's are read first, the others only if needed.

AWS's endpoints prove who they are by Amazon's five roots ("Amazon Trust Services: Repository"). A machine has about 140
roots, and reading all of them takes much longer (figures: mint/__init__.py). Behind a company's proxy, or in another
partition, an endpoint may need another root. Then all are read, and the connection is made once more.

A certificate's name only decides when it is read. Every connection is verified, and only by roots that this machine
trusts.
"""

from binascii import a2b_base64
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from .failure import Unsent

if TYPE_CHECKING:
    from ssl import SSLContext

    from .connection import Connection

FIRST = (b"Amazon Root CA", b"Starfield Services Root")
"""Amazon Root CA 1 to 4, and Starfield Services Root Certificate Authority - G2."""


class Trust:
    """The TLS settings of all connections. They read `SSL_CERT_FILE` and `SSL_CERT_DIR`, as OpenSSL does."""

    def __init__(self) -> None:
        """Load `ssl`, and Amazon's roots: all roots if this machine has none of Amazon's."""
        import ssl

        first = _first(ssl.get_default_verify_paths().cafile)
        self._context = ssl.create_default_context(cadata=first or None)  # without cadata, it reads all
        self._all = not first

    def connect(self, make: "Callable[[SSLContext], Connection]") -> "Connection":
        """Return the connection that `make` makes. It calls `make` again with all roots if the first aren't enough.

        Raises:
            Unsent: no connection could be made.
        """
        from ssl import SSLCertVerificationError

        had_all = self._all
        try:
            return make(self._context)
        except Unsent as unsent:
            if had_all or not isinstance(unsent.__cause__, SSLCertVerificationError):
                raise
        self._context.load_default_certs()
        self._all = True
        return make(self._context)


@cache
def trust() -> Trust:
    """Return the settings that all services share."""
    return Trust()


def _first(file: str | None) -> bytes:
    """Return those certificates of a PEM file that are read first, as DER; nothing if the file can't be read."""
    if file is None:
        return b""
    try:
        with open(file, "rb") as bundle:  # noqa: PTH123 (pathlib would take 4 ms to import)
            parts = bundle.read().split(b"-----BEGIN CERTIFICATE-----")[1:]
        found = [a2b_base64(part.partition(b"-----END CERTIFICATE-----")[0]) for part in parts]
    except (OSError, ValueError):
        return b""
    return b"".join(der for der in found if any(name in der for name in FIRST))
