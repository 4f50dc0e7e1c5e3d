"""DynamoDB's expressions, translated into Python: that is as quick as a condition written in Python.

What no request of the functions has (most of DynamoDB's functions, `ADD`, a path into a document, a set, a fraction) is
refused with NotImplementedError. What DynamoDB refuses is `invalid`.
"""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from math import nan
from pathlib import Path
from typing import Any, NamedTuple

from aws_client.service import ServiceError

Value = dict[str, Any]
"""An attribute's value in DynamoDB's own JSON, such as `{"N": "7"}`."""

Item = dict[str, Value]

DIGITS = 38
"""Digits of a number."""

KINDS = ("S", "N", "BOOL", "NULL", "L", "M", "B", "BS", "SS", "NS")
_ORDERED = ("S", "N")
OPERATORS: dict[str, tuple[str, tuple[tuple[str, ...], ...]]] = {
    "Eq": ("({0} == {1} is not None)", (KINDS, KINDS)),
    "NotEq": ("(not {0} == {1} is not None)", (KINDS, KINDS)),
    "Lt": ("(order({0}, {1}) < 0)", (_ORDERED, _ORDERED)),
    "LtE": ("(order({0}, {1}) <= 0)", (_ORDERED, _ORDERED)),
    "Gt": ("(order({0}, {1}) > 0)", (_ORDERED, _ORDERED)),
    "GtE": ("(order({0}, {1}) >= 0)", (_ORDERED, _ORDERED)),
    "attribute_exists": ("({0} is not None)", ((),)),
    "attribute_not_exists": ("({0} is None)", ((),)),
    "attribute_type": ("({1}['S'] in ({0} or ()))", (KINDS, ("S",))),
    "Add": ("total({0}, {1}, 1)", (("N",), ("N",))),
    "Sub": ("total({0}, {1}, -1)", (("N",), ("N",))),
}
"""An operator, as `ast` calls it, or a function → what it is in Python, and the types that a value may have, for each
operand that is a value of the request."""

