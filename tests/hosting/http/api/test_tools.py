"""`/api/tools` lists what the user may use, and says how many tools are hidden."""

from collections.abc import Callable
from typing import Any

import pytest

LIMITED = {
    "Guards": {"Authorization": {"Enabled": True}},
    "Permissions": {"Users": {"bob": {"Level": "ZeroTrust"}}, "Levels": {"ZeroTrust": {"Tools": ["datetime.now"]}}},
}


@pytest.mark.parametrize(("settings", "hides"), [(LIMITED, True), ({**LIMITED, "Guards": {}}, False)])
async def test_tools_without_a_permission_are_not_listed(
    serve: Callable[..., Any], settings: dict[str, Any], hides: bool
) -> None:
    api = await serve(settings=settings)
    whole = (await (await api.open("ada")).get("/api/tools")).json()
    limited = (await (await api.open("bob")).get("/api/tools")).json()

    assert whole["hidden"] == 0
    assert len(whole["items"]) > 2
    assert ([each["name"] for each in limited["items"]] == ["datetime.now"]) is hides
    assert len(limited["items"]) + limited["hidden"] == len(whole["items"])
