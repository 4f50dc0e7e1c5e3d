"""A function that somebody might write by hand for one counter: a signed UpdateItem over a socket that stays open.

It does less than one must on Lambda: no session token, no retry, and nothing if the connection was closed.
"""

import hashlib
import hmac
import json
import os
import socket
import ssl
import time
from urllib.parse import urlsplit

REGION = os.environ["AWS_REGION"]
URL = urlsplit(os.environ["AWS_ENDPOINT_URL"])
BODY = json.dumps(
    {
        "TableName": os.environ["COUNTERS_TABLE"],
        "Key": {"counter": {"S": "bare"}},
        "UpdateExpression": "SET issued = issued + stride",
        "ConditionExpression": "issued < ceiling",
        "ReturnValues": "UPDATED_NEW",
    }
)
DIGEST = hashlib.sha256(BODY.encode()).hexdigest()
SIGNED = "host;x-amz-date;x-amz-target"
TARGET = "DynamoDB_20120810.UpdateItem"
connections: list[socket.socket] = []


def handler(event: object, context: object) -> dict[str, object]:
    """Mint one integer."""
    now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    scope = f"{now[:8]}/{REGION}/dynamodb/aws4_request"
    headers = f"host:{URL.netloc}\nx-amz-date:{now}\nx-amz-target:{TARGET}\n"
    canonical = f"POST\n/\n\n{headers}\n{SIGNED}\n{DIGEST}"
    text = f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = f"AWS4{os.environ['AWS_SECRET_ACCESS_KEY']}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    request = (
        f"POST / HTTP/1.1\r\n{headers.replace(chr(10), chr(13) + chr(10))}content-type:application/x-amz-json-1.0\r\n"
        f"authorization:AWS4-HMAC-SHA256 Credential={os.environ['AWS_ACCESS_KEY_ID']}/{scope}, "
        f"SignedHeaders={SIGNED}, Signature={signature}\r\ncontent-length:{len(BODY)}\r\n\r\n{BODY}"
    )
    if not connections:
        made = socket.create_connection((URL.hostname, URL.port or 443))
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        secure = URL.scheme == "https"
        connections.append(
            ssl.create_default_context().wrap_socket(made, server_hostname=URL.hostname) if secure else made
        )
    connections[0].sendall(request.encode())
    received = b""
    while b"\r\n\r\n" not in received:
        received += connections[0].recv(65536)
    head, _, body = received.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split()[0])
    while len(body) < length:
        body += connections[0].recv(65536)
    return {"statusCode": 200, "body": json.loads(body)["Attributes"]["issued"]["N"]}
