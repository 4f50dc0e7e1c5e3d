"""Random calls of DynamoDB, from so few names and values that conditions often hold and often fail."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from proof.simulation.expressions import Item

TABLE = "expressions"
NAMES = ("n", "m", "s", "l", "absent")
NUMBERS = st.sampled_from(["0", "1", "5", "-5", "70", "123", "9" * 30]).map(lambda text: {"N": text})
STRINGS = st.sampled_from(["", "a", "ab", "abc", "b", "5", "é😀"]).map(lambda text: {"S": text})
Values = st.SearchStrategy[dict[str, Any]]
ORDERED: Values = NUMBERS | STRINGS
PLAIN = st.sampled_from([{"N": "1"}, {"S": "x"}, {"BOOL": True}, {"BOOL": False}, {"NULL": True}])
LISTS: Values = st.lists(PLAIN, max_size=2).map(lambda elements: {"L": elements})
VALUES: Values = st.one_of(ORDERED, ORDERED, PLAIN, LISTS)
KINDS: Values = st.sampled_from([{"S": kind} for kind in ("S", "N", "SS", "BOOL", "L", "X")])
ITEMS: st.SearchStrategy[Item] = st.fixed_dictionaries(
    {"counter": st.just({"S": "c"})},
    optional={"n": NUMBERS, "m": NUMBERS, "s": STRINGS, "l": VALUES},
)


@dataclass
class Drawn:
    """Expressions, with the names and values that they use."""

    draw: Callable[[st.SearchStrategy[Any]], Any]
    names: dict[str, str] = field(default_factory=dict[str, str])
    values: Item = field(default_factory=dict[str, Any])

    def one_of(self, *choices: Any) -> Any:
        chosen = self.draw(st.sampled_from(choices))
        return chosen() if callable(chosen) else chosen

    def path(self, name: str = "") -> str:
        name = name or self.one_of(*NAMES, "counter")
        if name != "counter" and self.one_of(True, False):
            return name
        self.names[f"#{name}"] = name
        return f"#{name}"

    def value(self, strategy: Values = VALUES) -> str:
        name = f":{len(self.values)}"
        self.values[name] = self.draw(strategy)
        return name

    def operand(self, strategy: Values = VALUES) -> str:
        def value() -> str:
            return self.value(strategy)

        return self.one_of(self.path, value)

    def test(self) -> str:
        def ordered() -> str:
            return self.operand(ORDERED)

        return self.one_of(
            lambda: f"{self.operand()} {self.one_of('=', '<>')} {self.operand()}",
            lambda: f"{ordered()}{self.one_of('<', '<=', ' > ', ' >= ')}{ordered()}",
            lambda: f"{self.one_of('attribute_exists', 'attribute_not_exists')}({self.path()})",
            lambda: f"attribute_type({self.path()}, {self.value(KINDS)})",
        )

    def condition(self, depth: int = 2) -> str:
        return self.one_of(
            self.test,
            self.test,
            lambda: f"NOT {self.condition(0)}",
            lambda: f"({self.test()} {self.one_of('AND', 'OR')} {self.test()})",
            *[
                lambda word=word: f"{self.condition(0)} {word} {self.condition(depth - 1)}"
                for word in ("AND", "OR")
                if depth
            ],
        )

    def term(self) -> str:
        return self.one_of(
            self.path,
            self.value,
            lambda: f"{self.one_of('n', 'm', self.path)} {self.one_of('+', '-')} {self.value(NUMBERS)}",
        )

    def projection(self) -> str:
        return ", ".join(self.path() for _ in range(self.one_of(1, 2)))

    def update(self) -> str:
        free = [*self.draw(st.permutations(NAMES)), self.one_of(*NAMES, "counter")]

        def target() -> str:
            """Return an attribute that isn't changed yet."""
            chosen = self.one_of(*free)
            free.remove(chosen)
            return self.path(chosen)

        sections: dict[str, Callable[[], str]] = {
            "SET": lambda: f"{target()} = {self.term()}",
            "REMOVE": target,
        }
        chosen = self.draw(st.lists(st.sampled_from([*sections]), min_size=1, max_size=2, unique=True))
        return " ".join(f"{each} {', '.join(sections[each]() for _ in range(self.one_of(1, 1, 2)))}" for each in chosen)


KEYS = ("c", "d")
MAY_HAVE = {
    "Put": ("ConditionExpression",),
    "Update": ("ConditionExpression", "UpdateExpression"),
    "Delete": ("ConditionExpression",),
    "ConditionCheck": ("ConditionExpression",),
    "GetItem": ("ProjectionExpression",),
    "Scan": ("ProjectionExpression", "FilterExpression"),
}
RETURNED = {"Put": ("NONE", "ALL_OLD"), "Delete": ("NONE", "ALL_OLD"), "Update": ("ALL_OLD", "ALL_NEW")}


@st.composite
def parts(draw: st.DrawFn, kind: str, key: str) -> dict[str, Any]:
    """Draw a read, or a write as it is in a transaction."""
    drawn, request = Drawn(draw), dict[str, Any]({"TableName": TABLE})
    if kind == "Put":
        request["Item"] = draw(ITEMS) | {"counter": {"S": key}}
    elif kind != "Scan":
        request["Key"] = {"counter": {"S": key}}
    for name in MAY_HAVE[kind]:
        if kind == "ConditionCheck" or name == "UpdateExpression" or drawn.one_of(True, False):
            expression = {"UpdateExpression": drawn.update, "ProjectionExpression": drawn.projection}
            request[name] = expression.get(name, drawn.condition)()
    more = {"ExpressionAttributeNames": drawn.names, "ExpressionAttributeValues": drawn.values}
    return request | {name: found for name, found in more.items() if found}


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Draw a call: an operation and its request."""
    kind = draw(st.sampled_from(["Put", "Update", "Update", "Update", "Delete", "GetItem", "Scan", "Transact"]))
    if kind == "Transact":
        kinds = draw(st.lists(st.sampled_from([*RETURNED, "ConditionCheck"]), min_size=1, max_size=2))
        items = [{each: draw(parts(each, key))} for each, key in zip(kinds, KEYS, strict=False)]
        return "TransactWriteItems", {"TransactItems": items}
    request = draw(parts(kind, draw(st.sampled_from(KEYS))))
    if kind in RETURNED:
        request["ReturnValues"] = draw(st.sampled_from(RETURNED[kind]))
        request["ReturnValuesOnConditionCheckFailure"] = draw(st.sampled_from(["NONE", "ALL_OLD"]))
        kind += "Item"
    return kind, request
