"""A conversation over Socket.IO: send, hear, approve, cancel, list."""


async def test_a_message_is_acknowledged_and_answered(house) -> None:
    ada = await house.peer()
    receipt = await ada.done("send_message", {"content": "hello"})
    assert await ada.ended(receipt["task_id"]) == "HELLO"
