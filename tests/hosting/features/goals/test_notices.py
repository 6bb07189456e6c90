"""Notices about goals: a pause by a rule is told once, in the chat of the goal, and a few times per goal."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from sophon_channels.testing import SyntheticChannel
from sophon_hosting.channels.outbound.message_entries import OutboundWriter
from sophon_hosting.events.wire_event import WireEvent, to_wire_event
from sophon_hosting.features.goals import notices as goal_notices
from sophon_hosting.features.goals.goal_writer import build_event
from sophon_hosting.features.goals.notices import MAX_NOTICES_PER_GOAL, GoalNotices, is_goal_pause
from sophon_hosting.features.goals.rules.goal import Goal, PauseKind
from sophon_hosting.features.goals.stored_goals import stored_goals
from sophon_hosting.store.sql_host_store import SqlHostStore

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Chat:
    """A channel with the notices, over a store in memory."""

    def __init__(self) -> None:
        self.store, self.channel = SqlHostStore("memory://"), SyntheticChannel()
        writer = OutboundWriter(self.channel, self.store, lambda: None)
        self.notices = GoalNotices(self.channel, self.store, writer)

    async def pause(self, goal: Goal, kind: PauseKind = "oscillation", reason: str = "no ink") -> WireEvent:
        """Store the next version of the goal as paused, and tell the notices; return the event."""
        await stored_goals(self.store).add(goal)
        stored = await stored_goals(self.store).find(goal.id)
        assert stored is not None
        paused = replace(stored, state="paused", pause_kind=kind, reason=reason)
        changed = await stored_goals(self.store).change(paused)
        assert changed is not None
        event = to_wire_event(build_event(changed))
        assert is_goal_pause(event)
        await self.notices.send(event)
        return event

    async def texts(self) -> list[str]:
        return [str(entry.payload) for entry in await self.store.outbox.list()]


def make(goal_id: str = "g1", channel: str = "synthetic", chat: str = "10", **more: object) -> Goal:
    origin = {"chat": chat, "kind": "direct"} if chat else {}
    goal = Goal(goal_id, "ada", "Errand", "Words", channel=channel, origin=origin, created_at=NOON)
    return replace(goal, **more)  # type: ignore[arg-type]


async def test_a_pause_by_a_rule_is_told_in_the_chat_of_the_goal() -> None:
    chat = Chat()
    await chat.pause(make())
    [entry] = await chat.store.outbox.list()
    assert (entry.chat, entry.recipient) == ("10", "ada")
    assert "Errand" in str(entry.payload)
    assert "no ink" in str(entry.payload)


@pytest.mark.parametrize("kind", ["person", "back_off"])
async def test_what_a_person_paused_or_what_goes_on_by_itself_is_not_told(kind: PauseKind) -> None:
    chat = Chat()
    await chat.pause(make(), kind)
    assert await chat.texts() == []


@pytest.mark.parametrize("goal", [make(channel="telegram"), make(chat="")])
async def test_a_goal_of_another_channel_or_of_no_chat_is_not_told(goal: Goal) -> None:
    chat = Chat()
    await chat.pause(goal)
    assert await chat.texts() == []


async def test_a_repeated_event_is_told_once_and_does_not_count_again() -> None:
    chat = Chat()
    event = await chat.pause(make())
    for _ in range(MAX_NOTICES_PER_GOAL):
        await chat.notices.send(event)
    await chat.pause(make())
    assert len(await chat.texts()) == 2


async def test_a_goal_that_pauses_again_and_again_has_a_few_notices_and_another_one_its_own() -> None:
    chat = Chat()
    for _ in range(MAX_NOTICES_PER_GOAL + 3):
        await chat.pause(make())
    assert len(await chat.texts()) == MAX_NOTICES_PER_GOAL
    await chat.pause(make("g2"))
    assert len(await chat.texts()) == MAX_NOTICES_PER_GOAL + 1


async def test_without_the_bound_every_pause_would_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(goal_notices, "MAX_NOTICES_PER_GOAL", 1000)
    chat = Chat()
    for _ in range(MAX_NOTICES_PER_GOAL + 3):
        await chat.pause(make())
    assert len(await chat.texts()) == MAX_NOTICES_PER_GOAL + 3
