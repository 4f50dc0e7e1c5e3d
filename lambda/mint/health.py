"""Say whether a counter can be minted here now."""

from http import HTTPStatus

from .http.reply import Response, json_response
from .refusals import ceiling_reached, missing
from .table import CounterTable, UnknownCounter


def health(table: CounterTable, region: str, counter: str) -> Response:
    """Return 200 if the next mint of the counter would succeed. Nothing is minted; it takes one read.

    Raises:
        Problem: 503, the item is missing, or no integer is left up to its ceiling; 410, this region has left.
        WentBackwards: the table was restored to an earlier state.
        Unavailable: the table is unavailable.
    """
    try:
        item = table.item(counter)
    except UnknownCounter:
        raise missing(counter, HTTPStatus.SERVICE_UNAVAILABLE) from None
    if item.issued >= item.ceiling:
        raise ceiling_reached(counter, None, item)
    return json_response({"status": "ok", "region": region})
