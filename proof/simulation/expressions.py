"""DynamoDB's expressions, translated into Python: that is as quick as a condition written in Python.

ministack knows the syntax of a condition, the reserved words, how values compare and what they take. What no request of
the functions has (most of DynamoDB's functions, `ADD`, a path into a document, a set, a fraction) is refused with
NotImplementedError. What DynamoDB refuses is `invalid`.
"""

import json
import marshal
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple
from unittest.mock import patch

from aws_client.service import ServiceError

Value = dict[str, Any]
"""An attribute's value in DynamoDB's own JSON, such as `{"N": "7"}`."""

Item = dict[str, Value]

with patch("threading.Thread.start"):  # Its thread would delete what has expired, by the clock of this process.
    MINISTACK: Any = import_module("ministack.services.dynamodb")

compare: Callable[[Value | None, str, Value | None], bool] = MINISTACK._compare_ddb
"""Returns whether one value is below another one, or as the sign says."""


@lru_cache(maxsize=20_000)
def _size(item: bytes) -> int:
    return int(MINISTACK._item_size_bytes(marshal.loads(item)))  # noqa: S302 (written below)


def size_of(item: Item) -> int:
    """Return the bytes of an item."""
    return _size(marshal.dumps(item, 2))  # without references, which equal items have or don't have


KINDS = frozenset(("S", "N", "BOOL", "NULL", "L", "M", "B", "BS", "SS", "NS"))
_ANY, _ORDERED, _NUMBER, _NONE = (frozenset(kinds).issuperset for kinds in (KINDS, "SNB", "N", ""))
_Allowed = Callable[[Value], bool]
"""Returns whether a value of the request may be in a place."""

OPERATORS: dict[str, tuple[str, tuple[_Allowed, ...]]] = {
    "=": ("({0} == {1} is not None)", (_ANY, _ANY)),
    "<>": ("(not {0} == {1} is not None)", (_ANY, _ANY)),
    **{sign: (f"compare({{0}}, {sign!r}, {{1}})", (_ORDERED, _ORDERED)) for sign in ("<", "<=", ">", ">=")},
    "attribute_exists": ("({0} is not None)", (_NONE,)),
    "attribute_not_exists": ("({0} is None)", (_NONE,)),
    "attribute_type": ("({1}['S'] in ({0} or ()))", (_ANY, lambda value: value.get("S") in KINDS)),
    "SET": ("present({0})", (_ANY,)),
    "SET+": ("total({0}, {1}, 1)", (_NUMBER, _NUMBER)),
    "SET-": ("total({0}, {1}, -1)", (_NUMBER, _NUMBER)),
    "REMOVE": ("None", ()),
}
"""A test, or what an update does → what it is in Python, and what is allowed as each operand."""

_WORD = r"([#:]\w+|[a-zA-Z]\w*)"
_TOKEN = re.compile(
    rf"(?<![#:\w])(?:(attribute_\w+)\s*\(\s*{_WORD}\s*(?:,\s*(:\w+)\s*)?\)|{_WORD}\s*([<>=]+)\s*{_WORD}|(AND|OR|NOT)\b)",
    re.ASCII | re.IGNORECASE,
)
_AND = re.compile(r"\s+AND\s+", re.IGNORECASE)
_SECTION = re.compile(r"(?<![#:\w])(SET|REMOVE)\s", re.ASCII | re.IGNORECASE)
_CHANGE = re.compile(rf"\s*{_WORD}\s*(?:=\s*{_WORD}\s*(?:([+-])\s*{_WORD}\s*)?)?", re.ASCII).fullmatch
_PATH = re.compile(r"#\w+|[a-zA-Z]\w*", re.ASCII).fullmatch
_REPLACING = re.compile(r"#(\w+) = :\1|attribute_not_exists\(#\w+\)", re.ASCII).fullmatch
_PLAIN = re.compile(r"0|-?[1-9]\d{0,37}", re.ASCII).fullmatch


def invalid(message: str) -> ServiceError:
    """Return the error of a request that is wrong."""
    return ServiceError(400, "ValidationException", message)


def check_value(value: Value) -> None:
    """Raise `invalid` if a value is none, or NotImplementedError if it may not be what is stored."""
    if len(value) == 1 and (isinstance(value.get("S"), str) or _PLAIN(str(value.get("N")))):
        return
    if refused := MINISTACK._validate_attribute_value("", value):
        raise invalid(json.loads(refused[2])["message"])
    if not value.keys() <= {"BOOL", "NULL", "L"}:
        raise NotImplementedError(f"a value that no function writes: {value}")
    for element in value.get("L", ()):
        check_value(element)


def present(value: Value | None) -> Value:
    """Return a value that there must be."""
    if value is None:
        raise invalid("The provided expression refers to an attribute that does not exist in the item")
    return value


def total(one: Value | None, other: Value | None, sign: int) -> Value:
    """Return the sum of two numbers, or their difference if `sign` is negative."""
    first, second = present(one).get("N"), present(other).get("N")
    if first is None or second is None:
        raise invalid("An operand in the update expression has an incorrect data type")
    result = str(int(first) + sign * int(second))
    if not _PLAIN(result) and (refused := MINISTACK._number_error(result)):
        raise invalid(refused)
    return {"N": result}


