"""Signs requests to an address and to its regions (`authorization: AWS_IAM`).

A caller doesn't know which region answers at the address. So these requests have an asymmetric signature (Signature
Version 4A), which every region accepts. It needs awscrt: `pip install "global-integers-client[address]"`. Requests to
a region's own name have the usual signature (Version 4).
"""

from typing import Any

import httpx

from .signing import CannotSign, Signature, found_credentials

SERVICE = "execute-api"
"""API Gateway's name in signatures (API Gateway guide, "Control access to a REST API with IAM permissions")."""

ANY_REGION = "*"

NEEDS = 'signing for an address needs botocore and awscrt: pip install "global-integers-client[address]"'


class AnyRegionSignature(Signature):
    """Signs requests with a signature that every region accepts."""

    def _signer(self) -> Any:
        from botocore.crt.auth import CrtSigV4AsymAuth

        return CrtSigV4AsymAuth(self._credentials, self._service, self._region)


class AddressSignatures(dict[str, httpx.Auth | None]):
    """How requests are signed, by region: the address itself, `name`, is signed for any region.

    A company's own host name doesn't show whether requests must be signed. So the client begins without signatures,
    unless `sign` is True, and signs everything after the first refusal.
    """

    def __init__(self, name: str, sign: bool | None) -> None:
        """Prepare.

        Raises:
            CannotSign: `sign` is True, and botocore, awscrt or the credentials are missing.
        """
        super().__init__()
        self._name = name
        self._sign = sign
        self._credentials: Any = _credentials() if sign else None

    def __missing__(self, region: str) -> httpx.Auth | None:
        """Return how a region's requests are signed, None if they aren't."""
        if self._credentials is None:
            return None
        kind = AnyRegionSignature if region == self._name else Signature
        signed_for = ANY_REGION if region == self._name else region
        self[region] = kind(signed_for, self._credentials, SERVICE)
        return self[region]

    @property
    def begun(self) -> bool:
        """Whether requests are signed now."""
        return self._credentials is not None

    def begin(self) -> bool:
        """Sign from now on, if another call hasn't begun already. Return False if requests are never signed.

        Raises:
            CannotSign: botocore, awscrt or the credentials are missing.
        """
        if self._sign is False:
            return False
        if self._credentials is None:
            self._credentials = _credentials()
        return True


def _credentials() -> Any:
    try:
        from botocore.compat import HAS_CRT
    except ImportError:
        raise CannotSign(NEEDS) from None
    if not HAS_CRT:
        raise CannotSign(NEEDS)
    return found_credentials(required=True)
