"""`/api/tools` lists what the user may use, and says how many tools are hidden."""

from collections.abc import Callable
from typing import Any

import pytest

from sophon import ModelRequest, ModelResponse, ToolCall, tool
from sophon.errors import ToolError
from sophon.testing import FunctionModel
from sophon_hosting.host_chain import build_configured_chain

LIMITED = {
    "Permissions": {"Users": {"bob": {"Level": "ZeroTrust"}}, "Levels": {"ZeroTrust": {"Tools": ["datetime.now"]}}},
}


@pytest.mark.parametrize(
    ("settings", "hides"), [(LIMITED, True), ({**LIMITED, "Guards": {"Authorization": {"Enabled": False}}}, False)]
)
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


@pytest.mark.parametrize("is_guarded", [True, False])
async def test_a_person_of_level_zero_trust_is_offered_no_tool_and_runs_none(
    serve: Callable[..., Any], is_guarded: bool
) -> None:
    asked: list[ModelRequest] = []

    async def obey(request: ModelRequest) -> ModelResponse:
        asked.append(request)
        if request.messages[-1].role == "tool":
            return ModelResponse("done")
        return ModelResponse("", [ToolCall("c", "calculator", {"expression": "1+1"})])

    api = await serve(settings={"Permissions": {"Users": {"bob": {"Level": "ZeroTrust"}}}}, models=FunctionModel(obey))
    if is_guarded:
        api.host.replace_chain(build_configured_chain(api.host.services))
    offered: dict[str, int] = {}
    for name in ("bob", "ada"):
        client = await api.open(name)
        sent = await client.post("/api/tasks", json={"content": "how much is 1+1", "session_id": f"of-{name}"})
        await api.until(sent.json()["task_id"], "completed", "failed")
        offered[name] = len(asked[-1].tools)
        done = [each for each in await api.host.services.history(f"of-{name}") if each.role == "tool"]
        assert [each.content.startswith(("blocked", "error")) for each in done] == [name == "bob"], done
    assert offered["bob"] == 0
    assert offered["ada"] > 5


@tool()
async def fragile(text: str) -> str:
    """Break."""
    raise ToolError(f"cannot take {text} with key sk-proj-abcdefghijklmnopqrstuvwx0123456789")


async def test_the_last_error_of_a_tool_is_shown_to_whose_session_it_was_and_to_operators(
    serve: Callable[..., Any],
) -> None:
    api = await serve()
    api.host.services.toolbox.replace("test", [fragile])
    ada, bob, olga = [await api.open(name) for name in ("ada", "bob", "olga")]

    async def last_error(client: Any) -> Any:
        items = (await client.get("/api/tools")).json()["items"]
        return next(each["last_error"] for each in items if each["name"] == "fragile")

    assert await last_error(ada) is None
    version = (await ada.get("/api/tools")).json()["version"]
    for text in ("one", "two"):
        call = {"arguments": {"text": text}, "session_id": "s"}
        task_id = (await ada.post("/api/tools/fragile/call", json=call)).json()["task_id"]
        await api.until(task_id, "completed")
    shown = await last_error(ada)
    assert (shown["outcome"], "cannot take two" in shown["text"], "sk-proj-abc" in shown["text"]) == (
        *("failed", True),
        False,
    )
    assert await last_error(olga) == shown
    assert await last_error(bob) is None
    assert (await ada.get("/api/tools")).json()["version"] == version
    assert (await ada.delete("/api/sessions/s")).status_code == 200
    assert await last_error(olga) is None
    assert api.host.tool_errors.find("fragile") == []
