"""DynamoDB's expressions, translated into Python: that is as quick as a condition written in Python.

ministack knows the syntax of a condition, the reserved words, how values compare and what they take. What no request of
the functions has (most of DynamoDB's functions, `ADD`, a path into a document, a set, a fraction) is refused with
NotImplementedError. What DynamoDB refuses is `invalid`.
"""

import ast
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple

from aws_client.service import ServiceError

Value = dict[str, Any]
"""An attribute's value in DynamoDB's own JSON, such as `{"N": "7"}`."""

Item = dict[str, Value]

MINISTACK: Any = import_module("ministack.services.dynamodb")

compare: Callable[[Value | None, str, Value | None], bool] = MINISTACK._compare_ddb
"""Returns whether one value is below another one, or as the sign says."""

size_of: Callable[[Mapping[str, Value]], int] = MINISTACK._item_size_bytes
"""Returns the bytes of an item."""

KINDS = frozenset(("S", "N", "BOOL", "NULL", "L", "M", "B", "BS", "SS", "NS"))
_ANY, _ORDERED, _NUMBER, _NONE = (frozenset(kinds).issuperset for kinds in (KINDS, "SNB", "N", ""))
OPERATORS: dict[str, tuple[str, tuple[Callable[[Value], bool], ...]]] = {
    "=": ("({0} == {1} is not None)", (_ANY, _ANY)),
    "<>": ("(not {0} == {1} is not None)", (_ANY, _ANY)),
    **{sign: (f"compare({{0}}, {sign!r}, {{1}})", (_ORDERED, _ORDERED)) for sign in ("<", "<=", ">", ">=")},
    "attribute_exists": ("({0} is not None)", (_NONE,)),
    "attribute_not_exists": ("({0} is None)", (_NONE,)),
    "attribute_type": ("({1}['S'] in ({0} or ()))", (_NONE, lambda value: value.get("S") in KINDS)),
    "+": ("total({0}, {1}, 1)", (_NUMBER, _NUMBER)),
    "-": ("total({0}, {1}, -1)", (_NUMBER, _NUMBER)),
}
"""An operator or a function → what it is in Python, and whether a value of the request may be an operand, for each."""

_WORD = r"([#:]\w+|[a-zA-Z]\w*)"
_TEST = re.compile(
    rf"\b(attribute_\w+)\s*\(\s*{_WORD}\s*(?:,\s*{_WORD}\s*)?\)|(?<![#:\w]){_WORD}\s*([<>=]+)\s*{_WORD}", re.ASCII
)
_JOINING = re.compile(r"(?:[\s()]|\b(?:AND|OR|NOT)\b)*", re.ASCII | re.IGNORECASE).fullmatch
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


