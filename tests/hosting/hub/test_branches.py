"""Branches over Socket.IO: the sender hears the turn of the new branch from its first event."""


async def test_an_answer_is_made_again_and_heard(house) -> None:
    ada = await house.peer()
    first = await ada.done("send_message", {"content": "hello", "session_id": "s"})
    await ada.ended(first["task_id"])
    receipt = await ada.done("regenerate", {"session_id": "s", "task_id": first["task_id"], "client_message_id": "m"})
    assert (receipt["session_id"] != "s", await ada.ended(receipt["task_id"])) == (True, "HELLO")
    assert ada.of("task_queued", receipt["task_id"])[0]["session_id"] == receipt["session_id"]
    same = await ada.done("regenerate", {"session_id": "s", "task_id": first["task_id"], "client_message_id": "m"})
    assert (same["task_id"], same["session_id"]) == (receipt["task_id"], receipt["session_id"])


async def test_a_message_is_edited_and_heard(house) -> None:
    ada = await house.peer()
    first = await ada.done("send_message", {"content": "hello", "session_id": "s"})
    await ada.ended(first["task_id"])
    edited = await ada.done("send_message", {"content": "bye", "session_id": "s", "replaces": first["task_id"]})
    assert await ada.ended(edited["task_id"]) == "BYE"
    listed = (await ada.done("list_sessions"))["items"]
    assert [each["session_id"] for each in listed] == [edited["session_id"]]


async def test_what_cannot_be_made_again_is_refused_and_nothing_is_joined(house) -> None:
    ada, bob = await house.peer(), await house.peer("bob")
    running = await ada.done("send_message", {"content": "stall here", "session_id": "s"})
    await house.stalled.wait()
    request = {"session_id": "s", "task_id": running["task_id"]}
    assert (await ada.refused("regenerate", request))["code"] == "busy"
    assert (await bob.refused("regenerate", request))["code"] == "not_found"
    assert (await bob.refused("send_message", {"content": "x", "session_id": "s", "replaces": running["task_id"]}))[
        "code"
    ] == "not_found"
    for payload in ({}, {"session_id": "s"}, {**request, "task_id": 5}, {**request, "content": "x"}):
        assert (await ada.refused("regenerate", payload))["code"] == "input"
    house.release.set()
    await ada.ended(running["task_id"])
    assert [each.id for each in await house.host.services.store.sessions.list()] == ["s"]


async def test_everybody_who_watches_hears_that_a_branch_is_deleted(house) -> None:
    ada, other = await house.peer(), await house.peer()
    first = await ada.done("send_message", {"content": "hello", "session_id": "s"})
    await ada.ended(first["task_id"])
    edited = await ada.done("send_message", {"content": "bye", "session_id": "s", "replaces": first["task_id"]})
    await ada.ended(edited["task_id"])
    await other.done("join_session", {"session_id": edited["session_id"]})
    await house.host.delete_session("s")
    gone = await other.until("session_deleted")
    assert gone["session_id"] == edited["session_id"]
    await house.settled(lambda: len(ada.of("session_deleted")) == 2)
