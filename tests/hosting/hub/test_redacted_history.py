"""Who lacks the permission FullHistory reads conversations redacted: live, in a replay, and in lists."""

from typing import Any

import pytest

from sophon.turn.history_redaction import HIDDEN
from tests.hosting.hub.conftest import House, Peer

WITHOUT = {
    "Permissions": {"Users": {"bob": {"Level": "ZeroTrust"}, "olga": {"Level": "ZeroTrust"}}},
    "Guards": {"Authorization": {"Enabled": False}},  # so that they have calls to see
}


async def look(house: House, user: str) -> tuple[Peer, str]:
    """A turn of the user with a tool call, reasoning and an answer."""
    house.release.set()
    peer = await house.peer(user)
    task = (await peer.done("send_message", {"content": "look salary", "session_id": f"of-{user}"}))["task_id"]
    assert (await peer.ended(task)).endswith("Done: salary")
    return peer, task


def seen(events: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: data for name, data in events if name in ("tool_call_started", "tool_call_completed", "reasoning")}


@pytest.mark.parametrize("settings", [WITHOUT])
@pytest.mark.parametrize(("user", "sees"), [("ada", True), ("bob", False)])
async def test_live_and_replayed_events_show_the_call_only_with_the_permission(house, settings, user, sees) -> None:
    peer, _ = await look(house, user)
    replayed = (await peer.done("join_session", {"session_id": f"of-{user}", "last_seq": 0}))["events"]

    for events in (seen(peer.heard), seen([(each["event"], each["data"]) for each in replayed])):
        assert events["tool_call_started"]["arguments"] == {"what": "salary" if sees else HIDDEN}
        assert events["tool_call_completed"]["result"] == ("salary" if sees else HIDDEN)
        assert events["reasoning"]["text"] == ("Where is it?" if sees else HIDDEN)
    assert [data["content"] for data in peer.of("message")][-1] == "Done: salary"


@pytest.mark.parametrize("settings", [WITHOUT])
async def test_an_operator_without_the_permission_sees_that_others_work_and_not_what(house, settings) -> None:
    olga = await house.peer("olga", "/operator")
    await look(house, "ada")
    await olga.until("task_completed")
    joined = await olga.done("join_session", {"session_id": "of-ada", "last_seq": 0})

    assert "salary" not in repr(olga.heard)
    assert "salary" not in repr(joined)
    assert [data["text"] for data in olga.of("task_completed")] == [HIDDEN]
    assert len(joined["events"]) > 5
    sessions = await olga.done("list_sessions")
    assert [each["title"] for each in sessions["items"]] in ([HIDDEN], [""])
    refused = await olga.refused("list_sessions", {"q": "salary"})
    assert (refused["code"], refused["feature"]) == ("level_needed", "FullHistory")


@pytest.mark.parametrize("settings", [WITHOUT])
async def test_an_approval_is_shown_to_who_decides_it(house, settings) -> None:
    bob = await house.peer("bob")
    ada = await house.peer("ada")
    for peer in (bob, ada):
        await peer.done("send_message", {"content": "pay 7"})
        await peer.until("approval_requested")
    assert ada.of("approval_requested")[0]["arguments"] == {"to": "7"}
    assert (await ada.done("list_approvals"))["items"][0]["arguments"] == {"to": "7"}
    assert bob.of("approval_requested")[0]["arguments"] == {"to": HIDDEN}
    assert (await bob.done("list_approvals"))["items"][0]["arguments"] == {"to": HIDDEN}
