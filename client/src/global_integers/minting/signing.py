"""Signs requests for stacks with `authorization: AWS_IAM` (the default). Needs botocore.

Requests to a region are signed with AWS Signature Version 4. At a domain, a caller doesn't know which region answers.
So these requests have an asymmetric signature (Version 4A), which every region accepts. It also needs awscrt.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import httpx
    from botocore.credentials import Credentials

FUNCTION = "lambda"
"""The service that requests to a Function URL are signed for (Lambda guide, "Invoking Lambda function URLs")."""

API_GATEWAY = "execute-api"
"""The service that requests to a domain are signed for (API Gateway guide, "Control access to a REST API with IAM
permissions")."""

ANY_REGION = "*"

NEEDS_BOTOCORE = "signing needs botocore: pip install botocore"
NEEDS_CRT = 'signing for a domain needs botocore and awscrt: pip install "botocore[crt]"'

FUNCTION_URLS = ".on.aws"
"""The end of every Function URL's host, `<id>.lambda-url.<region>.on.aws`."""


class CannotSign(ValueError):
    """Requests must be signed, but botocore or the credentials are missing, or the credentials can't be had now."""


class Signature:
    """Signs requests for one region with the credentials that botocore finds and renews."""

    def __init__(self, region: str, credentials: "Credentials", service: str = FUNCTION) -> None:
        self._region = region
        self._credentials = credentials
        self._service = service

    def may_wait(self) -> bool:
        """Return whether signing may take a while, since the credentials must be fetched again."""
        refresh_needed: Any = getattr(self._credentials, "refresh_needed", None)
        return refresh_needed is not None and bool(refresh_needed())

    def sign(self, request: "httpx.Request") -> None:
        """Sign the request.

        Raises:
            CannotSign: the credentials can't be had now.
        """
        from botocore.awsrequest import AWSRequest

        signed = AWSRequest(method=request.method, url=str(request.url), data=request.content)
        for name in ("accept", "idempotency-key"):
            if name in request.headers:
                signed.headers[name] = request.headers[name]
        if self._region == ANY_REGION:
            from botocore.crt.auth import CrtSigV4AsymAuth as Signer
        else:
            from botocore.auth import SigV4Auth as Signer
        with _said_of_credentials():
            Signer(self._credentials, self._service, self._region).add_auth(signed)
        request.headers.update(dict(signed.headers.items()))


@contextmanager
def _said_of_credentials() -> Generator[None]:
    """Say what to do where botocore can't get the credentials that it looks for."""
    from botocore.exceptions import BotoCoreError

    try:
        yield
    except BotoCoreError as error:
        raise CannotSign(
            f"the AWS credentials can't be had: {str(error).rstrip('.')}. Check the environment (AWS_PROFILE, "
            "AWS_ACCESS_KEY_ID …), the profile or the role; `aws sts get-caller-identity` shows what they are"
        ) from error


def signatures(urls: Mapping[str, str], sign: bool | None) -> dict[str, Signature]:
    """Return how requests are signed, for the regions where they are.

    If `sign` is None, those to Function URLs are signed if botocore and credentials are found.

    Raises:
        CannotSign: see `found_credentials`.
    """
    wanted = [
        region
        for region, url in urls.items()
        if sign is True or (sign is None and (urlsplit(url).hostname or "").endswith(FUNCTION_URLS))
    ]
    credentials = found_credentials(required=sign is True) if wanted else None
    return {region: Signature(region, credentials) for region in wanted} if credentials is not None else {}


def found_credentials(*, required: bool, any_region: bool = False) -> "Credentials | None":
    """Return the credentials that botocore finds; with `any_region`, for signatures that every region accepts.

    Raises:
        CannotSign: they are required, and botocore, awscrt (for `any_region`) or the credentials are missing; or
            botocore fails while it looks for them, for instance because the profile is missing.
    """
    try:
        from botocore.compat import HAS_CRT
        from botocore.session import Session
    except ImportError:
        if required:
            raise CannotSign(NEEDS_CRT if any_region else NEEDS_BOTOCORE) from None
        return None
    if any_region and not HAS_CRT:
        raise CannotSign(NEEDS_CRT)
    with _said_of_credentials():
        credentials = Session().get_credentials()
    if credentials is None and required:
        raise CannotSign(
            "signing needs AWS credentials, and botocore finds none; set them in the environment, a profile or a role"
        )
    return credentials
