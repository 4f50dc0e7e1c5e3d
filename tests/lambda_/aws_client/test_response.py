"""A response is read correctly in whatever pieces it arrives, or is an error; nothing is guessed."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

from collections.abc import Iterable
from itertools import pairwise

import pytest
from aws_client.connection import MAX_BODY, MAX_HEAD, NoResponse, Response, read
from hypothesis import given, settings
from hypothesis import strategies as st

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: x\r\nCONTENT-LENGTH: 5\r\nX: 1\r\nx: 2\r\n\r\nhello"
CHUNKED = (
    b"HTTP/1.1 400 Bad Request\r\nTransfer-Encoding: Chunked\r\n\r\n"
    b"4;name=value\r\nhell\r\n01\r\no\r\n0\r\nTrailer: x\r\n\r\n"
)


def parsed(*parts: bytes) -> Response:
    arriving: Iterable[bytes] = iter(parts)
    return read(lambda: next(arriving, b""))


def cut(whole: bytes, places: Iterable[int]) -> list[bytes]:
    edges = [0, *sorted({place % len(whole) for place in places}), len(whole)]
    return [whole[a:b] for a, b in pairwise(edges) if a != b]


@given(st.sampled_from([PLAIN, CHUNKED]), st.lists(st.integers(0, 500), max_size=8))
def test_it_is_the_same_in_whatever_pieces_it_arrives(whole: bytes, places: list[int]) -> None:
    response = parsed(*cut(whole, places))

    assert response == parsed(whole)
    assert (response.body, response.last) == (b"hello", False)


def test_headers_and_status() -> None:
    assert parsed(PLAIN).headers == {"content-type": "x", "content-length": "5", "x": "1, 2"}
    assert (parsed(PLAIN).status, parsed(CHUNKED).status) == (200, 400)


@pytest.mark.parametrize("whole", [PLAIN, CHUNKED])
def test_an_incomplete_response_is_an_error(whole: bytes) -> None:
    for end in range(len(whole)):
        with pytest.raises(NoResponse):
            parsed(whole[:end])


@pytest.mark.parametrize(
    "last",
    [PLAIN + b"x", PLAIN.replace(b"1.1", b"1.0"), PLAIN.replace(b"X: 1", b"Connection: Close")],
)
def test_the_connection_cannot_be_used_again(last: bytes) -> None:
    assert parsed(last).last


LENGTHS = (
    *(b"Content-Length: +5", b"Content-Length: -5", b"Content-Length : 5", "Content-Length: ٥".encode()),
    *(b"Content-Length: " + b"9" * 5000, b"Content-Length: %d" % (MAX_BODY + 1), b"Transfer-Encoding: gzip, chunked"),
    *(b"Content-Length: 5\r\nContent-Length: 4", b"Content-Length: 5\r\nTransfer-Encoding: chunked"),
)


@pytest.mark.parametrize(
    "broken",
    [
        *(PLAIN.replace(b"HTTP/1.1 200", start) for start in (b"HTTP/2 200", b"HTTP/1.1 100", b"HTTP/1.1 2000")),
        *(PLAIN.replace(b"CONTENT-LENGTH: 5", length) for length in LENGTHS),
        *(PLAIN.replace(b"X: 1", line) for line in (b" folded", b"none", b"X: " + b"1" * (MAX_HEAD + 1000))),
        *(CHUNKED.replace(b"4;", size) for size in (b"-4;", b"3;", b"FFFFFFFF;")),
    ],
)
def test_an_unclear_response_is_an_error(broken: bytes) -> None:
    with pytest.raises(NoResponse, match="invalid response"):
        parsed(broken[: MAX_HEAD + 10], broken[MAX_HEAD + 10 :])


@settings(max_examples=300)
@given(
    st.binary(max_size=200) | st.builds(lambda a, b: a + b, st.sampled_from([PLAIN[:30], CHUNKED[:60]]), st.binary())
)
def test_any_bytes_are_a_response_or_an_error(anything: bytes) -> None:
    try:
        parsed(anything)
    except NoResponse:
        return
    assert anything.startswith(b"HTTP/1.")
