"""The program on the page about the domain signs for all regions."""

import json
import subprocess
import sys

from proof.faulty_server import Request, Response, Server, json_response
from tests.docs.pages import code, page


def test_its_program_signs_for_all_regions() -> None:
    async def seven(_: Request) -> Response:
        return json_response({"integer": 7})

    with Server(seven) as server:
        program = code(page("domain.md"), "python").replace("https://integers.example.com/", f"{server.url}/")
        environment = {"AWS_ACCESS_KEY_ID": "caller", "AWS_SECRET_ACCESS_KEY": "secret"}
        done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"integer": 7}
    headers = server.requests[0].headers
    assert headers["x-amz-region-set"] == "*"
    assert headers["authorization"].startswith("AWS4-ECDSA-P256-SHA256 Credential=caller/")
    assert "/execute-api/aws4_request" in headers["authorization"]
