"""`/api/preferences`: each user has their own."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from sophon.preferences import Preferences


async def test_a_user_reads_and_replaces_their_preferences(ada: httpx.AsyncClient, bob: httpx.AsyncClient) -> None:
    path = "/api/preferences"
    assert (await ada.get(path)).json() == {"preferences": {}}
    said = {"language": "de", "verbosity": "Brief"}
    assert (await ada.put(path, json=said)).json()["preferences"] == {"language": "de", "verbosity": "brief"}
    assert (await ada.put(path, json={"style": "plain"})).json()["preferences"] == {"style": "plain"}
    assert (await ada.get(path)).json() == {"preferences": {"style": "plain"}}
    assert (await bob.get(path)).json() == {"preferences": {}}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"colour": "blue"}, 400),
        ({"language": "x" * 36}, 400),
        ({"time_zone": "Mars/Olympus"}, 400),
        ({"model": "nobody/nothing"}, 404),
        ({"notes": 5}, 400),
    ],
)
async def test_an_impossible_preference_is_refused(
    ada: httpx.AsyncClient, body: dict[str, object], status: int
) -> None:
    assert (await ada.put("/api/preferences", json=body)).status_code == status
    assert (await ada.get("/api/preferences")).json() == {"preferences": {}}


async def test_who_may_not_choose_a_model_takes_back_the_one_that_they_have(serve: Callable[..., Any]) -> None:
    api = await serve(settings={"Permissions": {"Users": {"bob": {"Level": "ZeroTrust"}}}})
    bob = await api.open("bob")
    await api.host.services.store.preferences.put("bob", Preferences(model="main/main"))
    refused = await bob.put("/api/preferences", json={"model": "main/main"})
    assert (refused.status_code, refused.json()["error"]["feature"]) == (403, "ChooseModel")
    assert (await bob.put("/api/preferences", json={"model": "", "style": "plain"})).status_code == 200
    assert (await bob.get("/api/preferences")).json() == {"preferences": {"style": "plain"}}
