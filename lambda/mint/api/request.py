"""Read an event of a Function URL or API Gateway. No I/O: an invalid request is refused before anything is minted."""

import re
from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Literal, NamedTuple, cast

from global_integers_core.names import CHECK_COUNTER, COUNTER_NAME, MAX_BLOCK, PREFETCH_HEADERS, PREFETCH_WORDS

from .formats import JSON, preferred, wants_page

DEFAULT_LIMIT = 100
MAX_LIMIT = 250
"""Counters on one page of the list: if the request has no limit, and at most, which is 17 KB of the longest names."""

MAX_PATH = 1024
MAX_BODY = 64 * 1024
"""Characters. The body is ignored, but a large one is probably a mistake and is reported."""

READ = ("GET", "HEAD")
MINT = ("GET", "POST")

OTHERS = {
    "elb": "an Application Load Balancer",
    "serviceNetworkArn": "VPC Lattice",
    "raw_path": "VPC Lattice",
    "connectionId": "a WebSocket API",
    "methodArn": "API Gateway, which asks for authorization",
    "routeArn": "API Gateway, which asks for authorization",
    "detail-type": "EventBridge",
    "Records": "a queue, a topic, a stream, a bucket or CloudFront",
}
"""Members of events of other services, and of which ones."""

Query = Sequence[tuple[str, str]]


class Problem(Exception):
    """The reason why a request fails, with its HTTP status, further headers and members of the document."""

    def __init__(
        self,
        status: HTTPStatus,
        detail: str,
        headers: Mapping[str, str] | None = None,
        members: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})
        self.members = dict(members or {})


class MintRequest(NamedTuple):
    """Mint a block of `count` integers, or a single one if it is None. `key` is the Idempotency-Key."""

    counter: str
    count: int | None = None  # pyright: ignore[reportIncompatibleMethodOverride]
    key: str | None = None
    accepted: str = JSON
    """The media type in which the response is sent, of `FORMATS`."""


class CounterRequest(NamedTuple):
    """Send the page, check that the counter can be minted, show its state here, or create it in every region."""

    kind: Literal["page", "health", "status", "create"]
    counter: str


class OwnerOf(NamedTuple):
    """Say which region owns an integer, 1 to 2^53 − 1, and whether it was minted."""

    counter: str
    integer: int


class ListCounters(NamedTuple):
    """List up to `limit` counters, 1 to 250, after the key `after`."""

    limit: int
    after: str | None


Request = MintRequest | CounterRequest | OwnerOf | ListCounters


class Received(NamedTuple):
    """A request as it was sent. `headers` have names in lower case; repeated ones are joined with commas."""

    method: str
    path: str
    query: Query
    headers: Mapping[str, str]
    size: int
    """Of the body."""
    signer: str
    """The ARN of who signed it, or "". Lambda or API Gateway has checked the signature (Lambda guide, "Invoking Lambda
    function URLs", member `requestContext.authorizer.iam`; API Gateway guide, "Lambda proxy integrations in API
    Gateway", member `requestContext.identity`)."""
    direct: bool
    """Whether the function itself was invoked, as the coordinator does to check this region. Only who may invoke it
    sends an event without a domain name: Function URLs and API Gateway add it."""

    @property
    def https(self) -> bool:
        """Whether the request came over https."""
        return self.headers.get("x-forwarded-proto") == "https"

    @property
    def html(self) -> bool:
        """Whether the response is to be a page, which mints nothing."""
        return self.method in READ and wants_page(self.headers)

    @property
    def root(self) -> str:
        """Where the API begins, relative to the request's path."""
        return "../" * self.path.lstrip("/").count("/") or "./"


NOTHING = Received("", "/", [], {}, 0, "", direct=False)
"""What an event of another service counts as."""


