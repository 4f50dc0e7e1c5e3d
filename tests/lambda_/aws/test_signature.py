"""Signatures are the same as those of AWS's own client, whatever is sent."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

import datetime as dt
from unittest.mock import patch

import botocore.auth
import pytest
from aws.request import Credentials, encoded, signed, signing_key
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as TheirCredentials
from hypothesis import example, given, settings
from hypothesis import strategies as st

visible = st.characters(min_codepoint=0x21, max_codepoint=0x7E)
# As a URL may have it: "?" and "#" would end it, urlsplit takes "[" for an address.
part = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters="?#[]\\"), max_size=12)
path = st.lists(st.sampled_from(["", ".", "..", "a", "%2F", "%", "a:b", "~", "arn%3Aaws", "ü"]) | part, max_size=6).map(
    lambda parts: "/" + "/".join(parts)
)
pair = st.builds("{}={}".format, part, part) | part
query = st.lists(pair, max_size=5).map("&".join)
name = st.text(st.characters(codec="ascii", categories=["Ll", "Lu", "Nd"], include_characters="-"), min_size=1)
value = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=20)
usual = st.sampled_from(["Content-Type", "X-Amz-Target", "Connection", "User-Agent", "Expect", "TE", "x-amzn-trace-id"])
headers = st.dictionaries(usual | name, value, max_size=6).filter(
    lambda sent: (
        len({key.lower() for key in sent}) == len(sent)
        # Those that botocore adds itself, or reads the date or the checksum from.
        and not {key.lower() for key in sent}
        & {"host", "date", "x-amz-date", "x-amz-security-token", "authorization", "x-amz-content-sha256"}
    )
)
credentials = st.builds(
    Credentials,
    st.text(visible, min_size=1, max_size=20),
    st.text(st.characters(min_codepoint=0x20, max_codepoint=0x2FF), min_size=1, max_size=40),
    st.just("") | st.text(visible, min_size=1, max_size=60),
)
moment = st.integers(0, 2**33)
word = st.text(st.characters(codec="ascii", categories=["Ll", "Nd"], include_characters="-"), min_size=1, max_size=15)


def theirs(
    method: str, path: str, query: str, headers: dict[str, str], body: bytes, ours: Credentials, at: int, *scope: str
) -> dict[str, str]:
    """Return botocore's headers."""
    request = AWSRequest(method, f"https://example.com{path}{'?' * bool(query)}{query}", headers=headers, data=body)
    signer = botocore.auth.SigV4Auth(TheirCredentials(ours.access_key, ours.secret_key, ours.token or None), *scope)
    now = dt.datetime.fromtimestamp(at, dt.UTC)
    with patch("botocore.auth.get_current_datetime", lambda *_: now):
        signer.add_auth(request)
    return dict(request.headers.items())


@settings(max_examples=200, deadline=None)
@example(
    "POST", "/", "", {"X-Amz-Target": "DynamoDB_20120810.UpdateItem"}, b"{}", Credentials("a", "b", "c"), 0, "r", "s"
)
@example(
    "POST", "/2015-03-31/functions/arn%3Aaws%3Alambda/invocations", "", {}, b"", Credentials("a", "b"), 1, "r", "s"
)
@example("GET", "/a//./b/../c/", "b=2&a=&a&b=1&%20=%2F", {"X": "  a  b\t c "}, b"", Credentials("a", "b"), 1, "r", "s")
@given(
    st.sampled_from(["GET", "POST", "PUT"]),
    path,
    query,
    headers,
    st.binary(max_size=99),
    credentials,
    moment,
    word,
    word,
)
def test_a_signature_is_botocores(
    method: str,
    path: str,
    query: str,
    headers: dict[str, str],
    body: bytes,
    ours: Credentials,
    at: int,
    region: str,
    service: str,
) -> None:
    expected = theirs(method, path, query, headers, body, ours, at, service, region)

    made = signed(
        method, path, query, {"Host": "example.com", **headers}, body,
        credentials=ours, region=region, service=service, at=at,
    )  # fmt: skip

    assert made == {"Host": "example.com", **expected}


def test_the_key_is_derived_once_a_day_region_and_service() -> None:
    signing_key.cache_clear()
    day = 86_400

    def sign(at: float, region: str = "eu-west-1", service: str = "dynamodb", key: str = "s") -> str:
        user = Credentials("k", key)
        sent = signed("POST", "/", "", {"Host": "h"}, b"", credentials=user, region=region, service=service, at=at)
        return sent["Authorization"]

    assert len({sign(second) for second in range(0, day, day // 20)}) == 20
    assert signing_key.cache_info().misses == 1
    different = [sign(0), sign(day), sign(0, region="eu-west-2"), sign(0, service="lambda"), sign(0, key="t")]
    assert len(set(different)) == 5
    assert signing_key.cache_info().misses == 5


@pytest.mark.parametrize(("text", "expected"), [("a-b_c.d~9", "a-b_c.d~9"), ("a:b/ü", "a%3Ab%2F%C3%BC"), ("", "")])
def test_encoding(text: str, expected: str) -> None:
    assert encoded(text) == expected
