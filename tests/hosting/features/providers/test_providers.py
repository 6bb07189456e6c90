"""Providers of a host and their reset, over HTTP."""


async def test_the_providers_are_an_operators(ada, olga) -> None:
    assert (await ada.get("/api/providers")).status_code == 403
    refused = await ada.post("/api/providers/function/reset")
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")
    [row] = (await olga.get("/api/providers")).json()["items"]
    assert (row["provider"], row["health"], row["circuit"], row["available_at"]) == (
        "function",
        "active",
        "closed",
        None,
    )
    assert (await olga.post("/api/providers/none/reset")).status_code == 404


async def test_an_operator_resets_a_provider_and_the_log_says_who(api, olga, caplog) -> None:
    provider = api.host.services.gateway.providers[0]
    for _ in range(3):
        provider.breaker.record_failure(api.host.services.clock.monotonic())
    [row] = (await olga.get("/api/providers")).json()["items"]
    assert (row["health"], row["circuit"]) == ("benched", "open")
    assert row["available_at"] is not None
    assert (await olga.get("/api/models")).json()["items"][0]["available_at"] is not None
    with caplog.at_level("INFO", logger="sophon"):
        answer = (await olga.post("/api/providers/function/reset")).json()
    assert (answer["ok"], answer["health"], answer["circuit"], answer["available_at"]) == (
        True,
        "active",
        "closed",
        None,
    )
    assert "provider function was reset by olga" in caplog.text
