"""An exchange on the socket and nothing else: what no code can save.

The request is fixed. Of the response, only the status is checked.
"""

import json
import os
import socket
import ssl

SCHEME, _, AUTHORITY = os.environ["AWS_ENDPOINT_URL"].partition("://")
HOST, _, PORT = AUTHORITY.partition(":")
BODY = json.dumps({"Key": {"counter": {"S": "exchange"}}})
HEADERS = {"Host": AUTHORITY, "X-Amz-Target": "DynamoDB_20120810.UpdateItem", "Content-Length": str(len(BODY))}
REQUEST = "\r\n".join(["POST / HTTP/1.1", *[f"{name}: {HEADERS[name]}" for name in HEADERS], "", BODY]).encode()
connection = socket.create_connection((HOST, int(PORT)), 10)
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
if SCHEME == "https":
    connection = ssl.create_default_context(cafile=os.environ["ROOT_FILE"]).wrap_socket(
        connection, server_hostname=HOST
    )


def handler(event: object, context: object) -> dict[str, object]:
    """Return no integer."""
    connection.sendall(REQUEST)
    assert connection.recv(64 * 1024).startswith(b"HTTP/1.1 200")
    return {"statusCode": 200, "body": "null"}
