"""Checks the value of each setting by the table of `args.py`, and collects what is wrong."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from inspect import isawaitable
from typing import Any, Union, cast, get_args, get_origin

import pulumi

from .args import SETTINGS, GlobalIntegersArgs, Range


class Findings:
    """What is wrong with the settings, in the words of whoever set them.

    `key` returns what they call an attribute, `example` how they would set it to a value.
    """

    def __init__(
        self,
        key: Callable[[str], str] = str,
        example: Callable[[str, object], str] = lambda name, value: f"{name}={value!r}",
    ) -> None:
        self.key = key
        self.example = example
        self.errors: list[str] = []

    def of_known(self, check: Callable[["Findings"], object]) -> None:
        """Check a value that has become known, in the same words. Raise `RunError` if it is wrong."""
        found = Findings(self.key, self.example)
        check(found)
        if found.errors:
            raise pulumi.RunError("\n".join(found.errors))

    def add(self, name: str, what: str) -> None:
        """Add what is wrong with a setting, or with an entry of it: `alarms.latency`."""
        setting, dot, entry = name.partition(".")
        self.errors.append(f"{self.key(setting)}{dot}{entry}: {what}")

    def wrong(self, name: str, value: object, allowed: str) -> None:
        """Add that a value is wrong, with what is allowed. None is what YAML reads where nothing is written."""
        self.add(name, f"{'has no value, which' if value is None else repr(value)} {allowed}")

    def integer(self, name: str, value: object, least: int, most: int, allowed: str = "") -> int | None:
        """Return the value if it is an integer. Add what is wrong if it is none, or out of range."""
        number = whole(value)
        if number is None or not least <= number <= most:
            what = "is not an integer" if number is None else "is out of range"
            shown = value if number is None else number
            self.wrong(name, shown, f"{what}; {allowed or f'{least} to {most}'} are allowed")
        return number


def kind(name: str) -> type:
    """Return which of these the type of a setting is: `int`, `bool`, `str`, `Sequence` or `Mapping`."""
    return get_origin(_declared(name)) or _declared(name)


def _declared(name: str) -> Any:
    found = SETTINGS[name].type
    return get_args(found)[0] if get_origin(found) is Union else found


def checked(args: GlobalIntegersArgs, findings: Findings) -> Iterator[tuple[str, Any]]:
    """Return every setting, or its default if it has another type: lists as tuples, whole floats as integers."""
    for name, field in SETTINGS.items():
        allowed: Range = field.metadata["allowed"]
        passed = getattr(args, name)
        values_only = not allowed.later or (kind(name) is Mapping and is_later(passed))
        outputs = list(_outputs(name, passed)) if values_only else []
        for path in outputs:
            findings.add(path, NOT_LATER)
        check = _known_later if is_later(passed) else _CHECKS[kind(name)]
        value = None if outputs else check(name, passed, allowed, findings)
        default = tuple(allowed.default) if kind(name) is Sequence else allowed.default
        yield name, default if value is None else value


NOT_LATER = (
    "an output isn't known before other resources are made, and this setting decides which ones there are; pass the "
    "value itself, for example from the configuration (pulumi.Config)"
)


def is_later(value: object) -> bool:
    """Return whether it is an output: its value is known once other resources are made."""
    return isinstance(value, pulumi.Output) or isawaitable(value)


def _outputs(path: str, value: object) -> Iterator[str]:
    """Yield the paths of all outputs in a value."""
    if is_later(value):
        yield path
    elif isinstance(value, Mapping):
        for key, entry in cast("Mapping[object, object]", value).items():
            yield from _outputs(f"{path}.{key}", entry)
    elif isinstance(value, list | tuple):
        for entry in cast("Sequence[object]", value):
            yield from _outputs(path, entry)


def _integer(name: str, value: object, allowed: Range, findings: Findings) -> int | None:
    if not allowed.choices:
        return findings.integer(name, value, allowed.least, allowed.most)
    number, only = whole(value), ", ".join(map(str, allowed.choices))
    if number is None:
        findings.wrong(name, value, f"is not an integer; one of {only} is allowed")
    elif number not in allowed.choices:
        findings.wrong(name, number, f"is not allowed; one of {only} is")
    return number


def _boolean(name: str, value: object, _: Range, findings: Findings) -> bool | None:
    if isinstance(value, bool):
        return value
    findings.wrong(name, value, "is neither true nor false")
    return None


def _text(name: str, value: object, allowed: Range, findings: Findings) -> str | None:
    if not value and allowed.needed:
        findings.add(name, f"not set; {allowed.needed}: {findings.example(name, allowed.example)}")
        return None
    if not isinstance(value, str):
        findings.wrong(name, value, "is not a string")
        return None
    if allowed.choices and value not in allowed.choices:
        findings.wrong(name, value, f"is none of {' or '.join(map(str, allowed.choices))}")
    _check_pattern(name, value, allowed, findings)
    return value


def _check_pattern(name: str, value: str, allowed: Range, findings: Findings) -> None:
    if allowed.pattern and value != allowed.default and not allowed.pattern.fullmatch(value):
        findings.wrong(name, value, f"is not {allowed.wanted}")


def _list(name: str, value: object, allowed: Range, findings: Findings) -> tuple[Any, ...] | None:
    """Check a list of strings, each of which may be listed once, or only the types in a list of such lists."""
    how = findings.example(name, allowed.example)
    if value is None:
        findings.add(name, f"not set; {allowed.needed}: {how}")
        return None
    if _declared(name) != Sequence[str]:
        return _lists(name, value, how, findings)
    if not isinstance(value, list | tuple):
        findings.wrong(name, value, f"is not a list of strings: {how}")
        return None
    entries = cast("Sequence[object]", value)
    others = [(number, entry) for number, entry in enumerate(entries, 1) if not isinstance(entry, str)]
    for number, entry in others:
        findings.add(name, _no_string(f"entry {number}", entry))
    if others:
        return None
    if not entries and allowed.needed:
        findings.add(name, f"the list is empty; {allowed.needed}: {how}")
    strings = tuple(map(str, entries))
    for string, times in Counter(strings).items():
        if times > 1:
            findings.wrong(name, string, f"is listed {times} times; each may be listed once")
        _check_pattern(name, string, allowed, findings)
    return strings


def _no_string(which: str, value: object) -> str:
    """Return what to do about a value that should be a string."""
    if value is None:
        return f"{which} is empty; write a string there, or remove it"
    return f"{which}: {value!r} is not a string{'; put it in quotes' if isinstance(value, bool | int | float) else ''}"


def _lists(name: str, value: object, how: str, findings: Findings) -> tuple[tuple[str, ...], ...] | None:
    outer: Sequence[object] = cast("Any", value) if isinstance(value, list | tuple) else [None]
    lists = [cast("Sequence[object]", each) for each in outer if isinstance(each, list | tuple)]
    if len(lists) < len(outer) or not all(isinstance(entry, str) for each in lists for entry in each):
        findings.wrong(name, cast("object", value), f"is not a list of lists of regions: {how}")
        return None
    return tuple(tuple(map(str, each)) for each in lists)


def _object(name: str, value: object, allowed: Range, findings: Findings) -> dict[str, Any] | None:
    """Check an object's keys. Its values are checked later."""
    if not isinstance(value, Mapping):
        findings.wrong(name, value, f"is not an object of {allowed.wanted}: {findings.example(name, allowed.example)}")
        return None
    entries = cast("Mapping[object, Any]", value)
    for key in entries:
        if is_later(key):
            findings.add(name, NOT_LATER)
        elif not isinstance(key, str):
            findings.add(name, _no_string("a key", key))
    return {
        key: _known_later(f"{name}.{key}", entry, allowed, findings) if is_later(entry) else entry
        for key, entry in entries.items()
        if isinstance(key, str)
    }


