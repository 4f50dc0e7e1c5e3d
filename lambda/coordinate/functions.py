"""The minting functions of all regions: calls by a version, an alias or a Function URL, and the alias that callers use.

An alias's description says what it leads to since when, and which version it led to before.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import time
from typing import Any, cast

from aws_client.connection import NoResponse, connect
from aws_client.invocation import InvocationFailed, about, invoke_with_log
from aws_client.service import ServiceError, at_most, credentials, json_object
from aws_client.signed_request import encoded, parsed, signed

from global_integers_core.names import LIVE_ALIAS

TIMEOUT = 35
"""Seconds for each attempt of a call. A minting function runs for at most 30."""

SHORT, CONNECT_TIMEOUT = 5, 3
"""Seconds for reading or moving an alias, and for a connection: a region that is down must not hold up the others."""

AT_ONCE = 30
"""In how many regions aliases are read or moved at the same time."""

MOST = 300
"""Characters of a response that are shown."""

MOST_OF_LOG = 1_000
"""Characters of the end of a log that are shown."""

RELEASED = re.compile(
    r"Version (?P<version>[0-9]+), build (?P<build>\S+) since (?P<since>\S+)(?P<unproven>, not checked yet)?\."
    r"(?: Version before: (?P<before>[0-9]+)\.)?"
)
MOVED_BACK = re.compile(r"Version (?P<version>[0-9]+), back from build (?P<build>\S+) since (?P<since>\S+)\.")


@dataclass(frozen=True, slots=True)
class MintResponse:
    """What came back, without a `status` if it is no HTTP response, without a `document` if it is no JSON object."""

    text: str
    """For people."""
    status: int = 0
    document: Mapping[str, Any] = field(default_factory=dict[str, Any])
    passing: bool = False
    """Whether it is an error that ends by itself, so that asking again may help."""
    log: str = ""
    """The end of the invocation's log."""


Ask = Callable[[str, str], MintResponse]
"""Asks a region's minting function: method, path."""


@dataclass(frozen=True, slots=True)
class Alias:
    """Where a region's alias leads to, and since when (ISO 8601)."""

    version: str
    build: str = ""
    """The build that it was moved to; "" if it was never moved, or moved back."""
    back_from: str = ""
    """The build that it was moved back from."""
    since: str = ""
    before: str = ""
    """The version before that has passed both checks; "" if there was none, or it was moved back."""
    proven: bool = False
    """Whether what callers reach was checked after it was moved."""
    revision: str = field(default="", compare=False)
    """Lambda's id of this state, which also changes with the alias's policy. A move needs the present one."""

    @property
    def newest(self) -> str:
        """The newest build that it led to."""
        return self.build or self.back_from


def alias_of(found: Mapping[str, Any]) -> Alias:
    """Read Lambda's answer. A description of another version says nothing: somebody has moved the alias by hand."""
    version, revision = str(found["FunctionVersion"]), str(found.get("RevisionId", ""))
    description = str(found.get("Description", ""))
    released, back = RELEASED.fullmatch(description), MOVED_BACK.fullmatch(description)
    if released and released["version"] == version:
        build, since, unproven, before = released.group("build", "since", "unproven", "before")
        return Alias(version, build, "", since, before or "", not unproven, revision)
    if back and back["version"] == version:
        return Alias(version, "", back["build"], back["since"], "", proven=True, revision=revision)
    return Alias(version, revision=revision)


def described(version: str, build: str, before: str = "", *, proven: bool) -> str:
    """Return the description of an alias that is moved to a version and its build now, or is `proven` now."""
    since = f"Version {version}, build {build} since {_now()}{'' if proven else ', not checked yet'}."
    return since + (f" Version before: {before}." if before else "")


def described_back(version: str, build: str) -> str:
    """Return the description of an alias that is moved back to a version from a build now."""
    return f"Version {version}, back from build {build} since {_now()}."


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


class AliasError(Exception):
    """An alias couldn't be read or moved, for example because it isn't allowed (`denied`). That may pass."""

    def __init__(self, message: str, *, denied: bool = False) -> None:
        super().__init__(message)
        self.denied = denied


