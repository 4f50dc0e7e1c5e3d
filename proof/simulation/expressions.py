"""DynamoDB's expressions, translated into Python: that is as quick as a condition written in Python.

What isn't known (a function, a path into a document, binary values) is refused with NotImplementedError. What DynamoDB
refuses is `invalid`.
"""

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from decimal import Context
from fractions import Fraction
from functools import cache, lru_cache
from importlib.util import find_spec
from math import nan
from pathlib import Path
from typing import Any, NamedTuple

from aws_client.service import ServiceError

Value = dict[str, Any]
"""An attribute's value in DynamoDB's own JSON, such as `{"N": "7"}`."""

Item = dict[str, Value]

DIGITS, SMALLEST, LARGEST = 38, -130, 125
"""Significant digits of a number, and the powers of ten between which the first of them is."""

SETS = ("SS", "NS")
KINDS = ("S", "N", "BOOL", "NULL", "L", "M", "B", "BS", *SETS)
_ORDERED, _SIZED = ("S", "N"), ("S", "L", "M", *SETS)
OPERATORS: dict[str, tuple[str, tuple[tuple[str, ...], ...]]] = {
    "Eq": ("({0} == {1} is not None)", (KINDS, KINDS)),
    "NotEq": ("(not {0} == {1} is not None)", (KINDS, KINDS)),
    "Lt": ("(order({0}, {1}) < 0)", (_ORDERED, _ORDERED)),
    "LtE": ("(order({0}, {1}) <= 0)", (_ORDERED, _ORDERED)),
    "Gt": ("(order({0}, {1}) > 0)", (_ORDERED, _ORDERED)),
    "GtE": ("(order({0}, {1}) >= 0)", (_ORDERED, _ORDERED)),
    "between": ("(order({0}, {1}) >= 0 >= order({0}, {2}))", (_ORDERED, _ORDERED, _ORDERED)),
    "attribute_exists": ("({0} is not None)", ((),)),
    "attribute_not_exists": ("({0} is None)", ((),)),
    "attribute_type": ("({1}['S'] in ({0} or ()))", (KINDS, ("S",))),
    "begins_with": ("begins_with({0}, {1})", (("S",), ("S",))),
    "contains": ("contains({0}, {1})", (KINDS, KINDS)),
    "size": ("size({0})", (_SIZED,)),
    "if_not_exists": ("(present({1}) and {0} or {1})", ((), KINDS)),
    "Add": ("total({0}, {1}, 1)", (("N",), ("N",))),
    "Sub": ("total({0}, {1}, -1)", (("N",), ("N",))),
    "ADD": ("{0}", (("N", *SETS),)),
    "DELETE": ("{0}", (SETS,)),
}
"""An operator, as `ast` calls it, or a function → what it is in Python, and the types that a value may have, for each
operand that is a value of the request."""