_SIGNS = {"=": "==", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_PYTHON = {**_SIGNS, "AND": "and", "OR": "or", "NOT": "not", "#": "n_", ":": "v_", "": "p_"}
_DYNAMODB = {python: word for word, python in _PYTHON.items()}
_TOKEN = re.compile(r"([#:]?)(\w+)|[<>=]+", re.ASCII)
_TRANSLATED = re.compile(r"\b[nvp]_|==|!=|\b(?:and|or|not)\b", re.ASCII)
_UNKNOWN = re.compile(
    r"[^\w\s#:<>=(),+-] | [#:](?!\w)"
    r"| (?<!\w)\(\s*\((?:[^()]|\([^()]*\))*\)\s*\)"  # redundant parentheses
    r"| [+-][^,]*[+-]",  # DynamoDB adds two numbers at most
    re.ASCII | re.IGNORECASE | re.VERBOSE,
).search
_SECTION = re.compile(r"(?<![#:\w])(SET|REMOVE)\s", re.ASCII | re.IGNORECASE)
_NAME = re.compile(r"[a-zA-Z]\w*", re.ASCII).fullmatch
_REPLACING = re.compile(r"#(\w+) = :\1|attribute_not_exists\(#\w+\)", re.ASCII).fullmatch
_PLAIN = re.compile(r"0|-?[1-9]\d{0,37}", re.ASCII).fullmatch


def invalid(message: str) -> ServiceError:
    """Return the error of a request that is wrong."""
    return ServiceError(400, "ValidationException", message)


def check_value(value: Value) -> None:
    """Raise `invalid` if a value is none, or NotImplementedError if it may not be what is stored."""
    kind: str = next(iter(value)) if len(value) == 1 else ""
    content: Any = value.get(kind)
    if isinstance(content, str) and (kind == "S" or (kind == "N" and _PLAIN(content))):
        return
    if kind == "L":
        for element in value[kind]:
            check_value(element)
    elif kind in KINDS[4:] or (kind == "N" and isinstance(content, str) and not content.isalpha()):
        raise NotImplementedError(f"a value that no function writes: {value}")
    elif kind not in ("BOOL", "NULL") or content not in (True, False) or (kind == "NULL" and not content):
        raise invalid(f"Supplied AttributeValue is not a value of one supported datatype: {value}")


def size_of(item: Mapping[str, Value]) -> int:
    """Return the bytes of an item (DynamoDB guide, "DynamoDB item sizes and formats"). Numbers are rounded up."""
    return sum([len(name.encode()) + _size(value) for name, value in item.items()])


def _size(value: Value) -> int:
    ((kind, content),) = value.items()
    if kind == "L":
        return 3 + sum(1 + _size(element) for element in content)
    return len(content) // 2 + 2 if kind == "N" else len(content.encode()) if kind == "S" else 1


def order(one: Value | None, other: Value | None) -> float:
    """Return whether a value is below (-1), above (1) or equal to (0) another one; nan if they have no order."""
    ((kind, here),), ((of, there),) = (one or {"": 0}).items(), (other or {"": 0}).items()
    if kind == of == "N":
        here, there = int(here), int(there)
    elif not kind == of == "S":
        return nan
    return (here > there) - (here < there)


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
    result = int(first) + sign * int(second)
    if abs(result) >= 10**DIGITS:
        if len(str(abs(result)).rstrip("0")) > DIGITS:
            raise invalid(f"Attempting to store more than {DIGITS} significant digits in a Number")
        raise NotImplementedError(f"a number of more than {DIGITS} digits, of which the last are zeros: {result}")
    return {"N": str(result)}


def typed(value: Value, kinds: tuple[str, ...]) -> None:
    """Raise `invalid` if a value of the request has another type."""
    if not value.keys() <= {*kinds}:
        raise invalid(f"Incorrect operand type for operator or function: {value}; allowed: {', '.join(kinds)}")


@cache
def reserved() -> frozenset[str]:
    """Return the words that need a `#name`: DynamoDB guide, "Reserved words in DynamoDB". The package moto has them."""
    moto = find_spec("moto")
    assert moto is not None
    return frozenset((Path(moto.origin or "").parent / "dynamodb/parsing/reserved_keywords.txt").read_text().split())


@dataclass
class _Translation:
    """Translates an expression into Python, in which `i` is the item, and `v` are the values of the request.

    The words are marked first, so that Python parses it: `#a = :b AND c < d` becomes `n_a == v_b and p_c < p_d`.
    """

    _kind: str
    _text: str
    _names: Mapping[str, str]
    used: set[str]
    """Gets the names and values."""
    checks: list[str]
    """Gets what raises `invalid` if a value has a type that its place doesn't allow."""

    def condition(self) -> list[tuple[str, str]]:
        """Return the tests that AND joins, each with its translation."""
        tree, *others = self._parsed(self._text)
        tests = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree, *others]
        texts = [_TRANSLATED.sub(lambda found: _DYNAMODB[found[0]], ast.unparse(test)) for test in tests]
        return [(text, self._test(test)) for text, test in zip(texts, tests, strict=True)]

    def changes(self) -> tuple[list[str], list[str]]:
        """Return the attributes that an update changes, and the lines that change them in the item `new`."""
        before, *parts = _SECTION.split(self._text)
        sections, names, lines = [part.upper() for part in parts[::2]], list[str](), list[str]()
        for section, body in zip(sections, parts[1::2], strict=True):
            for node in self._parsed(body):
                match node:
                    case ast.Compare(target, [ast.Eq()], [value]) if section == "SET":
                        names.append(name := self._path(target))
                        lines.append(f"new[{name!r}] = present({self._operand(value)})")
                    case _:
                        names.append(name := self._path(node))
                        lines.append(f"new.pop({name!r}, None)" if section == "REMOVE" else self._refuse())
        if before.strip() or not sections:
            self._refuse()
        return self._distinct(names, sections), lines

    def projected(self) -> list[str]:
        """Return the attributes that a projection names."""
        return self._distinct([self._path(node) for node in self._parsed(self._text)])

    def _test(self, node: ast.expr) -> str:
        match node:
            case ast.BoolOp(sign, tests):
                return f"({(' and ' if isinstance(sign, ast.And) else ' or ').join(map(self._test, tests))})"
            case ast.UnaryOp(ast.Not(), test):
                return f"(not {self._test(test)})"
            case ast.Compare(left, [sign], [right]):
                return self._applied(type(sign).__name__, left, right)
            case ast.Call(ast.Name(function), operands) if function.islower():
                return self._applied(function[2:], *operands)
            case _:
                return self._refuse()

    def _applied(self, operator: str, *nodes: ast.expr) -> str:
        template, kinds = OPERATORS.get(operator, ("", ()))
        operands = [self._operand(node) for node in nodes]
        values = [operand for operand in operands if operand.startswith("v[")]
        if len(operands) != len(kinds) or (operator == "attribute_type" and operands[-1] not in values):
            self._refuse()
        if operands[0] in operands[1:] and operands[0].startswith("i.") and operator not in ("Add", "Sub"):
            raise self._wrong(f"The first operand must be distinct from the remaining operands: {operands[0]}")
        places = [(each, kind) for each, kind in zip(operands, kinds, strict=True) if each in values and kind != KINDS]
        self.checks += [f"typed({each}, {kind})" for each, kind in places]
        if operator == "attribute_type":
            self.checks.append(f"typed({{{operands[1]}['S']: 0}}, KINDS)")
        return template.format(*operands)

    def _operand(self, node: ast.expr) -> str:
        match node:
            case ast.Name(word) if word.startswith("v_"):
                self.used.add(f":{word[2:]}")
                return f"v[':{word[2:]}']"
            case ast.BinOp(left, sign, right) if self._kind == "UpdateExpression":
                return self._applied(type(sign).__name__, left, right)
            case _:
                return f"i.get({self._path(node)!r})"

    def _path(self, node: ast.expr) -> str:
        mark, word = (node.id[:2], node.id[2:]) if isinstance(node, ast.Name) else ("", "")
        if mark == "n_":
            self.used.add(f"#{word}")
            if f"#{word}" not in self._names:
                raise self._wrong(f"An expression attribute name is not defined; attribute name: #{word}")
            return self._names[f"#{word}"]
        if word.upper() in reserved():
            raise self._wrong(f"Attribute name is a reserved keyword; reserved keyword: {word}")
        return word if mark == "p_" and _NAME(word) else self._refuse()

    def _parsed(self, text: str) -> list[ast.expr]:
        """Return the parts that commas separate."""

        def translated(found: re.Match[str]) -> str:
            return _PYTHON.get(found[0].upper()) or (f"{_PYTHON[found[1]]}{found[2]}" if found[2] else "?")

        with suppress(SyntaxError):
            tree: Any = ast.parse(f"({_TOKEN.sub(translated, text)},)", mode="eval").body
            if not _UNKNOWN(text):
                return tree.elts
        return self._refuse()

    def _distinct(self, names: list[str], sections: Sequence[str] = ()) -> list[str]:
        if len({*names}) < len(names) or len({*sections}) < len(sections):
            raise self._wrong("Two document paths overlap with each other, or a section is used more than once")
        return names

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
    check: Callable[[Item], None]
    """Raises `invalid` if a value has a type that its place doesn't allow."""
    tests: frozenset[str]
    """What AND joins in the condition. Those of a replacement are one, `unchanged`."""
    values: frozenset[str]
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
    known, used, checks = dict[str, str](names), set[str](), list[str]()

    def translation(kind: str, text: str) -> _Translation:
        return _Translation(kind, text, known, used, checks)

    tested = [] if condition is None else translation("ConditionExpression", condition).condition()
    named = [("unchanged" if _REPLACING(text) else text, test) for text, test in tested]
    changed, lines = ([], []) if update is None else translation("UpdateExpression", update).changes()
    if projection is not None:
        changed = translation("ProjectionExpression", projection).projected()
    if known.keys() - used:
        raise invalid(f"Value provided in ExpressionAttributeNames unused in expressions: {known.keys() - used}")
    tests = " and ".join(test for name, test in named if name not in without) or "True"
    source = [
        *(f"def test(i, v): return {tests}", "def check(v):", *(f" {check}" for check in checks), " return"),
        *("def change(i, v):", " new = i.copy()", *(f" {line}" for line in lines), " return new"),
    ]
    made: dict[str, Any] = {}
    exec("\n".join(source), globals(), made)  # noqa: S102 (made from what is known)
    names_of_tests, values = frozenset(name for name, _ in named), frozenset(used - known.keys())
    return Expressions(**made, tests=names_of_tests, values=values, names=changed)
