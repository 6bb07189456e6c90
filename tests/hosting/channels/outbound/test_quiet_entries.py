"""Quiet hours of a channel without silent messages: what answers nobody waits for their end, and holds nothing up."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import pytest

from sophon.scheduled_turns import SCHEDULED_ORIGIN
from sophon.testing import VirtualClock
from sophon_channels.outbound_entry import OutboundEntry
from sophon_channels.quiet_hours import QuietHours
from sophon_channels.testing import SyntheticChannel
from sophon_hosting.channels.outbound.outbox_worker import OutboxWorker
from sophon_hosting.channels.outbound.quiet_entries import UNPROMPTED_KIND, QuietEntries, is_prompted
from sophon_hosting.store.runs.contract import Run
from sophon_hosting.store.sql_host_store import SqlHostStore

NIGHT, MORNING = datetime(2026, 11, 23, 23, tzinfo=UTC), datetime(2026, 11, 24, 7, tzinfo=UTC)
WRITTEN = {"chat": "10", "reply_to": "wamid.1"}


class QuietChannel(SyntheticChannel):
    """A channel like WhatsApp: nothing can be sent without a sound."""

    def find_quiet_end(self, now: datetime) -> datetime | None:
        return QuietHours.parse(("22:00", "07:00"), "UTC").find_end(now)


class Night:
    """A worker at 23:00, over a store in memory."""

    def __init__(self, channel: SyntheticChannel) -> None:
        self.channel, self.clock = channel, VirtualClock(start=NIGHT)
        self.store = SqlHostStore("memory://", clock=self.clock)
        hold = QuietEntries(channel, self.store, self.clock).find_hold  # type: ignore[arg-type]
        self.worker = OutboxWorker(
            channel, self.store.outbox, self.clock, migrate_chat=_ignore, refresh_payload=_ignore, find_hold=hold
        )

    async def add(self, name: str, origin: dict[str, Any] | None, kind: str = "answer") -> None:
        run_id = None
        if origin is not None:
            run_id = name
            await self.store.runs.accept(Run(name, f"s-{name}", "ada", "synthetic", origin))
        entry = OutboundEntry(f"{name}:end:0", run_id, "synthetic", "bot", "10", kind, {"text": name})
        await self.store.outbox.add([entry])
        self.worker.wake()

    async def wait_for(self, count: int) -> list[str]:
        """Let virtual time pass, minute by minute, until so many entries are sent; return their texts."""
        async with asyncio.timeout(60):
            while len(self.channel.sent) < count:
                await self.clock.sleep(60)
        return [str(entry.payload["text"]) for entry in self.channel.sent]


async def _ignore(*_: object) -> None:
    return


@pytest.fixture
async def night() -> AsyncIterator[Night]:
    night = Night(QuietChannel())
    work = asyncio.create_task(night.worker.run())
    yield night
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)


@pytest.mark.parametrize(
    ("origin", "kind"),
    [
        ({"chat": "10", SCHEDULED_ORIGIN: "sch1"}, "answer"),
        ({"chat": "10", "webhook": "ci"}, "file"),
        ({"chat": "10", "place": {"chat": "10"}}, "answer"),
        (None, UNPROMPTED_KIND),
    ],
)
async def test_what_answers_nobody_waits_for_the_morning(
    night: Night, origin: dict[str, Any] | None, kind: str
) -> None:
    await night.add("reminder", origin, kind)
    assert await night.wait_for(1) == ["reminder"]
    assert night.clock.now() >= MORNING


async def test_an_answer_and_a_question_are_sent_at_once_past_what_waits(night: Night) -> None:
    await night.add("reminder", {"chat": "10", SCHEDULED_ORIGIN: "sch1"})
    await night.add("question", None, "question")
    await night.add("answer", WRITTEN)
    assert await night.wait_for(2) == ["question", "answer"]
    assert night.clock.now() < MORNING
    assert await night.wait_for(3) == ["question", "answer", "reminder"]


async def test_parts_of_a_held_message_come_in_order(night: Night) -> None:
    for name in ("one", "two", "three"):
        await night.add(name, {"chat": "10", SCHEDULED_ORIGIN: name})
    assert await night.wait_for(3) == ["one", "two", "three"]


async def test_a_channel_that_sends_silently_holds_nothing() -> None:
    night = Night(SyntheticChannel())
    work = asyncio.create_task(night.worker.run())
    await night.add("reminder", {"chat": "10", SCHEDULED_ORIGIN: "sch1"})
    assert await night.wait_for(1) == ["reminder"]
    assert night.clock.now() < MORNING
    work.cancel()
    await asyncio.gather(work, return_exceptions=True)


def test_a_run_is_prompted_by_a_message_that_it_replies_to() -> None:
    assert is_prompted(Run("r", "s", origin=WRITTEN))
    assert not is_prompted(Run("r", "s", origin={"chat": "10"}))
