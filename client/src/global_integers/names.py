"""The API's rules for names and keys (docs/api.md). Wrong ones are refused before anything is sent."""

import re

COUNTER_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
KEY = re.compile(r"[\x21-\x7e]{1,255}")

REGION = re.compile(r"[a-z]+(-[a-z]+)+-[1-9][0-9]?")
"""AWS's names of regions, like eu-west-1."""

MAX_INTEGER = 2**53 - 1
"""The largest integer that is ever minted."""

MAX_BLOCK = 100_000
"""The largest number of integers that one request mints."""


def checked_counter(name: str) -> str:
    """Return the name if a counter can have it.

    Raises:
        ValueError: no counter can have this name.
    """
    if not COUNTER_NAME.fullmatch(name):
        raise ValueError(f"{name!r} is not a counter's name; it must match {COUNTER_NAME.pattern}")
    return name


def checked_size(count: int) -> int:
    """Return how many integers are to be taken.

    Raises:
        ValueError: it is not an integer from 0 on.
    """
    if type(count) is not int or count < 0:
        raise ValueError(f"{count!r} is not an integer from 0 on")
    return count


def key_header(key: str) -> str:
    """Return the value of the header `Idempotency-Key`: the key, quoted (RFC 8941) where a bare one is ambiguous.

    Raises:
        ValueError: the key is not 1 to 255 visible ASCII characters.
    """
    if not KEY.fullmatch(key):
        raise ValueError(f"key {key[:40]!r} is not 1 to 255 visible ASCII characters, without spaces")
    if "," not in key and not key.startswith('"'):
        return key
    return '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'
