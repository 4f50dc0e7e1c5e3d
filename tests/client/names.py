"""Name resolution for an address, over proxies to the local server's regions: names that don't exist fail."""

from collections.abc import Mapping

import httpx

from tests.client.ways import Way

HOST = "integers.example.com"
ADDRESS = f"https://{HOST}/"


class Names:
    """Which proxy each host name leads to. A test may change `hosts`, and see in `asked` what was asked."""

    def __init__(self, ways: Mapping[str, Way]) -> None:
        self.hosts = {f"{region}.{HOST}": way.url for region, way in ways.items()}
        self.hosts[HOST] = next(iter(self.hosts.values()))
        self.asked: list[tuple[str, str]] = []
        """Host and path of each request, also of those whose host doesn't exist."""

    def lead(self, request: httpx.Request) -> None:
        """Send the request to the proxy of its host name.

        Raises:
            httpx.ConnectError: there is no such name.
        """
        host = request.url.host
        self.asked.append((host, request.url.raw_path.decode()))
        if host not in self.hosts:
            raise httpx.ConnectError("Name or service not known", request=request)
        target = httpx.URL(self.hosts[host])
        request.url = request.url.copy_with(scheme="http", host=target.host, port=target.port)

    def paths(self, host: str) -> list[str]:
        """Return the paths that a host was asked for, except health checks."""
        return [path for asked, path in self.asked if asked == host and path != "/-/health"]

    def client(self) -> httpx.Client:
        """Return a client for threads."""
        return httpx.Client(transport=_Transport(self))

    def async_client(self) -> httpx.AsyncClient:
        """Return a client for tasks."""
        return httpx.AsyncClient(transport=_AsyncTransport(self))


class _Transport(httpx.HTTPTransport):
    def __init__(self, names: Names) -> None:
        super().__init__()
        self._names = names

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self._names.lead(request)
        return super().handle_request(request)


class _AsyncTransport(httpx.AsyncHTTPTransport):
    def __init__(self, names: Names) -> None:
        super().__init__()
        self._names = names

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self._names.lead(request)
        return await super().handle_async_request(request)
