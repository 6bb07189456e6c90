"""Text before tool calls and reasoning, as a client of the hub receives them."""

import asyncio
from typing import Any

WHOLE = "Let me look.\n\nDone: here"


async def test_a_client_receives_text_call_and_text_in_order(house: Any) -> None:
    peer = await house.peer()
    sent = await peer.done("send_message", {"content": "look here", "session_id": "s", "stream": True})
    await asyncio.wait_for(house.stalled.wait(), 20)
    house.release.set()
    assert await peer.ended(sent["task_id"]) == WHOLE
    assert "".join(chunk["text"] for chunk in peer.of("stream_chunk")) == WHOLE
    assert peer.of("stream_reset") == []
    kinds = ("reasoning", "message", "tool_call_started", "tool_call_completed", "task_completed")
    order = [(name, data.get("content")) for name, data in peer.heard if name in kinds]
    assert order[1:] == [
        ("reasoning", None),
        ("message", "Let me look."),
        ("tool_call_started", None),
        ("tool_call_completed", None),
        ("message", "Done: here"),
        ("task_completed", None),
    ]
    assert peer.of("stream_completed")[0]["length"] == len(WHOLE)


async def test_the_task_and_a_cancelled_one_keep_all_text(house: Any) -> None:
    peer = await house.peer()
    sent = await peer.done("send_message", {"content": "look here", "session_id": "s"})
    await asyncio.wait_for(house.stalled.wait(), 20)
    await peer.done("cancel_task", {"task_id": sent["task_id"]})
    assert await peer.ended(sent["task_id"]) == "Let me look."
    run = await house.host.services.store.runs.get(sent["task_id"])
    assert run.response is not None
    assert run.response["text"] == "Let me look."
