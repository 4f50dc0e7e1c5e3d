"""Checks values by their type and range, and collects what is wrong."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, cast

INSTEAD = {
    "tags": "remove it: aws:defaultTags, a setting of Pulumi's AWS provider, has the tags of all resources",
    "logkmskeys": "remove it: the keys of kmsKeys encrypt the log groups too",
    "budgetemails": "remove it: the budget notifies alarmEmails",
}
"""What takes the place of a setting that earlier commits had, by its name in lower case without underscores."""


class ValueChecks:
    """Checks a setting's value and returns it. Each error adds a line to `errors`."""

    def __init__(
        self,
        values: Mapping[str, Any],
        key: Callable[[str], str],
        example: Callable[[str, object], str],
        errors: Sequence[str],
    ) -> None:
        self._values = values
        self._key = key
        self._example = example
        self.errors: list[str] = list(errors)

    def one_of(self, name: str, allowed: tuple[str, ...], *, default: str) -> str:
        """Return one of the allowed words."""
        value = self.text(name, default=default)
        if value not in allowed:
            self.wrong(name, value, f"is none of {' or '.join(allowed)}")
        return value

    def text(self, name: str, *, default: str) -> str:
        """Return a string."""
        value = self._values.get(name)
        if value is not None and not isinstance(value, str):
            self.wrong(name, value, "is not a string")
        return default if value is None else str(value)

    def integer(self, name: str, low: int, high: int, *, default: int, only: tuple[int, ...] = ()) -> int:
        """Return an integer from `low` to `high`, or one of `only`."""
        value = self._values.get(name)
        if value is None:
            return default
        number = whole(value)
        if number is None:
            allowed = f"one of {', '.join(map(str, only))} is" if only else f"{low} to {high} are"
            self.wrong(name, value, f"is not an integer; {allowed} allowed")
            return default
        if only and number not in only:
            self.wrong(name, number, f"is not allowed; one of {', '.join(map(str, only))} is")
        elif not low <= number <= high:
            self.wrong(name, number, f"is out of range; {low} to {high} are allowed")
        return number

    def boolean(self, name: str, *, default: bool) -> bool:
        """Return true or false."""
        value = self._values.get(name)
        if value is not None and not isinstance(value, bool):
            self.wrong(name, value, "is neither true nor false")
        return default if value is None else bool(value)

    def strings(
        self, name: str, default: tuple[str, ...] | None, example: Sequence[str], *, may_be_empty: bool = False
    ) -> tuple[str, ...]:
        """Return a list of strings, each of which may be listed once."""
        value = self._values.get(name)
        how = self._example(name, example)
        if value is None and default is not None:
            return default
        if value is None:
            self.errors.append(f"{self._key(name)}: not set; at least one is needed: {how}")
            return ()
        if not isinstance(value, list | tuple):
            self.wrong(name, cast("object", value), f"is not a list of strings: {how}")
            return ()
        others = [entry for entry in cast("Sequence[Any]", value) if not isinstance(entry, str)]
        if others:
            for entry in others:
                self.wrong(name, entry, "is not a string; put it in quotes")
            return ()
        if not value and not may_be_empty:
            self.errors.append(f"{self._key(name)}: the list is empty; at least one is needed: {how}")
        strings = tuple(cast("Sequence[str]", value))
        for string in dict.fromkeys(strings):
            if strings.count(string) > 1:
                self.wrong(name, string, f"is listed {strings.count(string)} times; each may be listed once")
        return strings

    def mapping(self, name: str, example: Mapping[str, Any]) -> dict[str, Any]:
        """Return an object with strings as keys, whose values aren't checked yet."""
        value = self._values.get(name)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            self.wrong(name, cast("object", value), f"is not an object: {self._example(name, example)}")
            return {}
        entries = cast("Mapping[Any, Any]", value)
        for key in entries:
            if not isinstance(key, str):
                self.wrong(name, key, "is not a string; put it in quotes")
        return {key: entry for key, entry in entries.items() if isinstance(key, str)}

    def value(self, name: str) -> object:
        """Return a value as it was given; None if it wasn't."""
        return self._values.get(name)

    def example(self, name: str, value: object) -> str:
        """Return how the reader would set a setting to a value."""
        return self._example(name, value)

    def key(self, name: str) -> str:
        """Return what the reader calls a setting."""
        return self._key(name)

    def wrong(self, name: str, value: object, allowed: str) -> None:
        """Add that the value of a setting is wrong, with what is allowed."""
        self.errors.append(f"{self._key(name)}: {value!r} {allowed}")


def camel(name: str) -> str:
    """Return an attribute's name as stacks and programs in other languages write it: `memorySize`."""
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def unknown_setting(name: str, known: Iterable[str]) -> str:
    """Return what is wrong with a setting that doesn't exist."""
    known = sorted(known)
    instead = INSTEAD.get(name.replace("_", "").lower())
    hint = f"; {instead}" if instead else did_you_mean(name, known) or f"; known are {', '.join(known)}"
    return f"{name}: there is no such setting{hint}"


def did_you_mean(value: str, known: Iterable[str]) -> str:
    """Return a hint to the known word that `value` resembles, or an empty string if there is none."""
    close = get_close_matches(str(value), list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def whole(value: object) -> int | None:
    """Return the value if it is an integer, also one that arrives as a float (5.0), otherwise None."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def canonical(value: Mapping[str, Any]) -> str:
    """Return JSON text that is the same for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
