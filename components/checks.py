"""Checks one setting after the other, and collects what is wrong."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from typing import Any, cast

from integers.lattice import MAX_FLOOR, MAX_REGIONS
from integers.names import COUNTER_NAME

from .global_integers_args import GlobalIntegersArgs
from .partitions import partitions
from .resource_names import MAX_ROLE_NAME, PREFIX, ResourceNames

ORIGIN = re.compile(r"\*|https?://[a-z0-9.-]+(:[0-9]{1,5})?", re.IGNORECASE)
"""Lambda API reference, Cors: an origin, or every one."""

ATTRIBUTES = tuple(field.name for field in fields(GlobalIntegersArgs))


class Checks:
    """Checks each setting and returns its value. Each error adds a line to `errors`."""

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
        self.errors = list(errors)

    def home(self) -> str:
        """Return the home region, empty if there is none."""
        home = self._values.get("home")
        if not home:
            self.errors.append(
                f"{self._key('home')}: not set; it is the home region, with the layouts table and the coordinator: "
                f"{self._example('home', 'us-east-1')}"
            )
            return ""
        if not isinstance(home, str):
            self._wrong("home", home, "is not a string")
            return ""
        self._check_region("home", home)
        return home

    def regions(self, home: str) -> tuple[str, ...]:
        """Return the regions. They must be different AWS regions, in the home region's partition."""
        regions = self._strings("regions", None, ["us-east-1", "eu-west-1"])
        for region in dict.fromkeys(regions):
            self._check_region("regions", region)
        self._check_repeats("regions", regions)
        if len(regions) > MAX_REGIONS:
            self.errors.append(f"{self._key('regions')}: {len(regions)} regions; at most {MAX_REGIONS} are possible")
        found = {partitions().get(region) for region in (*regions, home)} - {None}
        if len(found) > 1:
            listed = ", ".join(sorted(map(str, found)))
            self.errors.append(
                f"{self._key('regions')}: with {self._key('home')} they lie in different AWS partitions ({listed}); "
                "a stack belongs to one account, and so to one partition"
            )
        return regions

    def counters(self) -> tuple[str, ...]:
        """Return the counters' names, each once."""
        counters = self._strings("counters", ("integers",), ["integers"])
        for counter in dict.fromkeys(counters):
            self._check_counter("counters", counter)
        self._check_repeats("counters", counters)
        return counters

    def floors(self) -> dict[str, int]:
        """Return the floors by counter."""
        value = self._values.get("floors")
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            how = self._example("floors", {"integers": 5_000_000})
            self._wrong("floors", value, f"is not an object of counters and integers: {how}")
            return {}
        floors: dict[str, int] = {}
        for counter, floor in cast("Mapping[Any, Any]", value).items():
            if not isinstance(counter, str):
                self._wrong("floors", counter, "is not a counter's name")
                continue
            self._check_counter("floors", counter)
            number = _whole(floor)
            if number is not None and 1 <= number <= MAX_FLOOR:
                floors[counter] = number
            else:
                what = "is not an integer" if number is None else "is out of range"
                self.errors.append(
                    f"{self._key('floors')}.{counter}: {floor!r} {what}; 1 to {MAX_FLOOR} (2^52) are allowed"
                )
        return floors

    def origins(self) -> tuple[str, ...]:
        """Return the origins that may call from a browser."""
        origins = self._strings("cors_origins", (), ["https://shop.example"], may_be_empty=True)
        for origin in dict.fromkeys(origins):
            if not ORIGIN.fullmatch(origin):
                self._wrong("cors_origins", origin, "is not an origin like https://shop.example, nor *")
        self._check_repeats("cors_origins", origins)
        return origins

    def one_of(self, name: str, allowed: tuple[str, ...], *, default: str) -> str:
        """Return one of the allowed words."""
        value = self.text(name, default=default)
        if value not in allowed:
            self._wrong(name, value, f"is none of {' or '.join(allowed)}")
        return value

    def text(self, name: str, *, default: str) -> str:
        """Return a string."""
        value = self._values.get(name)
        if value is not None and not isinstance(value, str):
            self._wrong(name, value, "is not a string")
        return default if value is None else str(value)

    def integer(self, name: str, low: int, high: int, *, default: int, only: tuple[int, ...] = ()) -> int:
        """Return an integer from `low` to `high`, or one of `only`."""
        value = self._values.get(name)
        if value is None:
            return default
        number = _whole(value)
        if number is None:
            allowed = f"one of {', '.join(map(str, only))} is" if only else f"{low} to {high} are"
            self._wrong(name, value, f"is not an integer; {allowed} allowed")
            return default
        if only and number not in only:
            self._wrong(name, number, f"is not allowed; one of {', '.join(map(str, only))} is")
        elif not low <= number <= high:
            self._wrong(name, number, f"is out of range; {low} to {high} are allowed")
        return number

    def boolean(self, name: str, *, default: bool) -> bool:
        """Return true or false."""
        value = self._values.get(name)
        if value is not None and not isinstance(value, bool):
            self._wrong(name, value, "is neither true nor false")
        return default if value is None else bool(value)

    def prefix(self, names: ResourceNames, regions: Iterable[str], *, gateway: bool) -> None:
        """Check that the prefix makes names that AWS takes."""
        if not PREFIX.fullmatch(names.prefix):
            self._wrong("prefix", names.prefix, "may hold letters, digits, - and _ only, as a Lambda function's name")
        room = names.room(regions, gateway=gateway)
        if len(names.prefix) > room:
            self._wrong(
                "prefix",
                names.prefix,
                f"has {len(names.prefix)} characters; with these regions at most {room} are possible, since IAM limits "
                f"a role's name to {MAX_ROLE_NAME}",
            )

    def unknown_keys(self) -> None:
        """Check that every key is a setting."""
        known = list(map(self._key, ATTRIBUTES))
        self.errors += [unknown_setting(name, known) for name in self._values if name not in ATTRIBUTES]

    def _strings(
        self, name: str, default: tuple[str, ...] | None, example: Sequence[str], *, may_be_empty: bool = False
    ) -> tuple[str, ...]:
        value = self._values.get(name)
        how = self._example(name, example)
        if value is None and default is not None:
            return default
        if value is None:
            self.errors.append(f"{self._key(name)}: not set; at least one is needed: {how}")
            return ()
        if not isinstance(value, list | tuple) or not all(isinstance(s, str) for s in cast("Sequence[Any]", value)):
            self._wrong(name, cast("object", value), f"is not a list of strings: {how}")
            return ()
        if not value and not may_be_empty:
            self.errors.append(f"{self._key(name)}: the list is empty; at least one is needed: {how}")
        return tuple(cast("Sequence[str]", value))

    def _wrong(self, name: str, value: object, allowed: str) -> None:
        self.errors.append(f"{self._key(name)}: {value!r} {allowed}")

    def _check_counter(self, name: str, counter: str) -> None:
        if not COUNTER_NAME.fullmatch(counter):
            self._wrong(name, counter, f"is not a counter's name; it must match {COUNTER_NAME.pattern}")

    def _check_region(self, name: str, region: str) -> None:
        if region not in partitions():
            hint = _did_you_mean(region, partitions())
            self._wrong(name, region, f"is not an AWS region{hint or '; see aws account list-regions'}")

    def _check_repeats(self, name: str, values: tuple[str, ...]) -> None:
        for value in dict.fromkeys(values):
            if values.count(value) > 1:
                self._wrong(name, value, f"is listed {values.count(value)} times; each may be listed once")


def unknown_setting(name: str, known: Iterable[str]) -> str:
    """Return what is wrong with a setting that doesn't exist."""
    known = sorted(known)
    hint = _did_you_mean(name, known) or f"; known are {', '.join(known)}"
    return f"{name}: there is no such setting{hint}"


def _did_you_mean(value: str, known: Iterable[str]) -> str:
    """Return a hint at the known word that `value` resembles, empty if there is none."""
    close = get_close_matches(str(value), list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def _whole(value: object) -> int | None:
    """Return an integer that may have travelled as a float."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
