"""docs/audit.md: what it records is what is deployed."""

import json
import re
from typing import Any

import botocore.session
from botocore.validate import ParamValidator

from components.table import OPEN
from tests.components.aws_answers import FUNCTION, ROLE, TABLE, arn
from tests.components.running import config, deploy
from tests.docs.pages import code, page

PAGE = page("audit.md")
SELECTORS: list[dict[str, Any]] = json.loads(code(PAGE, "json"))
PRODUCTION = config("us-east-1", "eu-west-1", apiGateway=True)


def test_cloudtrail_takes_the_selectors() -> None:
    model: Any = botocore.session.get_session().get_service_model("cloudtrail")
    shape = model.operation_model("PutEventSelectors").input_shape
    report = ParamValidator().validate({"TrailName": "audit", "AdvancedEventSelectors": SELECTORS}, shape)

    assert not report.has_errors(), report.generate_report()
    for selector in SELECTORS:
        names = [field["Field"] for field in selector["FieldSelectors"]]
        assert names[0] == "eventCategory"
        assert len(set(names)) == len(names)


def test_all_functions_and_tables_are_selected() -> None:
    fields = [field for selector in SELECTORS for field in selector["FieldSelectors"]]
    prefixes = tuple(prefix for field in fields if field["Field"] == "resources.ARN" for prefix in field["StartsWith"])
    made = deploy(PRODUCTION, stack="production")
    arns = [arn("lambda", each.inputs["region"], f"function:{each.inputs['name']}") for each in made.of(FUNCTION)]
    arns += [arn("dynamodb", each.inputs["region"], f"table/{each.inputs['name']}") for each in made.of(TABLE)]

    assert len(arns) > 6
    assert [each for each in arns if not each.startswith(prefixes)] == []


def test_the_query_knows_all_roles() -> None:
    (known,) = re.findall(r"regexp_like\(coalesce\(useridentity\.arn, ''\), '(.*?)'\)", PAGE)
    names = [role.inputs["name"] for role in deploy(PRODUCTION, stack="production").of(ROLE)]

    sessions = [f"arn:aws:sts::123456789012:assumed-role/{name}/session" for name in (*names, "administrator")]
    assert [session for session in sessions if not re.search(known, session)] == sessions[-1:]


def test_the_query_leaves_out_only_what_stays_open_and_writes_nothing() -> None:
    (listed,) = re.findall(r"eventname NOT IN \((.*?)\)", PAGE, re.DOTALL)
    reads = ("Batch", "Condition", "Describe", "Get", "List", "PartiQL", "Query", "Scan")

    assert {*re.findall("'(.*?)'", listed)} == {"CreateTable", *(each for each in OPEN if not each.startswith(reads))}
