"""The settings of a client, checked, and where its URLs come from."""

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Generic, NamedTuple, TypedDict, TypeVar, cast
from urllib.parse import SplitResult, urlsplit

from ..errors import Observer
from .api import MAX_BLOCK, REGION, checked_counter

VARIABLE = "GLOBAL_INTEGERS_URLS"
HOW_TO_SET = (
    "write the stack's outputs to a file with `pulumi stack output --json > outputs.json`, or on one machine with "
    "`.venv/bin/python -m local outputs --json > outputs.json`, and set it to the file's path. Instead, it may contain "
    "the domain's URL, or the regions' URLs as JSON"
)
PASSWORD = re.compile(r"\A((?:http|https|socks5|socks5h)://)?.*@", re.IGNORECASE | re.DOTALL)
"""What comes before a URL's host. After the scheme, it is the user and password, which no message has."""

FUNCTION_URL = re.compile(r"[^.]+\.lambda-url\.([^.]+)\.on\.aws")
"""The host of a Function URL, with its region."""

LINE = re.compile(r"(\S+): (https?://\S+)")
"""A line of `python -m local outputs urls`: a region and its URL."""

DAY = 86_400

IN_FILES = "; what is in a file, or JSON, is read by from_env"

H = TypeVar("H")


class ClientSettings(TypedDict, Generic[H], total=False):
    """What `Integers` and `AsyncIntegers` may be given by keyword, besides `urls`. `Options` has the defaults."""

    counter: str | None
    """The counter of the object's own `next`. Default: the stack's default counter, which stays the same for this
    object whatever is deployed later."""
    lease: int
    """The largest number of integers in one lease, 1 (off, the default) to 100,000."""
    lease_seconds: float
    """Seconds after which the rest of a lease is dropped, above 0 and up to 86,400. Default: 60. For so long, integers
    may be handed out that were minted before a change of a floor, of the regions or of the counter itself."""
    timeout: float
    """Seconds for a whole call, with all attempts; the same range. Default: 10."""
    attempt_timeout: float
    """Seconds for one attempt; the same range. Default: 3. Keep it above 2: a region may wait 2 s while a layout
    changes."""
    prefer: str | None
    """The region to ask as long as it is healthy. Default: the nearest one."""
    sign: bool | None
    """Whether to sign requests (`authorization: AWS_IAM`). Default: those to Function URLs, if botocore and credentials
    are found, and those to a domain that has refused one without a signature."""
    observer: Observer | None
    """Called with each `Requested`, `FailedOver` and `Leased`. Calls wait for it. Its errors are logged."""
    http: Callable[[], H] | None
    """Returns the `httpx.Client` to use (`AsyncIntegers`: `httpx.AsyncClient`). It is called again after a fork and
    after `close`. Its own `auth` is used where requests aren't signed."""


class Deadline(NamedTuple):
    """When a call ends, by the client's clock; the seconds that it has in all; and those for one attempt."""

    ends: float
    timeout: float
    attempt: float


