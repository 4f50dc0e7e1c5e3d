"""Signatures are the same as those of AWS's own client, whatever is sent."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

import datetime as dt
from unittest.mock import patch

import botocore.auth
from aws_client.signed_request import Credentials, Endpoint, signed
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as TheirCredentials
from hypothesis import example, given, settings
from hypothesis import strategies as st

visible = st.characters(min_codepoint=0x21, max_codepoint=0x7E)
# As a URL may have it: "?" and "#" would end it, urlsplit takes "[" for an address.
part = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters="?#[]\\"), max_size=12)
path = st.lists(st.sampled_from(["", ".", "..", "a", "%2F", "%", "a:b", "~", "arn%3Aaws"]) | part, max_size=6).map(
    lambda parts: "/" + "/".join(parts)
)
name = st.text(st.characters(codec="ascii", categories=["Ll", "Lu", "Nd"], include_characters="-"), min_size=1)
value = st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=20)
usual = st.sampled_from(["Content-Type", "X-Amz-Target"])
# Those that botocore adds itself, or reads the date or the checksum from.
own = {"host", "accept-encoding", "date", "x-amz-date", "x-amz-security-token", "authorization", "x-amz-content-sha256"}
# And those that it doesn't sign, and that this function never sends.
excluded = own | set(botocore.auth.SIGNED_HEADERS_BLACKLIST)
headers = st.dictionaries(usual | name, value, max_size=6).filter(
    lambda sent: len(lower := {key.lower() for key in sent}) == len(sent) and not lower & excluded
)
credentials = st.builds(
    Credentials,
    st.text(visible, min_size=1, max_size=20),
    st.text(st.characters(min_codepoint=0x20, max_codepoint=0x2FF), min_size=1, max_size=40),
    st.just("") | st.text(visible, min_size=1, max_size=60),
)
moment = st.integers(0, 2**33)
word = st.text(st.characters(codec="ascii", categories=["Ll", "Nd"], include_characters="-"), min_size=1, max_size=15)


def made(headers: dict[str, str], body: bytes, key: Credentials, at: int, *scope: str, path: str = "/") -> list[str]:
    """Return the first line and the headers of our request."""
    endpoint = Endpoint(secure=True, host="example.com", port=443, path="/below")
    head, _, sent = signed("POST", endpoint, path, tuple(headers.items()), body, key, *scope, at).partition(b"\r\n\r\n")
    assert sent == body
    return head.decode().split("\r\n")


def theirs(headers: dict[str, str], body: bytes, ours: Credentials, at: int, *scope: str, path: str) -> dict[str, str]:
    """Return botocore's headers."""
    request = AWSRequest("POST", f"https://example.com/below{path}", headers=headers, data=body)
    signer = botocore.auth.SigV4Auth(TheirCredentials(ours.access_key, ours.secret_key, ours.token or None), *scope)
    now = dt.datetime.fromtimestamp(at, dt.UTC)
    with patch("botocore.auth.get_current_datetime", lambda *_: now):
        signer.add_auth(request)
    return dict(request.headers.items())


@settings(max_examples=200)
@example("/", {"X-Amz-Target": "DynamoDB_20120810.UpdateItem"}, b"{}", Credentials("a", "b", "c"), 0, "r", "s")
@example("/2015-03-31/functions/arn%3Aaws%3Alambda/invocations", {}, b"", Credentials("a", "b"), 1, "r", "s")
@example("/a//./b/../c/", {"X": "  a  b\t c "}, b"", Credentials("a", "b"), 1, "r", "s")
@given(path, headers, st.binary(max_size=99), credentials, moment, word, word)
def test_a_signature_is_botocores(
    path: str, headers: dict[str, str], body: bytes, ours: Credentials, at: int, region: str, service: str
) -> None:
    expected = theirs(headers, body, ours, at, service, region, path=path)

    first, *lines = made(headers, body, ours, at, region, service, path=path)

    assert first == f"POST /below{path} HTTP/1.1"
    sent = {"Host": "example.com", "Accept-Encoding": "identity", **expected, "Content-Length": str(len(body))}
    assert sorted(lines) == sorted(f"{name}: {value}" for name, value in sent.items())
