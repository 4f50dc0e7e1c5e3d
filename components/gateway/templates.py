"""API Gateway's mapping templates, in Velocity. No Pulumi.

Only a valid counter name is put into the request. An invalid one is replaced with a key that no counter has. If the
request has an unsupported `count`, a repeated parameter or an `Idempotency-Key`, or if it is a browser's prefetch, the
name is replaced with a key that DynamoDB refuses.
"""

import json
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from global_integers_core.names import COUNTER_NAME, DELETED, PREFETCH_HEADERS, PREFETCH_WORDS

NO_COUNTER = "/"
NO_KEY = ""

JSON = "application/json"
PROBLEM = "application/problem+json"
REFUSED = (
    "count must be 1 here and given once, and Idempotency-Key isn't supported: use the function's URL. A browser's "
    "prefetch mints nothing"
)
UNAVAILABLE = "the table is unavailable; try again"

RETRY_AFTER_SECONDS = "1"
"""The `Retry-After` of transient errors, in seconds."""

RETRY_LATER_SECONDS = "5"
"""The `Retry-After` of errors that the coordinator's next scheduled run ends, within minutes."""

HIGHEST_CEILINGS = "9007199254740(92[89]|9[3-9][0-9])"
"""The integers from 2^53 − 64 on, as a pattern: each region's highest ceiling is one. Velocity can't compare them."""

TRANSIENT = (
    "AccessDenied",
    "InternalServerError",
    "LimitExceeded",
    "ProvisionedThroughputExceeded",
    "RequestLimitExceeded",
    "ResourceNotFound",
    "ServiceUnavailable",
    "Throttling",
)
"""Parts of the names of transient errors: the same errors as in the function (lambda/aws_client/meaning.py).

A role that has just been created is refused for some seconds. API Gateway signs its calls itself. If the table's key
can't be used, that is a ValidationException whose message begins with `KMS ` (`KEY` in aws_client/meaning.py)."""


def request_template(table: str, counter: str) -> str:
    """Return the template of the request to DynamoDB. `counter` is the Velocity expression of the requested counter.

    API Gateway keeps the caller's spelling of header names, and `$input.params(name)` is case-sensitive (guide,
    "Amazon API Gateway important notes"). So all names are compared.

    Of a repeated parameter, `$input.params` has the last value; `$method.request.multivaluequerystring` has them all.
    """
    prefetch = f"({'|'.join(PREFETCH_HEADERS)}): .*({'|'.join(PREFETCH_WORDS)}).*"
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
#if($count != '' && $count != '1')
#set($counter = '{NO_KEY}')
#end
#foreach($name in $method.request.multivaluequerystring.keySet())
#if($name.matches('count|systemKey') && $method.request.multivaluequerystring.get($name).size() > 1)
#set($counter = '{NO_KEY}')
#end
#end
#foreach($header in $input.params().header.keySet())
#set($sent = "$header: $input.params().header.get($header)")
#if($sent.matches('(?is)[^:]*idempoten[^:]*: .*|{prefetch}'))
#set($counter = '{NO_KEY}')
#end
#end
{json.dumps(request, indent=2)}
"""


def minted_template(region: str) -> str:
    """Return the template of a response with the minted integer."""
    return f"""\
{{"counter": "$input.path('$.Attributes.counter.S')", "region": "{region}", \
"integer": $input.path('$.Attributes.issued.N')}}
"""


def refused_template(leaving: Sequence[str] = ()) -> str:
    """Return the template for DynamoDB's errors. If the condition failed without an item, there is no such counter.

    `leaving` are the regions of the layout, if this region leaves it: callers are told to go there.
    """
    transient = " || ".join(f"$type.contains('{name}')" for name in TRANSIENT)
    missing = _override(HTTPStatus.NOT_FOUND, "there is no such counter in this region")
    fenced = _override(
        HTTPStatus.SERVICE_UNAVAILABLE, "a change of layout is finishing; try again", retry=RETRY_AFTER_SECONDS
    )
    if leaving:
        detail = "this region has left, and no longer mints; use one of the other regions"
        missing = fenced = _override(HTTPStatus.GONE, detail, regions=list(leaving))
    waits = "the counter has no integer left in this region until the home region grants it more; try again later"
    return f"""\
#set($type = "$!input.path('$.__type')")
#set($message = "$!input.path('$.message')")
#set($ceiling = "$!input.path('$.Item.ceiling.N')")
#set($context.responseOverride.header.Content-Type = '{PROBLEM}')
#set($held = "$!input.path('$.Item.held.S')")
#if($type.contains('ConditionalCheckFailed') && ($held == '{DELETED}' || "$!input.path('$.Item.stride.N')" == ''))
{missing}
#elseif($type.contains('ConditionalCheckFailed') && "$!input.path('$.Item.fenced.BOOL')" == 'true')
{fenced}
#elseif($type.contains('ConditionalCheckFailed') && !$ceiling.matches('{HIGHEST_CEILINGS}'))
{_override(HTTPStatus.SERVICE_UNAVAILABLE, waits, retry=RETRY_LATER_SECONDS)}
#elseif($type.contains('ConditionalCheckFailed'))
{_override(HTTPStatus.SERVICE_UNAVAILABLE, "the counter is used up in this region")}
#elseif({transient} || $message.startsWith('KMS '))
{_override(HTTPStatus.SERVICE_UNAVAILABLE, UNAVAILABLE, retry=RETRY_AFTER_SECONDS)}
#elseif($message.contains('attribute that does not exist'))
{_override(HTTPStatus.SERVICE_UNAVAILABLE, "the counter's item in this region is not one of the coordinator")}
#elseif($type.contains('ValidationException'))
{_override(HTTPStatus.BAD_REQUEST, REFUSED)}
#else
{_override(HTTPStatus.INTERNAL_SERVER_ERROR, "unexpected reply of the table")}
#end
"""


def unavailable_template(detail: str = UNAVAILABLE, retry: str = RETRY_AFTER_SECONDS) -> str:
    """Return the template of a 503, by default for everything else, such as DynamoDB's own 5xx."""
    return f"""\
#set($context.responseOverride.header.Content-Type = '{PROBLEM}')
{_override(HTTPStatus.SERVICE_UNAVAILABLE, detail, retry=retry)}
"""


def _override(status: HTTPStatus, detail: str, *, retry: str = "", **members: Any) -> str:
    lines = [f"#set($context.responseOverride.status = {status.value})"]
    if retry:
        lines.append(f"#set($context.responseOverride.header.Retry-After = '{retry}')")
    return "\n".join([*lines, json.dumps(problem(status, detail, **members))])


def problem(status: HTTPStatus, detail: str, **members: Any) -> dict[str, Any]:
    """Return a problem document (RFC 9457), like the function's (lambda/mint/api/reply.py)."""
    return {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": detail, **members}