def received(event: Any) -> Received:
    """Read an event of a Function URL or HTTP API (payload format 2.0), or of a REST API (1.0).

    In 1.0, the path has no stage and stays encoded as it was sent, and the parameters of the query are decoded.

    Raises:
        Problem: 400, it is another service's event, in which count, key and format would be elsewhere.
    """
    event = _mapping(event)
    context, body = _mapping(event.get("requestContext")), str(event.get("body") or "")
    is_rest = "httpMethod" in event
    is_known = "apiId" in context if is_rest else "method" in _mapping(context.get("http"))
    other = next((name for member, name in OTHERS.items() if member in context or member in event), "")
    if other or not is_known:
        raise Problem(
            HTTPStatus.BAD_REQUEST,
            "this is no event of a Function URL, an HTTP API or a REST API, but of "
            f"{other or 'something else'}; nothing is minted",
        )
    if is_rest:
        method, path, signed = event["httpMethod"], event.get("path"), context.get("identity")
        query, direct = list(_pairs(event, "multiValueQueryStringParameters", "queryStringParameters")), False
        headers: dict[str, str] = {}
        for name, value in _pairs(event, "multiValueHeaders", "headers"):  # may differ only in their case
            lower = name.lower()
            headers[lower] = f"{headers[lower]},{value}" if lower in headers else value
    else:
        method, path = _mapping(context.get("http")).get("method", ""), event.get("rawPath")
        query = _query_of(str(event.get("rawQueryString") or ""))
        headers = {str(name).lower(): str(value) for name, value in _mapping(event.get("headers")).items()}
        direct, signed = "domainName" not in context, _mapping(context.get("authorizer")).get("iam")
    size = len(body)
    if event.get("isBase64Encoded") is True:
        size = size * 3 // 4 - body[-2:].count("=")  # the padding is no content
    arn = _mapping(signed).get("userArn")
    return Received(str(method), str(path or "/"), query, headers, size, arn if isinstance(arn, str) else "", direct)


def request_of(received: Received, default: str) -> Request:
    """Return what is requested.

    The path may begin with several slashes: `$URL` ends with one, so many people write `$URL/orders`. It is taken as
    it is. An HTTP API puts its stage's name before it, unless the stage is `$default`; what is a stage and what is a
    counter can't be told apart. `default` is the counter at `/`.

    Raises:
        Problem: 400, 404, 405, 413 or 414, with what is allowed; 503, it is a prefetch that would mint.
    """
    method, path, query, headers = received.method, received.path, received.query, received.headers
    if len(path) > MAX_PATH:
        raise Problem(HTTPStatus.REQUEST_URI_TOO_LONG, f"the path has more than {MAX_PATH} characters")
    if received.size > MAX_BODY:
        raise Problem(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body, which is ignored, has more than {MAX_BODY} characters"
        )
    match path.lstrip("/").split("/"):
        case ["-", "health"]:
            _check_method(method, READ)
            return CounterRequest("health", default)
        case ["-", "status"]:
            _check_method(method, READ)
            return CounterRequest("status", _counter_parameter(query) or default)
        case ["-", "counters"]:
            _check_method(method, READ)
            return ListCounters(_integer_parameter(query, "limit", MAX_LIMIT) or DEFAULT_LIMIT, after_parameter(query))
        case [name, ""]:
            raise Problem(
                HTTPStatus.NOT_FOUND,
                f"the path ends with a slash; the counter is at /{name[:63]}, an integer's owner at "
                f"/{name[:63]}/{{integer}}",
            )
        case [name, integer]:
            _check_method(method, READ)
            return OwnerOf(_counter_name(name), _owned_integer(integer))
        case [""]:
            _check_method(method, MINT)
            counter = default
        case [name]:
            _check_method(method, (*MINT, "PUT"))
            is_check = name == CHECK_COUNTER and method == "POST" and received.direct
            counter = name if is_check else _counter_name(name)
        case _:
            raise Problem(HTTPStatus.NOT_FOUND, "there is no such path; it is /{counter} or /{counter}/{integer}")
    if method == "PUT":
        return CounterRequest("create", counter)
    if received.html:
        return CounterRequest("page", counter)
    for name in PREFETCH_HEADERS:
        if (value := headers.get(name)) and any(word in value.lower() for word in PREFETCH_WORDS):
            raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, f"this request is a prefetch ({name}), which mints nothing")
    if any(name == "counter" for name, _ in query):
        raise Problem(HTTPStatus.BAD_REQUEST, "the path names the counter, as in /orders, and no parameter does")
    return MintRequest(
        counter,
        _integer_parameter(query, "count", MAX_BLOCK),
        idempotency_key(headers, query),
        preferred(headers.get("accept")),
    )


