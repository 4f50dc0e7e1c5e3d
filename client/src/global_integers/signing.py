"""Signs requests with AWS Signature Version 4, for stacks with `authorization: AWS_IAM` (the default).

Needs botocore: `pip install "global-integers-client[aws]"`.
"""

import asyncio
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from botocore.credentials import Credentials

SERVICE = "lambda"
"""The service that requests are signed for (Lambda guide, "Invoking Lambda function URLs")."""

FUNCTION_URLS = ".on.aws"
"""The end of every Function URL's host, `<id>.lambda-url.<region>.on.aws`."""


class CannotSign(ValueError):
    """Requests must be signed, but botocore or the credentials are missing, or the credentials can't be had now."""


class Signature(httpx.Auth):
    """Signs every request for one region with the credentials that botocore finds and renews."""

    requires_request_body = True

    def __init__(self, region: str, credentials: "Credentials", service: str = SERVICE) -> None:
        """Sign for this region and service."""
        self._region = region
        self._credentials = credentials
        self._service = service

    def sync_auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Sign the request."""
        self._sign(request)
        yield request

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Sign the request, in a thread if the credentials may have to be fetched again."""
        refresh_needed: Any = getattr(self._credentials, "refresh_needed", None)
        if refresh_needed is not None and refresh_needed():
            await asyncio.to_thread(self._sign, request)
        else:
            self._sign(request)
        yield request

    def _sign(self, request: httpx.Request) -> None:
        from botocore.awsrequest import AWSRequest

        signed = AWSRequest(method=request.method, url=str(request.url), data=request.content)
        for name in ("accept", "idempotency-key"):
            if name in request.headers:
                signed.headers[name] = request.headers[name]
        with _said_of_credentials():
            self._signer().add_auth(signed)
        request.headers.update(dict(signed.headers.items()))

    def _signer(self) -> Any:
        from botocore.auth import SigV4Auth

        return SigV4Auth(self._credentials, self._service, self._region)


@contextmanager
def _said_of_credentials() -> Generator[None]:
    """Say what to do where botocore can't get the credentials that it looks for, as of a missing profile."""
    from botocore.exceptions import BotoCoreError

    try:
        yield
    except BotoCoreError as error:
        raise CannotSign(
            f"the AWS credentials can't be had: {error} Check the environment (AWS_PROFILE, AWS_ACCESS_KEY_ID …), the "
            "profile or the role; `aws sts get-caller-identity` shows what they are"
        ) from error


def signatures(urls: Mapping[str, str], sign: bool | None) -> dict[str, httpx.Auth | None]:
    """Return how each region's requests are signed, None where they aren't.

    Args:
        urls: the URLs by region.
        sign: True or False, or None to sign requests to Function URLs if botocore and credentials are found.

    Raises:
        CannotSign: `sign` is True, and botocore or the credentials are missing.
    """
    wanted = {
        region: sign is not False and (sign is True or (httpx.URL(url).host or "").endswith(FUNCTION_URLS))
        for region, url in urls.items()
    }
    credentials = found_credentials(required=sign is True) if any(wanted.values()) else None
    return {
        region: Signature(region, credentials) if wanted[region] and credentials is not None else None
        for region in urls
    }


def found_credentials(*, required: bool) -> "Credentials | None":
    """Return the credentials that botocore finds, or None.

    Raises:
        CannotSign: they are `required`, and they or botocore are missing.
    """
    try:
        from botocore.session import Session
    except ImportError:
        if required:
            raise CannotSign('signing needs botocore: pip install "global-integers-client[aws]"') from None
        return None
    with _said_of_credentials():
        credentials = Session().get_credentials()
    if credentials is None and required:
        raise CannotSign(
            "signing needs AWS credentials, and botocore finds none; set them in the environment, a profile or a role"
        )
    return credentials