class Functions:
    """The function of this name in every region. `arn` is that of another function in the same account."""

    def __init__(self, arn: str, name: str) -> None:
        self._partition, self._account = arn.split(":")[1], arn.split(":")[4]
        self._name = name

    def ask(self, region: str, qualifier: str) -> Ask:
        """Return how a version or an alias is asked."""
        function = f"arn:{self._partition}:lambda:{region}:{self._account}:function:{self._name}:{qualifier}"
        return lambda method, path: _invoked(function, method, path)

    def ask_url(self, region: str, url: str) -> Ask:
        """Return how the Function URL is asked, which ends with `/`. Each request is signed, as a caller's may be."""
        return lambda method, path: _called(region, method, url, path)

    def alias(self, region: str, name: str = LIVE_ALIAS) -> Alias | None:
        """Return where a region's alias leads to, or None if there is none, or no function (Lambda API, "GetAlias").

        Raises:
            AliasError: the region doesn't answer, or doesn't allow it.
        """
        try:
            return alias_of(self._about("GET", region, name))
        except (NoResponse, ServiceError) as error:
            if error.meaning == "gone":
                return None
            raise AliasError(str(error), denied=error.unaccepted) from error

    def aliases(self, regions: Iterable[str]) -> dict[str, Alias | AliasError | None]:
        """Return the same of several regions."""
        return in_each(regions, self.alias)

    def move(self, region: str, alias: Alias, version: str, description: str, name: str = LIVE_ALIAS) -> None:
        """Move a region's alias, if it is still as it was read (Lambda API, "UpdateAlias").

        Raises:
            AliasError: it isn't as it was read, or the region doesn't answer or doesn't allow it.
        """
        revision = {"RevisionId": alias.revision} if alias.revision else {}
        try:
            self._about("PUT", region, name, {"FunctionVersion": version, "Description": description, **revision})
        except (NoResponse, ServiceError) as error:
            raise AliasError(str(error), denied=error.unaccepted) from error

    def _about(self, method: str, region: str, name: str, wanted: Mapping[str, str] | None = None) -> Mapping[str, Any]:
        path, wait = f"aliases/{encoded(name)}", CONNECT_TIMEOUT
        found, _ = about(self._name, region, method, path, wanted, timeout=SHORT, connect_timeout=wait, attempts=2)
        return json_object(found)


def in_each(regions: Iterable[str], act: Callable[[str], Alias | None]) -> dict[str, Alias | AliasError | None]:
    """Do the same in all regions at the same time, and return what came of it: its result or its error."""

    def acted(region: str) -> Alias | AliasError | None:
        try:
            return act(region)
        except AliasError as error:
            return error

    each: Sequence[str] = list(dict.fromkeys(regions))
    with ThreadPoolExecutor(AT_ONCE) as threads:
        return dict(zip(each, threads.map(acted, each), strict=True))


def _invoked(function: str, method: str, path: str) -> MintResponse:
    """Return the answer of the minting function with this ARN."""
    try:
        document, log = invoke_with_log(function, _event(method, path), TIMEOUT)
    except InvocationFailed as failed:
        said = ": ".join(filter(None, ["an error of the function", failed.kind, str(failed)]))
        return MintResponse(said[:MOST], log=failed.log[-MOST_OF_LOG:])
    except (NoResponse, ServiceError) as error:  # AWS may not know the coordinator's new policy yet
        return MintResponse(str(error)[:MOST], passing=error.transient or error.unaccepted)
    return answer_of(document, log[-MOST_OF_LOG:])


def _called(region: str, method: str, url: str, path: str) -> MintResponse:
    """Return the answer of a Function URL."""
    endpoint = parsed("a Function URL", url)
    # Where AWS's own endpoints are elsewhere, so are Function URLs, under their host names.
    elsewhere = os.environ.get("AWS_ENDPOINT_URL")
    place = parsed("AWS_ENDPOINT_URL", elsewhere) if elsewhere else endpoint
    try:
        request = signed(method, endpoint, path, (), b"", credentials(), region, "lambda", int(time()))
        connection = connect(place, lambda: at_most(TIMEOUT))
        response = connection.exchange(request, at_most(TIMEOUT))
        connection.close()
    except NoResponse as error:
        return MintResponse(f"no response: {error}"[:MOST], passing=True)
    return _http_answer(response.status, response.headers, response.body)


def _http_answer(status: int, headers: Mapping[str, str], body: bytes) -> MintResponse:
    text = body.decode(errors="replace")
    answer = answer_of({"statusCode": status, "headers": headers, "body": text})
    # AWS itself refuses for some seconds what a new policy allows.
    refused = status == 403 and "detail" not in answer.document
    return MintResponse(answer.text, status, answer.document, answer.passing or refused or status >= 502)


def answer_of(response: Mapping[str, Any], log: str = "") -> MintResponse:
    """Read a response (payload format 2.0). It may be anything, since a bad build wrote it."""
    status, body = response.get("statusCode"), response.get("body")
    if not isinstance(status, int):
        return MintResponse(f"no HTTP response: {json.dumps(response)}"[:MOST], log=log)
    headers: Any = response.get("headers")
    names = [str(name).lower() for name in cast("Mapping[Any, Any]", headers)] if isinstance(headers, dict) else []
    passing = status == 429 or (status == 503 and "retry-after" in names)
    return MintResponse(f"{status} {body}"[:MOST], status, _object(body), passing, log)


def _object(body: object) -> Mapping[str, Any]:
    try:
        found: Any = json.loads(body) if isinstance(body, str) else None
    except ValueError:
        return {}
    return cast("Mapping[str, Any]", found) if isinstance(found, dict) else {}


def _event(method: str, path: str) -> dict[str, Any]:
    """Return an event without a domain name: by this the function knows that no caller sent it."""
    return {"version": "2.0", "rawPath": path, "requestContext": {"http": {"method": method}}}