def _pairs(event: Mapping[str, Any], lists: str, single: str) -> Iterator[tuple[str, str]]:
    """Yield names with their values. What stands for API Gateway elsewhere may send only one value for each name."""
    for name, values in _mapping(event.get(lists) or event.get(single)).items():
        for value in cast("list[Any]", values) if isinstance(values, list) else [values]:
            yield str(name), str(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    """Return a part of an event, empty if it is missing or something else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}  # an event is JSON


def _check_method(method: str, allowed: Sequence[str]) -> None:
    if method not in allowed:
        allow = ", ".join(allowed)
        raise Problem(
            HTTPStatus.METHOD_NOT_ALLOWED, f"{method[:20]} is not possible here; use {allow}", {"Allow": allow}
        )


def _counter_name(segment: str) -> str:
    if not COUNTER_NAME.fullmatch(segment):
        raise Problem(
            HTTPStatus.NOT_FOUND,
            f"not a counter's path: it is / or /{{counter}}, and a counter's name matches {COUNTER_NAME.pattern}",
        )
    return segment


def _owned_integer(segment: str) -> int:
    from global_integers_core.lattice import MAX_INTEGER  # not needed to mint

    if not re.fullmatch(r"[1-9][0-9]{0,15}", segment, re.ASCII) or int(segment) > MAX_INTEGER:
        raise Problem(HTTPStatus.NOT_FOUND, f"{segment[:40]!r} is not an integer from 1 to {MAX_INTEGER}")
    return int(segment)


def _query_of(text: str) -> Query:
    if not text:
        return []
    from urllib.parse import parse_qsl  # 2 ms, and most requests have no query string

    return parse_qsl(text, keep_blank_values=True, errors="replace")


def _single(query: Query, name: str) -> str | None:
    """Return a parameter, or None without it. One with its letters, like `cuont`, is refused. Others are ignored."""
    for other, _ in query:
        if other != name and sorted(other.lower()) == sorted(name):
            raise Problem(HTTPStatus.BAD_REQUEST, f"there is no parameter {other!r}; did you mean {name}?")
    values = [value for key, value in query if key == name]
    if len(values) > 1:
        raise Problem(HTTPStatus.BAD_REQUEST, f"{name} is given {len(values)} times; it may be given once")
    return values[0] if values else None


def _integer_parameter(query: Query, name: str, maximum: int) -> int | None:
    text = _single(query, name)
    if text is None:
        return None
    if not re.fullmatch(r"[1-9][0-9]{0,5}", text, re.ASCII) or int(text) > maximum:
        raise Problem(HTTPStatus.BAD_REQUEST, f"{name} {text[:40]!r} is not an integer from 1 to {maximum}")
    return int(text)


def _counter_parameter(query: Query) -> str | None:
    name = _single(query, "counter")
    if name is not None and not COUNTER_NAME.fullmatch(name):
        raise Problem(HTTPStatus.BAD_REQUEST, f"counter {name[:63]!r} does not match {COUNTER_NAME.pattern}")
    return name


def after_parameter(query: Query) -> str | None:
    """Return the key after which the list of counters continues, or None. What can't be a page's `next` is refused."""
    key = _single(query, "after")
    if key is None:
        return None
    from global_integers_core.records import layouts_key  # not needed to mint

    counter = key.removesuffix(layouts_key(""))
    if counter != CHECK_COUNTER and not COUNTER_NAME.fullmatch(counter):
        raise Problem(HTTPStatus.BAD_REQUEST, f"after {key[:40]!r} is not the next of a page of the list")
    return key


def idempotency_key(headers: Mapping[str, str], query: Query = ()) -> str | None:
    r"""Return the Idempotency-Key, or None without one.

    A key is bare, or quoted as a string of RFC 8941 (section 3.3.3), in which \" is a quote and \\ a backslash.
    A bare key may have no comma, since repeated headers arrive joined with commas (API Gateway guide,
    "Create AWS Lambda proxy integrations for HTTP APIs", payload format 2.0, which Function URLs share).

    Another key, or a second one, is refused; so is one elsewhere, such as in `X-Idempotency-Key`.
    """
    header = headers.get("idempotency-key")
    if header is None:
        for name in (*headers, *(name for name, _ in query)):
            if "idempoten" in name.lower():
                raise Problem(HTTPStatus.BAD_REQUEST, f"{name[:40]!r} is not read; send the header Idempotency-Key")
        return None
    key = header.strip(" \t")  # HTTP's white space (RFC 9110, section 5.6.3)
    if re.fullmatch(r'"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"', key):
        key = re.sub(r"\\(.)", r"\1", key[1:-1])
    elif "," in key:
        raise Problem(
            HTTPStatus.BAD_REQUEST,
            'the Idempotency-Key is given more than once or contains a comma; send one, and quote a comma: "a,b"',
        )
    elif key.startswith('"'):
        raise Problem(HTTPStatus.BAD_REQUEST, "the Idempotency-Key is not a quoted string of RFC 8941")
    if not re.fullmatch(r"[\x21-\x7e]{1,255}", key):
        raise Problem(HTTPStatus.BAD_REQUEST, "the Idempotency-Key is not 1 to 255 visible ASCII characters")
    return key