_OF_OPERANDS = ("p_size", "p_if_not_exists")
_SIGNS = {"=": "==", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_PYTHON = {**_SIGNS, "AND": "and", "OR": "or", "NOT": "not", "IN": "in", "#": "n_", ":": "v_", "": "p_"}
_DYNAMODB = {python: word for word, python in _PYTHON.items()}
_TOKEN = re.compile(r"([#:]?)(\w+)|[<>=]+", re.ASCII)
_TRANSLATED = re.compile(r"\b[nvp]_|==|!=|\b(?:and|or|not|in)\b", re.ASCII)
_UNKNOWN = re.compile(
    r"[^\w\s#:<>=(),+-] | [#:](?!\w)"
    r"| (?<![#:])\bin\s+[^\s(]"  # no list
    r"| (?<!\w)\(\s*\((?:[^()]|\([^()]*\))*\)\s*\)"  # redundant parentheses
    r"| [+-][^,]*[+-]",  # DynamoDB adds two numbers at most
    re.ASCII | re.IGNORECASE | re.VERBOSE,
).search
_OPERAND = r"([#:]?\w+(?:\s*\([^()]*\))?)"
_BETWEEN = re.compile(rf"{_OPERAND}\s+BETWEEN\s+{_OPERAND}\s+AND\s+{_OPERAND}", re.ASCII | re.IGNORECASE)
_SECTION = re.compile(r"(?<![#:\w])(SET|REMOVE|ADD|DELETE)\s", re.ASCII | re.IGNORECASE)
_NAME = re.compile(r"[a-zA-Z]\w*", re.ASCII).fullmatch
_REPLACING = re.compile(r"#(\w+) = :\1|attribute_not_exists\(#\w+\)", re.ASCII).fullmatch
_PLAIN = re.compile(r"0|-?[1-9]\d{0,37}", re.ASCII).fullmatch
_NUMBER = re.compile(r"[+-]?(\d{1,999}\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII).fullmatch
_EXACT = Context(prec=1000)


def invalid(message: str) -> ServiceError:
    """Return the error of a request that is wrong."""
    return ServiceError(400, "ValidationException", message)


def number(text: str) -> int | Fraction:
    """Return a number of DynamoDB."""
    return int(text) if text.lstrip("-").isdecimal() else Fraction(text)


def number_text(exact: int | Fraction) -> str:
    """Return a number as DynamoDB writes it, or raise `invalid`."""
    if isinstance(exact, int) and -(10**DIGITS) < exact < 10**DIGITS:
        return str(exact)
    shown = _EXACT.divide(exact.numerator, exact.denominator).normalize(_EXACT)
    if len(shown.as_tuple().digits) > DIGITS or (shown and not SMALLEST <= shown.adjusted() <= LARGEST):
        raise invalid(f"a number of more than {DIGITS} digits, or outside of the supported range")
    return format(shown, "f")


def canonical(value: Value) -> Value:
    """Return a value as it is stored, by which equal ones are equal, or raise `invalid`."""
    kind: str = next(iter(value)) if len(value) == 1 else ""
    content: Any = value.get(kind)
    if isinstance(content, str) and (kind == "S" or (kind == "N" and _PLAIN(content))):
        return value
    match kind:
        case "N" if isinstance(content, str) and _NUMBER(content):
            return {"N": number_text(number(content))}
        case "BOOL" | "NULL" if content is True or (content is False and kind == "BOOL"):
            return value
        case "L":
            return {"L": [canonical(element) for element in value["L"]]}
        case "M":
            return {"M": {name: canonical(element) for name, element in value["M"].items()}}
        case "SS" | "NS" if content:
            elements = {canonical({kind[0]: element})[kind[0]] for element in value[kind]}
            if len(elements) == len(value[kind]):
                return {kind: sorted(elements)}
        case "B" | "BS":
            raise NotImplementedError(f"a binary value: {value}")
        case _:
            pass
    raise invalid(f"Supplied AttributeValue is not a value of one supported datatype: {value}")


def size_of(item: Mapping[str, Value]) -> int:
    """Return the bytes of an item (DynamoDB guide, "DynamoDB item sizes and formats"). Numbers are rounded up."""
    return sum([len(name.encode()) + _size(value) for name, value in item.items()])


def _size(value: Value) -> int:
    ((kind, content),) = value.items()
    match kind:
        case "N":
            return len(content) // 2 + 2
        case "S":
            return len(content.encode())
        case "L":
            return 3 + sum(1 + _size(element) for element in content)
        case "M":
            return 3 + len(content) + size_of(content)
        case _:
            return sum(_size({kind[0]: element}) for element in content) if kind in SETS else 1


def order(one: Value | None, other: Value | None) -> float:
    """Return whether a value is below (-1), above (1) or equal to (0) another one; nan if they have no order."""
    ((kind, here),), ((of, there),) = (one or {"": 0}).items(), (other or {"": 0}).items()
    if kind == of == "N":
        here, there = number(here), number(there)
    elif not kind == of == "S":
        return nan
    return (here > there) - (here < there)


def begins_with(value: Value | None, start: Value | None) -> bool:
    """Return whether a string begins with another one."""
    if value is None or start is None or "S" not in value or "S" not in start:
        return False
    return value["S"].startswith(start["S"])


def contains(value: Value | None, part: Value | None) -> bool:
    """Return whether a string contains another one, or a set or a list an element."""
    if value is None or part is None:
        return False
    ((kind, content),), ((of, element),) = value.items(), part.items()
    return part in content if kind == "L" else kind in ("S", *SETS) and kind[0] == of and element in content


def size(value: Value | None) -> Value | None:
    """Return how long a value is, if it has a length. DynamoDB Local counts the units of UTF-16 in a string."""
    ((kind, content),) = (value or {"": ""}).items()
    if kind == "S":
        content = content.encode("utf-16-le")[::2]
    return {"N": str(len(content))} if kind in _SIZED else None


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
    return {"N": number_text(number(first) + sign * number(second))}


def merge(item: Item, name: str, value: Value, section: str) -> None:
    """Add a number to an attribute, or elements to a set, or delete elements."""
    ((kind, content),) = value.items()
    old = item.pop(name, {kind: "0" if kind == "N" else ()})
    if kind == "N" or kind not in old:
        item[name] = total(old, value, 1)
    elif elements := {*old[kind], *content} if section == "ADD" else {*old[kind]} - {*content}:
        item[name] = {kind: sorted(elements)}


def typed(value: Value, kinds: tuple[str, ...]) -> None:
    """Raise `invalid` if a value of the request has another type."""
    if not value.keys() <= {*kinds}:
        raise invalid(f"Incorrect operand type for operator or function: {value}; allowed: {', '.join(kinds)}")


def bounds(low: Value, high: Value) -> None:
    """Raise `invalid` if these can't be bounds."""
    if not order(low, high) <= 0:
        raise invalid("The BETWEEN operator requires an upper bound of the same type, not below the lower one")


@cache
def reserved() -> frozenset[str]:
    """Return the words that need a `#name`: DynamoDB guide, "Reserved words in DynamoDB". The package moto has them."""
    moto = find_spec("moto")
    assert moto is not None
    return frozenset((Path(moto.origin or "").parent / "dynamodb/parsing/reserved_keywords.txt").read_text().split())


class _Translation:
    """Translates an expression into Python, in which `i` is the item, and `v` are the values of the request.

    The words are marked first, so that Python parses it: `#a = :b AND c < d` becomes `n_a == v_b and p_c < p_d`.
    """

    def __init__(self, kind: str, text: str, names: Mapping[str, str]) -> None:
        self._kind = kind
        self._text = text
        self._names = names
        self.used: set[str] = set()
        """Names and values."""
        self.checks: list[str] = []
        """What raises `invalid` if a value has a type that its place doesn't allow."""

    def condition(self) -> list[tuple[str, str]]:
        """Return the tests that AND joins, each with its translation."""
        tree, *others = self._parsed(_BETWEEN.sub(r"between(\1, \2, \3)", self._text))
        tests = tree.values if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And) else [tree, *others]
        texts = [_TRANSLATED.sub(lambda found: _DYNAMODB[found[0]], ast.unparse(test)) for test in tests]
        return [(text, self._test(test)) for text, test in zip(texts, tests, strict=True)]

    def changes(self) -> tuple[list[str], list[str]]:
        """Return the attributes that an update changes, and the lines that change them in the item `new`."""
        before, *parts = _SECTION.split(self._text)
        sections, names, lines = [part.upper() for part in parts[::2]], list[str](), list[str]()
        for section, body in zip(sections, parts[1::2], strict=True):
            for node in self._parsed(body if section == "SET" else re.sub(r"\s+:", " = :", body)):
                match node:
                    case ast.Compare(target, [ast.Eq()], [value]) if section != "REMOVE":
                        names.append(name := self._path(target))
                        if section == "SET":
                            lines.append(f"new[{name!r}] = present({self._operand(value)})")
                        else:
                            lines.append(f"merge(new, {name!r}, {self._applied(section, value)}, {section!r})")
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
            case ast.Compare(left, [ast.In()], [options]):
                others = options.elts if isinstance(options, ast.Tuple) else [options]
                return self._test(ast.BoolOp(ast.Or(), [ast.Compare(left, [ast.Eq()], [other]) for other in others]))
            case ast.Compare(left, [sign], [right]):
                return self._applied(type(sign).__name__, left, right)
            case ast.Call(ast.Name(function), operands) if function.islower() and function not in _OF_OPERANDS:
                return self._applied(function[2:], *operands)
            case _:
                return self._refuse()

    def _applied(self, operator: str, *nodes: ast.expr) -> str:
        template, kinds = OPERATORS.get(operator, ("", ()))
        operands = [self._operand(node) for node in nodes]
        values = [operand for operand in operands if operand.startswith("v[")]
        if len(operands) != len(kinds) or (
            operator in ("ADD", "DELETE", "attribute_type") and operands[-1] not in values
        ):
            self._refuse()
        if operands[0] in operands[1:] and operands[0].startswith("i.") and operator not in ("Add", "Sub"):
            raise self._wrong(f"The first operand must be distinct from the remaining operands: {operands[0]}")
        places = [(each, kind) for each, kind in zip(operands, kinds, strict=True) if each in values and kind != KINDS]
        self.checks += [f"typed({each}, {kind})" for each, kind in places]
        if operator == "attribute_type":
            self.checks.append(f"typed({{{operands[1]}['S']: 0}}, KINDS)")
        if operator == "between" and {*operands[1:]} <= {*values}:
            self.checks.append(f"bounds({operands[1]}, {operands[2]})")
        return template.format(*operands)

    def _operand(self, node: ast.expr) -> str:
        update = self._kind == "UpdateExpression"
        match node:
            case ast.Name(word) if word.startswith("v_"):
                self.used.add(f":{word[2:]}")
                return f"v[':{word[2:]}']"
            case ast.Call(ast.Name(function), nodes) if function == ("p_if_not_exists" if update else "p_size"):
                return self._applied(function[2:], *nodes)
            case ast.BinOp(left, sign, right) if update:
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
    known, named, changed, lines = dict[str, str](names), list[tuple[str, str]](), list[str](), list[str]()
    texts = {"ConditionExpression": condition, "UpdateExpression": update, "ProjectionExpression": projection}
    translations = {kind: _Translation(kind, text, known) for kind, text in texts.items() if text is not None}
    for kind, translation in translations.items():
        if kind == "ConditionExpression":
            named = [("unchanged" if _REPLACING(text) else text, test) for text, test in translation.condition()]
        elif kind == "UpdateExpression":
            changed, lines = translation.changes()
        else:
            changed = translation.projected()
    used = {word for translation in translations.values() for word in translation.used}
    if known.keys() - used:
        raise invalid(f"Value provided in ExpressionAttributeNames unused in expressions: {known.keys() - used}")
    checks = [check for translation in translations.values() for check in translation.checks]
    tests = " and ".join(test for name, test in named if name not in without) or "True"
    source = [
        *(f"def test(i, v): return {tests}", "def check(v):", *(f" {check}" for check in checks), " return"),
        *("def change(i, v):", " new = i.copy()", *(f" {line}" for line in lines), " return new"),
    ]
    made: dict[str, Any] = {}
    exec("\n".join(source), globals(), made)  # noqa: S102 (made from what is known)
    names_of_tests, values = frozenset(name for name, _ in named), frozenset(used - known.keys())
    return Expressions(**made, tests=names_of_tests, values=values, names=changed)