@dataclass
class _Translation:
    """Translates an expression into Python, in which `i` is the item, and `v` are the values of the request."""

    _kind: str
    _text: str
    _names: Mapping[str, str]
    checks: list[tuple[str, Callable[[Value], bool]]]
    """Gets the values that must be of some type, each with whether it is."""

    def condition(self) -> list[tuple[str, str]]:
        """Return the tests that AND joins, each with its translation."""
        error = MINISTACK._condition_syntax_error(self._text, self._kind)
        if error or MINISTACK._check_redundant_parens(MINISTACK._tokenize(self._text)):
            self._refuse()
        if not _JOINING(_TEST.sub(" ", self._text)):
            self._refuse()
        found = [*_TEST.finditer(self._text)]
        codes = [self._applied(each[1] or each[5], *filter(None, each.group(2, 3, 4, 6))) for each in found]
        numbers = iter(range(len(found)))
        joined = _TEST.sub(lambda _: f" t{next(numbers)} ", self._text).lower()
        tree: Any = ast.parse(f"({joined})", mode="eval").body  # such as `t0 and (t1 or t2)`
        parts = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree]

        def filled(text: str, tests: Sequence[str]) -> str:
            return re.sub(r"[tT](\d+)", lambda number: tests[int(number[1])], text)

        texts = [ast.unparse(part) for part in parts]
        return [(filled(text.upper(), [each[0] for each in found]), f"({filled(text, codes)})") for text in texts]

    def changes(self) -> dict[str, str]:
        """Return the attributes that an update changes, each with its new value in Python."""
        before, *parts = _SECTION.split(self._text)
        sections, names, values = [part.upper() for part in parts[::2]], list[str](), list[str]()
        for section, body in zip(sections, parts[1::2], strict=True):
            for path, value, sign, added in [
                (_CHANGE(change) or self._refuse()).groups() for change in body.split(",")
            ]:
                if (section == "SET") != bool(value):
                    self._refuse()
                names.append(self._path(path))
                new = (
                    self._applied(sign, value, added)
                    if sign
                    else f"present({self._operand(value)})"
                    if value
                    else "None"
                )
                values.append(new)
        if before.strip() or not sections:
            self._refuse()
        self._distinct(sections)
        return dict(zip(self._distinct(names), values, strict=True))

    def projected(self) -> list[str]:
        """Return the attributes that a projection names."""
        return self._distinct([self._path(path.strip()) for path in self._text.split(",")])

    def _applied(self, operator: str, *words: str) -> str:
        template, allowed = OPERATORS.get(operator, ("", ()))
        if len(words) != len(allowed) or (operator == "attribute_type" and words[1][0] != ":"):
            self._refuse()
        operands = [self._operand(word) for word in words]
        if operands[0] in operands[1:] and operands[0].startswith("i.") and operator not in ("+", "-"):
            raise self._wrong(f"The first operand must be distinct from the remaining operands: {words}")
        self.checks += [each for each in zip(words, allowed, strict=True) if each[0][0] == ":" and each[1] != _ANY]
        return template.format(*operands)

    def _operand(self, word: str) -> str:
        return f"v[{word!r}]" if word[0] == ":" else f"i.get({self._path(word)!r})"

    def _path(self, word: str) -> str:
        if word.upper() in MINISTACK.AWS_KEYWORDS:
            raise self._wrong(f"Attribute name is a reserved keyword; reserved keyword: {word}")
        return self._names.get(word, word) if _PATH(word) else self._refuse()

    def _distinct(self, words: list[str]) -> list[str]:
        if len({*words}) < len(words):
            raise self._wrong("Two document paths overlap with each other, or a section is used more than once")
        return words

    def _refuse(self) -> Any:
        raise NotImplementedError(f"{self._kind}: {self._text!r}")

    def _wrong(self, message: str) -> ServiceError:
        return invalid(f"Invalid {self._kind}: {message}")


class Expressions(NamedTuple):
    """The expressions of a request, in Python."""

    test: Callable[[Item, Item], bool]
    """Returns whether the condition holds for an item and the request's values."""
    change: Callable[[Item, Item], Item]
    """Returns the item after the update."""
    checks: Sequence[tuple[str, Callable[[Value], bool]]]
    """Values whose type must be one that their place allows, each with whether it is."""
    tests: frozenset[str]
    """What AND joins in the condition. Those of a replacement are one, `unchanged`."""
    values: frozenset[str]
    """The names that stand for values, and those that stand for nothing."""
    names: Sequence[str]
    """The attributes that are projected or changed."""


@lru_cache(maxsize=10_000)
def translated(
    condition: str | None,
    update: str | None,
    projection: str | None,
    names: tuple[tuple[str, str], ...],
    without: frozenset[str],
) -> Expressions:
    """Return expressions in Python, the condition without some of its tests. `names` are the request's, by `#name`."""
    known, checks = dict[str, str](names), list[tuple[str, Callable[[Value], bool]]]()
    used = {*re.findall(r"[#:]\w+", f"{condition} {update} {projection}", re.ASCII)}
    if known.keys() - used:
        raise invalid(f"Value provided in ExpressionAttributeNames unused in expressions: {known.keys() - used}")

    def translation(kind: str, text: str) -> _Translation:
        return _Translation(kind, text, known, checks)

    tested = [] if condition is None else translation("ConditionExpression", condition).condition()
    named = [("unchanged" if _REPLACING(text) else text, test) for text, test in tested]
    changes = {} if update is None else translation("UpdateExpression", update).changes()
    tests = " and ".join(test for name, test in named if name not in without) or "True"
    changed = ", ".join(f"{name!r}: {value}" for name, value in changes.items())
    source = f"lambda i, v: {tests}, lambda i, v: {{n: a for n, a in {{**i, {changed}}}.items() if a}}"
    paths = [*changes] if projection is None else translation("ProjectionExpression", projection).projected()
    texts, values = frozenset(name for name, _ in named), frozenset(used - known.keys())
    return Expressions(*eval(source), checks, texts, values, paths)  # noqa: S307 (made from what is known)
