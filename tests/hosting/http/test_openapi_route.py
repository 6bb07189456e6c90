"""`GET /openapi.json` is the file of the package, for everybody."""

import json

from sophon_hosting.http.openapi_route import DOCUMENT
from tests.hosting.http.conftest import Api


async def test_a_host_serves_the_file_without_a_token_and_not_again_to_who_has_it(api: Api) -> None:
    client = await api.open(None)
    answer = await client.get("/openapi.json")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")
    assert answer.json() == json.loads(DOCUMENT.read_text(encoding="utf-8"))
    again = await client.get("/openapi.json", headers={"If-None-Match": answer.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