@dataclass(frozen=True)
class Options:
    """The settings of `Integers` and `AsyncIntegers`. A `ValueError` names the first one that is wrong."""

    urls: Mapping[str, str] | str
    """By region; or the domain's URL."""
    _: KW_ONLY
    counter: str | None = None
    lease: int = 1
    lease_seconds: float = 60.0
    timeout: float = 10.0
    attempt_timeout: float = 3.0
    prefer: str | None = None
    sign: bool | None = None
    observer: Observer | None = None
    http: Callable[[], Any] | None = None
    clock: Callable[[], float] = monotonic

    def __post_init__(self) -> None:
        """Check them."""
        if not isinstance(self.urls, str):
            object.__setattr__(self, "urls", _checked_urls(self.urls))
        if self.counter is not None:
            checked_counter(self.counter)
        if type(self.lease) is not int or not 1 <= self.lease <= MAX_BLOCK:
            raise ValueError(f"lease {self.lease!r} is not within 1 (off) to {MAX_BLOCK:,}")
        for name in ("lease_seconds", "timeout", "attempt_timeout"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 < value <= DAY:
                raise ValueError(f"{name} {value!r} is not above 0 and up to {DAY:,} seconds")
        if self.sign is not None and type(self.sign) is not bool:
            raise ValueError(f"sign {self.sign!r} is not True, False or None")
        for name in ("observer", "http"):
            value = getattr(self, name)
            if value is not None and not callable(value):
                raise ValueError(f"{name} {value!r} is not a function")
        if self.prefer is not None and not isinstance(self.urls, str) and self.prefer not in self.urls:
            raise ValueError(f"prefer {self.prefer!r} is none of the regions {', '.join(self.urls)}")

    @classmethod
    def of(cls, urls: Mapping[str, str] | str, settings: ClientSettings[Any], clock: Callable[[], float]) -> "Options":
        """Return the options of a client.

        Raises:
            TypeError: there is no such option.
            ValueError: one of them is wrong.
        """
        for name in settings:
            if name not in ClientSettings.__annotations__:
                known = ", ".join(ClientSettings.__annotations__)
                raise TypeError(f"there is no option {name!r}; there is {known}")
        return cls(urls, clock=clock, **settings)

    def deadline(self) -> Deadline:
        """Return that of a call that begins now."""
        return Deadline(self.clock() + self.timeout, self.timeout, self.attempt_timeout)


def _checked_urls(urls: Mapping[str, str]) -> dict[str, str]:
    if not urls or not isinstance(urls, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(
            f"urls is {repr(urls)[:60]}; give each region's URL, as in "
            "{'eu-west-1': 'https://…/'}, or the domain's URL"
        )
    for region, url in urls.items():
        if not isinstance(region, str) or not REGION.fullmatch(region):  # pyright: ignore[reportUnnecessaryIsInstance]
            instead = 'of a stack\'s outputs, pass outputs["urls"], or use from_env'
            raise ValueError(f"{region!r} is not the name of an AWS region, such as eu-west-1; {instead}")
        what = f"the URL of {region} is {shown(url)}, which"
        parsed = checked_url(url, what, f"https://….lambda-url.{region}.on.aws/")
        function = FUNCTION_URL.fullmatch(parsed.hostname or "")
        if function and function[1] != region:
            raise ValueError(f"{what} is one of {function[1]}")
        if function and parsed.path.strip("/"):
            raise ValueError(f"{what} has a path; without it, it is {parsed.scheme}://{parsed.netloc}/")
    return {region: url.rstrip("/") + "/" for region, url in urls.items()}


def without_password(url: str) -> str:
    """Return a URL as a message may show it."""
    return PASSWORD.sub(lambda found: f"{found[1] or ''}…@", url)


def shown(url: object) -> str:
    """Return what should be a URL as messages show it."""
    return repr(without_password(url) if isinstance(url, str) else url)[:200]


def checked_url(url: str, what: str, example: str) -> SplitResult:
    """Return the parts of a URL. Its host is checked for being a valid name, but not looked up.

    Raises:
        ValueError: it isn't the URL of a stack or a region. The message begins with `what`, and may have the example.
    """
    try:
        if not isinstance(url, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError("it is no text")
        if "@" in url:
            raise ValueError("a URL has no user or password here")
        if not url.isprintable() or " " in url:
            raise ValueError("it has a space or a control character in it")
        parsed = urlsplit(url)
        host, port = parsed.hostname or "", parsed.port
        if ":" not in host:
            host.encode("idna")
    except ValueError as error:  # also UnicodeError
        raise ValueError(f"{what} is not a URL of a stack: {error}; it should look like {example}") from None
    if parsed.scheme not in ("http", "https") or not host or port == 0 or parsed.query or parsed.fragment:
        raise ValueError(f"{what} is not a URL of a stack: it should look like {example}")
    return parsed


def urls_from(text: str, *, leaving: bool = False) -> dict[str, str] | str:
    """Return the regions' URLs, or the domain's, from what `GLOBAL_INTEGERS_URLS` may be (docs/client.md).

    Of a stack's outputs, `urls` is taken, or `domainUrl` if all `urls` are at the regions' own host names. With
    `leaving`, the URLs of regions that have left, but aren't deleted, are taken, too.

    Raises:
        ValueError: the text is neither a domain's URL, nor URLs, nor the path of a file with them.
    """
    if text.startswith(("https://", "http://")):
        return text
    if re.match(r"\w+://", text):
        raise ValueError(f"{shown(text)} should begin with https:// or http://")
    source = "the text"
    if text.strip() and not text.lstrip().startswith(("{", "[")) and not _in_lines(text):
        source = text
        try:
            text = Path(text).read_text(encoding="utf-8")
        except OSError as error:
            tried = f"{shown(text)} is not JSON, and no file with this path can be read"
            instead = "a domain's URL begins with https://"
            raise ValueError(f"{tried}: {error.strerror}: {Path(text).absolute()}; {instead}") from None
    if not text.strip():
        raise ValueError(f"{source} is empty: the command that should have written it has failed; run it again")
    if lines := _in_lines(text):
        return lines
    try:
        document: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{source} is not JSON: {error}") from None
    members = cast("dict[str, Any]", document) if isinstance(document, dict) else {}
    domain = members.get("domainUrl")
    if isinstance(domain, str) and domain and _are_names_of(domain, members.get("urls")):
        local = members.get("localDomainUrl")
        return local if isinstance(local, str) else domain  # what stands for it, on one machine
    urls: Any = members.get("urls", members)
    if not isinstance(urls, dict) or not urls:
        raise ValueError(f'{source} has no URLs; it should look like {{"eu-west-1": "https://…/"}}')
    found = cast("dict[str, Any]", urls)
    if leaving and urls is not members and isinstance(members.get("leaving"), dict):
        found = {**members["leaving"], **found}
    if not all(isinstance(url, str) for url in found.values()):
        other = "something else than URLs by region; give these, or a stack's outputs with 'urls'"
        raise ValueError(f"{source} has {other}")
    return found


def _in_lines(text: str) -> dict[str, str]:
    """Return URLs that are written as `region: URL`, one a line; none if any line has another form."""
    lines = [LINE.fullmatch(line.strip()) for line in text.strip().splitlines()]
    return {line[1]: line[2] for line in lines if line} if all(lines) else {}


def _are_names_of(domain: str, urls: Any) -> bool:
    """Return whether all URLs are at the regions' own host names of a domain (`functionUrls: false`)."""
    own = f".{domain.partition('://')[2]}"
    return not urls or (isinstance(urls, dict) and all(str(url).endswith(own) for url in cast("Any", urls).values()))


def urls_from_environment(*, leaving: bool = False) -> dict[str, str] | str:
    """Return the regions' URLs, or the domain's, in the environment variable `GLOBAL_INTEGERS_URLS`."""
    text = os.environ.get(VARIABLE)
    if text is None or not text.strip():
        state = "not set" if text is None else "empty"
        raise ValueError(f"the environment variable {VARIABLE} is {state}; {HOW_TO_SET}")
    try:
        return urls_from(text, leaving=leaving)
    except ValueError as error:
        raise ValueError(f"{VARIABLE}: {error}") from None
