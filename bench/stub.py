"""A server that responds at once, so that only the caller's own cost is measured: `python -m bench.stub`.

It prints its port. With an argument, a file of a key and its certificates, it has TLS.

It has as much of DynamoDB's protocol as the subjects use, for one counter each, in memory.
"""

import asyncio
import json
import ssl
import sys
import zlib
from collections import defaultdict
from typing import Any

CEILING = 2**53 - 1
values: dict[str, int] = defaultdict(int)


def respond(operation: str, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Return status and document."""
    match operation:
        case "UpdateItem":
            return update(request["Key"]["counter"]["S"], request.get("ExpressionAttributeValues", {}))
        case "GetItem":
            value = values["autoincrement"]
            return 200, {"Item": {"value": {"N": str(value)}}} if value else {}
        case "TransactWriteItems":
            values["autoincrement"] += 1
            return 200, {}
        case _:
            return 400, {"__type": "UnknownOperationException"}


def update(key: str, given: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Mint, or refuse as the conditions of the subjects do."""
    item = {"counter": {"S": key}, "stride": {"N": "1"}, "ceiling": {"N": str(CEILING)}, "epoch": {"N": "1"}}
    if ":stride" in given and given[":stride"]["N"] != "1":
        refusal = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"
        return 400, {"__type": refusal, "message": "no", "Item": {**item, "issued": {"N": str(values[key])}}}
    values[key] += int(given[":step"]["N"]) if ":step" in given else 1
    number = {"N": str(values[key])}
    return 200, {"Attributes": {"value": number} if ":one" in given else {**item, "issued": number}}


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serve one connection."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            headers = {
                name.lower(): value.strip()
                for name, _, value in (line.partition(":") for line in head.split("\r\n")[1:])
            }
            request = json.loads(await reader.readexactly(int(headers["content-length"])))
            status, document = respond(headers["x-amz-target"].rpartition(".")[2], request)
            body = json.dumps(document).encode()
            writer.write(
                f"HTTP/1.1 {status} X\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: {len(body)}\r\n"
                f"x-amz-crc32: {zlib.crc32(body)}\r\n\r\n".encode()
                + body
            )
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main(certificate: str | None = None) -> None:
    """Serve on any free port of 127.0.0.1."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH) if certificate else None
    if context and certificate:
        context.load_cert_chain(certificate)
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
