"""Reactions at messages of the bot: feedback of the person on the answer."""

from typing import Any

import pytest

from sophon_channels.access_policy import AccessPolicy
from sophon_channels.contract import ChatLocation, MessageReaction, Person
from sophon_channels.testing import DEFAULT_LOCATION, DEFAULT_PERSON

EVE = Person("2", "Eve")


async def answered(running: Any, text: str = "hello") -> tuple[str, str]:
    """Send a message; return the platform's id of its answer, and the id of its run."""
    await running.channel.deliver_message(text)
    await running.channel.wait_for_text(f"You said: {text}")
    run_id = running.channel.sent[-1].run_id

    async def sent() -> Any:
        entries = await running.store.outbox.list(run_id=run_id)
        return next((entry.platform_id for entry in entries if entry.platform_id), None)

    found = None
    for _ in range(1000):
        await running.host.services.clock.sleep(0)
        if found := await sent():
            break
    assert found is not None
    return found, run_id


def reaction(message_id: str, *emojis: str, person: Person = DEFAULT_PERSON, chat: str = "10") -> MessageReaction:
    return MessageReaction("r", person, DEFAULT_LOCATION, message_id, emojis, chat)


async def given(running: Any, run_id: str) -> list[tuple[str, float, str]]:
    found = await running.store.trajectories.list_feedback(run_id)
    return [(each.principal, each.value, each.source) for each in found]


async def test_a_thumb_is_feedback_of_the_person_and_is_taken_back_with_it(start: Any) -> None:
    running = await start()
    message_id, run_id = await answered(running)
    await running.channel.deliver(reaction(message_id, "👍"))
    assert await given(running, run_id) == [("synthetic:1", 1.0, "synthetic")]
    await running.channel.deliver(reaction(message_id, "👎🏽"))
    assert await given(running, run_id) == [("synthetic:1", -1.0, "synthetic")]
    await running.channel.deliver(reaction(message_id, chat=""))
    assert await given(running, run_id) == []


@pytest.mark.parametrize(
    "wrong", [{"message_id": "999"}, {"chat": "11"}, {"emojis": ("🤔",)}], ids=["message", "chat", "emoji"]
)
async def test_a_reaction_that_says_nothing_of_an_answer_is_ignored(start: Any, wrong: dict[str, Any]) -> None:
    running = await start()
    message_id, run_id = await answered(running)
    options = {"message_id": message_id, "emojis": ("👍",), "chat": "10", **wrong}
    found = MessageReaction("r", DEFAULT_PERSON, ChatLocation("10"), **options)
    await running.channel.deliver(found)
    assert await given(running, run_id) == []


async def test_who_may_not_write_may_not_react(start: Any) -> None:
    running = await start(policy=AccessPolicy(allow_from=frozenset({DEFAULT_PERSON.id})))
    message_id, run_id = await answered(running)
    await running.channel.deliver(reaction(message_id, "👍", person=EVE))
    assert await given(running, run_id) == []