def _known_later(name: str, value: Any, allowed: Range, findings: Findings) -> pulumi.Output[str]:
    """Return an output that fails if it has no value once it is known: another stack may have no such output.

    Or if its value isn't what the table of the settings allows.
    """
    setting, dot, entry = name.partition(".")
    what = "a tag's" if setting == "tags" else "an ARN"

    def known(text: object) -> str:
        if not isinstance(text, str) or not (text or setting == "tags"):
            raise pulumi.RunError(
                f"{findings.key(setting)}{dot}{entry}: the output's value is {text!r}, and not {what}"
            )
        findings.of_known(lambda found: _check_pattern(name, text, allowed, found))
        return text

    return pulumi.Output.from_input(value).apply(known)


_CHECKS: Mapping[type, Callable[[str, object, Range, Findings], Any]] = {
    int: _integer,
    bool: _boolean,
    str: _text,
    Sequence: _list,
    Mapping: _object,
}


def unknown_setting(name: str, known: Iterable[str], elsewhere: Iterable[str] = ()) -> str:
    """Return what is wrong with a setting that doesn't exist. `elsewhere`: others that may be meant."""
    if name == "headroom":
        return f"{name}: this setting is gone: what it said follows what each counter uses now; remove it"
    known = sorted(known)
    hint = did_you_mean(name, [*known, *elsewhere]) or f"; known are {', '.join(known)}"
    return f"{name}: there is no such setting{hint}"


NEAR = 0.75
"""How much of both words must be the same, from 0 to 1: `memory` is near `memorySize`, `port` isn't near `protect`."""


def did_you_mean(value: str, known: Iterable[str]) -> str:
    """Return a hint to the known word that `value` resembles, or an empty string if there is none."""
    close = get_close_matches(str(value), list(known), n=1, cutoff=NEAR)
    return f"; did you mean {close[0]!r}?" if close else ""


def whole(value: object) -> int | None:
    """Return the value if it is an integer, also one that arrives as a float (5.0), otherwise None."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def canonical(value: Mapping[str, Any]) -> str:
    """Return JSON text that is the same for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def written(value: object) -> str:
    """Return a value as people write it: a string as it is, everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)
