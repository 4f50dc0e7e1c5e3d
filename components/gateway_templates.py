"""API Gateway's mapping templates, in Velocity. No Pulumi.

Only a valid counter name is put into the request. An invalid one is replaced with a key that no counter has. If the
request has an unsupported `count` or an `Idempotency-Key`, the name is replaced with a key that DynamoDB refuses.
"""

import json
from http import HTTPStatus
from typing import Any

from integers.names import COUNTER_NAME

NO_COUNTER = "/"
NO_KEY = ""

JSON = "application/json"
PROBLEM = "application/problem+json"
RETRY_AFTER_SECONDS = "1"
"""The `Retry-After` of transient errors, in seconds."""

TRANSIENT = (
    "InternalServerError",
    "LimitExceeded",
    "ProvisionedThroughputExceeded",
    "RequestLimitExceeded",
    "ResourceNotFound",
    "ServiceUnavailable",
    "Throttling",
)
"""Parts of the names of transient errors: the same errors as in the function (lambda/aws/failure.py)."""


def request_template(table: str, counter: str) -> str:
    """Return the template of the request to DynamoDB.

    Args:
        table: the counters table's name.
        counter: the Velocity expression of the requested counter.
    """
    request = {
        "TableName": table,
        "Key": {"counter": {"S": "$util.escapeJavaScript($counter)"}},
        "UpdateExpression": "SET issued = issued + stride",
        "ConditionExpression": "issued < ceiling",
        "ReturnValues": "ALL_NEW",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    return f"""\
#set($counter = {counter})
#if(!$counter.matches('{COUNTER_NAME.pattern}'))
#set($counter = '{NO_COUNTER}')
#end
#set($count = $input.params('count'))
#if(($count != '' && $count != '1') || $input.params('Idempotency-Key') != '' || $input.params('idempotency-key') != '')
#set($counter = '{NO_KEY}')
#end
{json.dumps(request, indent=2)}
"""


def minted_template(region: str) -> str:
    """Return the template of a response with the minted integer."""
    return f"""\
{{"counter": "$input.path('$.Attributes.counter.S')", "region": "{region}", \
"integer": $input.path('$.Attributes.issued.N')}}
"""


def refused_template() -> str:
    """Return the template for DynamoDB's errors. If the condition failed without an item, there is no such counter."""
    transient = " || ".join(f"$type.contains('{name}')" for name in TRANSIENT)
    return f"""\
#set($type = "$!input.path('$.__type')")
#set($context.responseOverride.header.Content-Type = '{PROBLEM}')
#if($type.contains('ConditionalCheckFailed') && "$!input.path('$.Item.stride.N')" == '')
{_override(HTTPStatus.NOT_FOUND, "there is no such counter in this region")}
#elseif($type.contains('ConditionalCheckFailed') && "$!input.path('$.Item.fenced.BOOL')" == 'true')
{_override(HTTPStatus.SERVICE_UNAVAILABLE, "a change of layout is finishing; try again", retry=True)}
#elseif($type.contains('ConditionalCheckFailed'))
{_override(HTTPStatus.SERVICE_UNAVAILABLE, "the counter is used up in this region")}
#elseif({transient})
{_override(HTTPStatus.SERVICE_UNAVAILABLE, "the table is unavailable; try again", retry=True)}
#elseif($type.contains('ValidationException'))
{_override(HTTPStatus.BAD_REQUEST, "count can only be 1 here, and no Idempotency-Key; use the function's URL")}
#else
{_override(HTTPStatus.INTERNAL_SERVER_ERROR, "unexpected reply of the table")}
#end
"""


def unavailable_template() -> str:
    """Return the template for everything else, such as a 5xx response."""
    return f"""\
#set($context.responseOverride.header.Content-Type = '{PROBLEM}')
{_override(HTTPStatus.SERVICE_UNAVAILABLE, "the table is unavailable; try again", retry=True)}
"""


def _override(status: HTTPStatus, detail: str, *, retry: bool = False) -> str:
    lines = [f"#set($context.responseOverride.status = {status.value})"]
    if retry:
        lines.append(f"#set($context.responseOverride.header.Retry-After = '{RETRY_AFTER_SECONDS}')")
    return "\n".join([*lines, json.dumps(problem(status, detail))])


def problem(status: HTTPStatus, detail: str) -> dict[str, Any]:
    """Return a problem document (RFC 9457), like the function's (lambda/mint/http/reply.py)."""
    return {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": detail}
