"""The reference of the client for TypeScript: what its package exports, as the sources declare and explain it."""

import re
from collections.abc import Iterator, Sequence

from local.paths import ROOT

SOURCES = ROOT / "client" / "typescript" / "src"

TITLES = {
    "Clients": "Integers Counter Taken",
    "Options": "Options CallOptions AbortOptions Urls Credentials",
    "Results": "Owner Health",
    "Errors": "GlobalIntegersError Refused FailedEverywhere UnknownCounter UnknownOwner Unavailable DeadlineExceeded "
    "CannotSign",
    "What an observer sees": "Event Requested FailedOver Leased",
    "Tests": "Stack Region Fault",
}
"""What the page has under each heading."""

COMMENT = r"((?:/\*\*(?:(?!\*/).)*?\*/\n)?)"
DECLARED = re.compile(
    rf"^{COMMENT}export (?:(class|interface) (\w+)(.*?^\}})|(type) (\w+)(.*?;))$", re.DOTALL | re.MULTILINE
)


def declarations() -> dict[str, str]:
    """Return each declaration that a file exports, with its comment, by its name."""
    found: dict[str, str] = {}
    for path in sorted(SOURCES.glob("*.ts")):
        for comment, *parts in DECLARED.findall(path.read_text()):
            kind, name, rest = filter(None, parts)
            head, *lines = rest.splitlines()
            text = rest if kind != "class" else "\n".join([head, *_members(lines), "}"])
            found[name] = f"{comment}{kind} {name}{text}"
    return found


def _members(lines: Sequence[str]) -> Iterator[str]:
    """Yield the public members of a class, without their bodies."""
    comment: list[str] = []
    signature: list[str] = []
    for line in lines:
        if not signature and re.match(r"  ( ?\*|/\*\*)", line):
            comment.append(line)
        elif signature or re.match(r"  [\w\[*]", line):
            signature.append(line)
            if line.endswith(("{", ";")):
                yield from _shown(comment, "\n".join(signature))
                comment, signature = [], []
        elif line.strip():  # of a body
            comment = []


def _shown(comment: Sequence[str], signature: str) -> Iterator[str]:
    text = "\n".join(comment)
    plain = re.sub(r"^  (async \*?|override )", "  ", signature).replace(", environment: Environment = REAL", "")
    if re.match(r"  (readonly )?#|  static readonly|  readonly name( =|: string =)", plain) or "@internal" in text:
        return
    if comment or "constructor" not in signature:
        yield from [*comment, re.sub(r" \{$", ";", plain)]


def reference(_: str = "") -> str:
    """Return the page."""
    found = declarations()
    lines = ["# TypeScript reference\n", "[The client](../client.md) explains how to use these.\n"]
    for title, names in TITLES.items():
        lines += [f"## {title}\n", "```ts", "\n\n".join(found[name] for name in names.split()), "```\n"]
    return "\n".join(lines)
