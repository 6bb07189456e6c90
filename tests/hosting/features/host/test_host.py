"""What a host says of itself, over HTTP."""

import httpx


async def test_what_runs_here_is_told(api, ada: httpx.AsyncClient, olga: httpx.AsyncClient) -> None:
    assert (await ada.get("/api/me")).json()["operator"] is False
    chain = (await ada.get("/api/chain")).json()
    assert len(chain["middlewares"]) == 12
    assert "SessionEvents" in chain["explained"]
    assert "failures" not in (await ada.get("/api/models")).json()["items"][0]
    assert (await olga.get("/api/models")).json()["items"][0]["failures"] == 0
    assert {"pay", "calculator"} <= {each["name"] for each in (await ada.get("/api/tools")).json()["items"]}
