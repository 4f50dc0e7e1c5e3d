"""Print the most that a public stack can cost per region and day: `python -m proof.bench.public_stack`.

Of each kind of requests (`strangers.py`), the largest response, the most units and the longest log lines are priced
(`price_list.py`), at the highest rate that the function serves.

What a function writes when it asks ahead of need, once in five seconds for each counter, isn't counted, nor what it
tries while it waits for a grant, which one request a second may do. Data is what is in HTTP's messages. What TLS adds,
and what AWS may charge for refused connections, isn't counted.
"""

import json
from collections.abc import Mapping, Sequence

from proof.bench import price_list, strangers  # puts `lambda` on the import path, for the import below
from proof.bench.strangers import Measured

# isort: split
import mint.counters
import mint.grants

from components.domain.capacity import PER_EXECUTION, capacity
from components.gateway.templates import minted_template, refused_template
from components.settings import PUBLIC_CONCURRENCY
from global_integers_core.lattice import MAX_INTEGER
from local.apigateway.rest_api import render
from proof.bench.price import HEALTH_SECONDS, stored
from proof.bench.reconcile import HOME
from proof.bench.schedule import MEMORY
from tests.components.running import config, settings

DAY = 86_400

RATE = PER_EXECUTION * PUBLIC_CONCURRENCY
"""Requests per second that a region's Function URL serves, and a domain as many again."""

METERED, LARGEST_BODY = 512 * 2**10, 10 * 2**20
"""Bytes for which an HTTP API charges one request more (API Gateway pricing), and that a request may have at most (API
Gateway guide, "Quotas for configuring and running an HTTP API"). Neither Function URLs nor REST APIs charge by size."""


RECEIPT_BYTES = 500
"""Of a receipt, at most: of the longest names of counters and keys, with the 100 that DynamoDB adds to an item."""


def of_receipts(hours: float) -> float:
    """Return what it costs a day to store receipts for so many hours, once the first of them expire."""
    return stored(RATE * DAY, hours, RECEIPT_BYTES)


def largest(found: Sequence[Measured]) -> dict[str, Measured]:
    """Return the most of each that a request takes, by kind."""
    kinds = dict[str, Measured]()
    for sent, status, media_type, *parts in found:
        _, _, _, *most = kinds.get(sent.kind, (None, 0, "", *parts))
        kinds[sent.kind] = Measured(sent, status, media_type, *map(max, parts, most))
    return kinds


def functions(kinds: Mapping[str, Measured]) -> dict[str, Sequence[float]]:
    """Return what the requests of each kind cost at most, whoever waits for whom: the executions are busy all day.

    It is the bytes of the largest response, then dollars a region and day, if all requests are of this kind: of Lambda,
    DynamoDB, data, logs, together, and with a domain.
    """
    memory = settings(config(HOME)).memory_size / 1024
    requests, granted = RATE * DAY, DAY / mint.grants.EVERY
    each, coordinator = requests * price_list.REQUEST, DAY * MEMORY * price_list.GB_SECOND
    made = dict[str, Sequence[float]]()
    for kind in strangers.KINDS:
        also = [(kinds[kind], float(requests))]
        compute = PUBLIC_CONCURRENCY * DAY * memory * price_list.GB_SECOND + each
        metered = -(-LARGEST_BODY // METERED) if kind == strangers.BODIES else 1
        again = each + metered * requests * price_list.HTTP_API_REQUEST
        if kind == strangers.CREATE:  # each waits for the coordinator; what is refused is asked again after a minute
            again, compute = again + each, compute + PUBLIC_CONCURRENCY * coordinator + each
            also.append((kinds[strangers.REFUSED], PUBLIC_CONCURRENCY * DAY / mint.counters.FULL_SECONDS))
        if kind in (strangers.BLOCKS, strangers.ERRORS):
            # a window that is used up is renewed, by one run of the coordinator at a time
            compute += coordinator + granted * price_list.REQUEST
            also += [(kinds[strangers.ASKS], granted), (kinds[strangers.GRANT], granted)]
        used = [(most.units * times, most.logged * times * price_list.LOG) for most, times in also]
        data = requests * kinds[kind].size * price_list.DATA_OUT
        dynamodb, logs = map(sum, zip(*used, strict=True))
        together = compute + dynamodb + data + logs
        with_domain = together + again + sum(used[0]) + data
        made[kind] = (kinds[kind].size, compute, dynamodb, data, logs, together, with_domain)
    return made


def apis(found: Sequence[Measured]) -> dict[str, Sequence[float]]:
    """Return what API Gateway without a function costs at most, and the health checks of a domain that is signed.

    It is requests per second, then dollars a region and day: of API Gateway, Lambda, DynamoDB, data, and together.
    """
    usual = settings(config(HOME))
    rate, health = usual.api_gateway_rate, capacity(usual, HOME).health.rate
    item = {"issued": {"N": str(MAX_INTEGER)}, "counter": {"S": strangers.LONG}}
    bodies = (
        render(minted_template(strangers.REGIONS[0]), {}, json.dumps({"Attributes": item})).text,
        render(refused_template(strangers.REGIONS), {}, json.dumps({"__type": "ConditionalCheckFailedException"})).text,
    )
    headers = "Content-Type: application/problem+json\r\nCache-Control: no-store\r\nRetry-After: 5\r\n"
    size = strangers.AROUND + len(headers) + max(map(len, bodies))
    execution = price_list.execution(HEALTH_SECONDS, usual.memory_size) + price_list.REQUEST
    checked = max(each.size for each in found if each.sent.path == "/-/health")
    each = {
        f"`apiGateway`, `apiGatewayRate: {rate}`": (rate, 0.0, price_list.WRITE_UNIT, size),
        "`GET /-/health` at a domain with `AWS_IAM`": (health, execution, price_list.READ_UNIT, checked),
    }
    made = dict[str, Sequence[float]]()
    for name, (per_second, compute, unit, of_data) in each.items():
        dollars = (price_list.REST_API_REQUEST, compute, unit, of_data * price_list.DATA_OUT)
        parts = [per_second * DAY * one for one in dollars]
        made[name] = (per_second, *parts, sum(parts))
    return made


def table(made: Mapping[str, Sequence[float]], *columns: str) -> str:
    """Return rows as docs/permissions.md has them, each with a number and then dollars."""
    lines = [f"| all requests are | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for name, (number, *dollars) in made.items():
        lines.append(f"| {name} | {number:,} | " + " | ".join(f"{part:.2f}" for part in dollars) + " |")
    return "".join(f"{line}\n" for line in lines)


def tables_of_costs(found: Sequence[Measured]) -> tuple[str, str]:
    """Return what the functions cost, and what the APIs do."""
    return (
        table(functions(largest(found)), "bytes", "Lambda", "DynamoDB", "data", "logs", "together", "with a domain"),
        table(apis(found), "per second", "API Gateway", "Lambda", "DynamoDB", "data", "together"),
    )


if __name__ == "__main__":
    print(*tables_of_costs(strangers.measured()), sep="\n", end="")