def refuse(text: str) -> Any:
    """Raise NotImplementedError for an expression that isn't known here."""
    raise NotImplementedError(f"Expression: {text!r}")


def distinct(words: list[str]) -> list[str]:
    """Return the sections or the attributes of an expression, or raise `invalid` if it has one twice."""
    if len({*words}) < len(words):
        raise invalid(f"Two document paths overlap with each other, or a section is used more than once: {words}")
    return words


@dataclass
class _Translation:
    """Translates expressions into Python, in which `i` is the item, and `v` are the values of the request."""

    _names: Mapping[str, str]
    places: dict[str, list[_Allowed]] = field(default_factory=dict[str, list[_Allowed]])
    """Gets the values of the request, each with what is allowed in its places."""

    def condition(self, text: str) -> list[tuple[str, str]]:
        """Return the tests that AND joins, each with its translation. With OR or parentheses, it is one test."""
        wrong = MINISTACK._condition_syntax_error(text, "") or MINISTACK._check_redundant_parens(
            MINISTACK._tokenize(text)
        )
        rest = _TOKEN.sub("", text)
        if wrong or not {*rest} <= {*" ()"}:
            refuse(text)
        one = "(" in rest or re.search(r"\bOR\b", text, re.IGNORECASE)
        return [(test, f"({_TOKEN.sub(self._test, test)})") for test in ([text] if one else _AND.split(text))]

    def changes(self, text: str) -> list[tuple[str, str]]:
        """Return the attributes that an update changes, each with its new value in Python."""
        before, *parts = _SECTION.split(text)
        if before.strip() or not parts:
            refuse(text)
        changes = list[tuple[str, str]]()
        for section, body in zip(distinct([part.upper() for part in parts[::2]]), parts[1::2], strict=True):
            for change in body.split(","):
                path, value, sign, added = (_CHANGE(change) or refuse(text)).groups("")
                changes.append((self.path(path), self._applied(section + sign, value, added)))
        return changes

    def path(self, word: str) -> str:
        """Return the attribute that a word of an expression stands for."""
        if word.upper() in MINISTACK.AWS_KEYWORDS:
            raise invalid(f"Attribute name is a reserved keyword; reserved keyword: {word}")
        return self._names.get(word, word) if _PATH(word) else refuse(word)

    def _test(self, found: re.Match[str]) -> str:
        function, path, kind, left, sign, right, joining = found.groups("")
        return joining.lower() or self._applied(function or sign, path or left, kind or right)

    def _applied(self, operator: str, *operands: str) -> str:
        words = [word for word in operands if word]
        template, allowed = OPERATORS.get(operator, ("", (_NONE,) * 3))
        if len(words) != len(allowed):
            refuse(f"{operator} {words}")
        for word, each in zip(words, allowed, strict=True):
            if word.startswith(":"):
                self.places.setdefault(word, []).append(each)
        values = [f"v[{word!r}]" if word.startswith(":") else f"i.get({self.path(word)!r})" for word in words]
        if len({*values}) < len(values) and values[0].startswith("i.") and "SET" not in operator:
            raise invalid(f"The first operand must be distinct from the remaining operands: {words}")
        return template.format(*values)


class Expressions(NamedTuple):
    """The expressions of a request, in Python."""

    test: Callable[[Item, Item], bool]
    """Returns whether the condition holds for an item and the request's values."""
    change: Callable[[Item, Item], Item]
    """Returns the item after the update."""
    places: Mapping[str, Sequence[_Allowed]]
    """The values of the request, each with what is allowed in its places."""
    tests: frozenset[str]
    """What AND joins in the condition. Those of a replacement are one, `unchanged`."""
    names: Sequence[str]
    """The attributes that are projected or changed."""


@lru_cache(maxsize=10_000)
def translated(
    condition: str | None,
    update: str | None,
    projection: str | None,
    names: tuple[tuple[str, str], ...],
    label: str,
    without: frozenset[str],
) -> Expressions:
    """Return expressions in Python, the condition without some of its tests. `names` are the request's, by `#name`.

    What tests are called begins with `label`.
    """
    known, translation = dict(names), _Translation(dict(names))
    if wrong := known.keys() ^ {*re.findall(r"#\w+", f"{condition} {update} {projection}", re.ASCII)}:
        raise invalid(f"Expression attribute names unused or not defined: {wrong}")
    tested = [] if condition is None else translation.condition(condition)
    named = [(label + ("unchanged" if _REPLACING(text) else text), test) for text, test in tested]
    tests = " and ".join(test for name, test in named if name not in without) or "True"
    changes = [] if update is None else translation.changes(update)
    changed = ", ".join(f"{name!r}: {value}" for name, value in changes)
    source = f"lambda i, v: {tests}, lambda i, v: {{n: a for n, a in {{**i, {changed}}}.items() if a}}"
    projected = [] if projection is None else [translation.path(path.strip()) for path in projection.split(",")]
    return Expressions(
        *eval(source),  # noqa: S307 (made from what is known)
        places=translation.places,
        tests=frozenset(name for name, _ in named),
        names=distinct(projected or [name for name, _ in changes]),
    )
