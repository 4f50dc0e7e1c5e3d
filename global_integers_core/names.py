"""What the settings, the minting function and the coordinator share: above all, the rules for counter names."""

import re

COUNTER_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
"""1 to 63 characters that need no escaping in a URL, a DynamoDB key or a mapping template."""

RESERVED = frozenset({"counter", "ping", "sping"})
"""Names that no new counter may have, since API Gateway has these paths itself: with a `domain`, `/ping` and `/sping`
(API Gateway guide, "Amazon API Gateway important notes"); and with `apiGateway`, `/counter?systemKey=` for every
counter. Whoever may call that path may mint from all of them."""

CHECK_COUNTER = "-check"
"""The counter of which an integer is minted to check a region. No setting and no caller can name it."""

DELETED = "deleted"
"""What an item is `held` for if its counter is deleted. All else is the token of the run that holds it for a while."""

LOSS_ID = re.compile(r"loss-[0-9a-f]{16}-[0-9]+")
"""What a refusal calls a loss, and the setting `recovery` answers. It is a text in YAML without quotes, too."""

NAMED = 10
"""How many counters a preview names. Of these, the record keeps the windows that are above the smallest."""

MAX_BLOCK = 100_000
"""The most integers that one request mints."""

MAX_LISTED = 1_000
"""The most integers that a response lists: 18 KB. A larger block comes in the short form, also if it is repeated."""

PREFETCH_HEADERS = ("sec-purpose", "purpose", "x-purpose", "x-moz")
PREFETCH_WORDS = ("prefetch", "prerender", "preview")
"""One of these headers has one of these words, in upper or lower case, if a browser, or a server for it, loads what may
be needed later: today's browsers (MDN, "Sec-Purpose"), and older versions of Chrome, Firefox and Safari."""

LIVE_ALIAS = "live"
"""The minting function's alias: what callers reach. It leads to a version that has been checked."""

DEPLOYMENTS_ALIAS = "deployments"
"""The coordinator's alias for deployments, the schedule and operators."""

MINTING_ALIAS = "minting"
"""The coordinator's alias, by which minting functions call it. Through it, the coordinator takes only what they may
ask for."""


def camel(name: str) -> str:
    """Return an attribute's name as stacks, records and programs in other languages write it: `memorySize`."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def reserved(counter: str) -> str:
    """Return why a name of `RESERVED` can't be given to a new counter."""
    return f"{counter!r} can't be a new counter's name: API Gateway has another use for the path /{counter}"


def no_counter(counter: str) -> str:
    """Return what a region says of a counter that it doesn't have. The coordinator's check looks for this text."""
    return f"there is no counter {counter!r} in this region"
