"""Killed between the question and the press: the tool runs once, and who comes back sees all of it in order."""

import asyncio
import signal


async def test_a_kill_between_question_and_press_loses_nothing(program, connect) -> None:
    here = program()
    host = here.serve()
    client = await connect(host.url)
    sent = await client.ask("send_message", {"content": "pay Bob", "session_id": "s"})
    asked = await client.until("approval_requested")
    await client.until("agent_status", status="waiting_approval")
    await host.ended(signal.SIGKILL)
    assert here.paid() == []

    await asyncio.to_thread(here.serve, host.port)
    await client.connected_again()
    before = [data["seq"] for _, data in client.heard if data.get("seq")]
    joined = await client.ask("join_session", {"session_id": "s", "last_seq": before[-1]})
    assert [each["data"]["seq"] for each in joined["events"]] == []
    [waiting] = (await client.ask("list_approvals", {}))["items"]
    assert waiting["approval_id"] == asked["approval_id"]
    decided = await client.ask("decide_approval", {"approval_id": asked["approval_id"], "decision": "approve"})
    assert decided["ok"]
    done = await client.until("task_completed", task_id=sent["task_id"])

    assert (done["text"], here.paid()) == ("PAID BOB", ["Bob"])
    seqs = [data["seq"] for _, data in client.heard if data.get("seq")]
    assert seqs == list(range(1, len(seqs) + 1))
    late = await client.ask("decide_approval", {"approval_id": asked["approval_id"], "decision": "reject"})
    assert (late["error"]["code"], late["error"]["decided_by"]) == ("already_decided", "local")


async def test_a_newcomer_after_the_kill_sees_the_whole_story(program, connect) -> None:
    here = program()
    host = here.serve()
    client = await connect(host.url)
    await client.ask("send_message", {"content": "hello", "session_id": "s"})
    await client.until("task_completed")
    await client.ask("send_message", {"content": "pay Bob", "session_id": "s"})
    asked = await client.until("approval_requested")
    await host.ended(signal.SIGKILL)
    await client.socket.disconnect()

    again = here.serve()
    other = await connect(again.url)
    joined = await other.ask("join_session", {"session_id": "s"})
    names = [each["event"] for each in joined["events"]]
    assert [each["data"]["seq"] for each in joined["events"]] == list(range(1, len(names) + 1))
    assert names.index("task_completed") < names.index("approval_requested")
    await other.ask("decide_approval", {"approval_id": asked["approval_id"], "decision": "reject", "reason": "no"})
    await other.until("task_completed")
    assert here.paid() == []


async def test_a_host_that_dies_in_mid_turn_carries_it_out_again(program, connect) -> None:
    here = program()
    host = here.serve()
    client = await connect(host.url)
    sent = await client.ask("send_message", {"content": "wait", "session_id": "s"})
    queued = await client.ask("send_message", {"content": "second", "session_id": "s"})
    await here.appears("waiting")
    await host.ended(signal.SIGKILL)
    (here.folder / "go").touch()

    await asyncio.to_thread(here.serve, host.port)
    await client.connected_again()
    seen = max((data["seq"] for _, data in client.heard if data.get("seq")), default=0)
    for each in (await client.ask("join_session", {"session_id": "s", "last_seq": seen}))["events"]:
        client._hear(each["event"], each["data"])
    await client.until("task_completed", task_id=queued["task_id"])

    ended = [data["task_id"] for name, data in client.heard if name == "task_completed"]
    assert ended == [sent["task_id"], queued["task_id"]]
    said = [data["content"] for name, data in client.heard if name == "message"]
    assert said == ["wait", "WAIT", "second", "SECOND"]
