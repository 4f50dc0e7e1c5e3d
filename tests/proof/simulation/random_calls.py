"""Random calls of DynamoDB, from so few names and values that conditions often hold and often fail."""

import re
from typing import Any

from hypothesis import strategies as st

from proof.simulation.expressions import Item

TABLE = "expressions"
ATTRIBUTES = ("n", "m", "s", "l", "absent", "counter")
NAMES = {f"#{name}": name for name in ATTRIBUTES}
NUMBERS = {f":n{number}": {"N": number} for number in ("0", "1", "5", "70", "123", "9" * 30)} | {":minus": {"N": "-5"}}
STRINGS = {f":s{place}": {"S": text} for place, text in enumerate(("", "a", "ab", "abc", "b", "5", "é😀"))}
PLAIN = {":x": {"S": "x"}, ":yes": {"BOOL": True}, ":no": {"BOOL": False}, ":null": {"NULL": True}}
LISTS: Item = {":l0": {"L": []}, ":l1": {"L": [{"N": "1"}]}, ":l2": {"L": [{"S": "x"}, {"BOOL": True}]}}
KINDS = {f":is{kind}": {"S": kind} for kind in ("S", "N", "SS", "BOOL", "L", "X")}
VALUES: Item = NUMBERS | STRINGS | PLAIN | LISTS
ITEMS: st.SearchStrategy[Item] = st.fixed_dictionaries(
    {"counter": st.just({"S": "c"})},
    optional={
        **dict.fromkeys("nm", st.sampled_from([*NUMBERS.values()])),
        "s": st.sampled_from([*STRINGS.values()]),
        "l": st.sampled_from([*VALUES.values()]),
    },
)

Text = st.SearchStrategy[str]


def joined(*parts: Text | str) -> Text:
    return st.tuples(*(st.just(part) if isinstance(part, str) else part for part in parts)).map(" ".join)


def one_of(*words: str) -> Text:
    return st.sampled_from(words)


PATHS = one_of(*ATTRIBUTES[:-1], *NAMES)  # `counter` is a reserved word
OPERANDS, ORDERED = PATHS | one_of(*VALUES), PATHS | one_of(*NUMBERS, *STRINGS)
AND_OR = one_of("AND", "OR")
TESTS = (
    joined(OPERANDS, one_of("=", "<>"), OPERANDS)
    | joined(ORDERED, one_of("<", "<=", ">", ">="), ORDERED)
    | joined(one_of("attribute_exists", "attribute_not_exists"), "(", PATHS, ")")
    | joined("attribute_type (", OPERANDS, ",", one_of(*KINDS), ")")
)
PARTS = TESTS | joined("NOT", TESTS) | joined("(", TESTS, AND_OR, TESTS, ")")
CONDITIONS = PARTS | joined(PARTS, AND_OR, PARTS) | joined(PARTS, AND_OR, PARTS, AND_OR, PARTS)
TERMS = PATHS | one_of(*VALUES) | joined(one_of("n", "m") | PATHS, one_of("+", "-"), one_of(*NUMBERS))
TARGETS = st.lists(PATHS, min_size=1, max_size=2).map(", ".join)
SETS = st.lists(joined(PATHS, "=", TERMS), min_size=1, max_size=2).map(", ".join)
UPDATES = joined("SET", SETS) | joined("REMOVE", TARGETS) | joined("SET", SETS, "REMOVE", TARGETS)

EXPRESSIONS = {
    "Put": {"ConditionExpression": CONDITIONS},
    "Update": {"ConditionExpression": CONDITIONS, "UpdateExpression": UPDATES},
    "Delete": {"ConditionExpression": CONDITIONS},
    "ConditionCheck": {"ConditionExpression": CONDITIONS},
    "GetItem": {"ProjectionExpression": TARGETS},
    "Scan": {"ProjectionExpression": TARGETS, "FilterExpression": CONDITIONS},
}
RETURNED = {"Put": ("NONE", "ALL_OLD"), "Delete": ("NONE", "ALL_OLD"), "Update": ("ALL_OLD", "ALL_NEW")}


@st.composite
def parts(draw: st.DrawFn, kind: str, key: str) -> dict[str, Any]:
    """Draw a read, or a write as it is in a transaction."""
    needed = {"UpdateExpression"} if kind != "ConditionCheck" else {"ConditionExpression"}
    may = EXPRESSIONS[kind]
    chosen = {name: draw(may[name]) for name in may if name in needed or draw(st.booleans())}
    used = {*re.findall(r"[#:]\w+", " ".join(chosen.values()))}
    request: dict[str, Any] = {"TableName": TABLE, **chosen}
    for name, known in (("Names", NAMES), ("Values", VALUES | KINDS)):
        if found := {word: known[word] for word in used if word in known}:
            request[f"ExpressionAttribute{name}"] = found
    if kind == "Put":
        request["Item"] = draw(ITEMS) | {"counter": {"S": key}}
    elif kind != "Scan":
        request["Key"] = {"counter": {"S": key}}
    return request


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Draw a call: an operation and its request."""
    kind = draw(st.sampled_from(["Put", "Update", "Update", "Update", "Delete", "GetItem", "Scan", "Transact"]))
    if kind == "Transact":
        kinds = draw(st.lists(st.sampled_from([*RETURNED, "ConditionCheck"]), min_size=1, max_size=2))
        items = [{each: draw(parts(each, key))} for each, key in zip(kinds, "cd", strict=False)]
        return "TransactWriteItems", {"TransactItems": items}
    request = draw(parts(kind, draw(st.sampled_from("cd"))))
    if kind in RETURNED:
        request["ReturnValues"] = draw(st.sampled_from(RETURNED[kind]))
        request["ReturnValuesOnConditionCheckFailure"] = draw(st.sampled_from(["NONE", "ALL_OLD"]))
        kind += "Item"
    return kind, request
