"""Life cycle of all channels of a host: composition, start, stop."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from aiohttp import web

from sophon.services import Services
from sophon.stores.outbound_contracts import OutboundEntry
from sophon.stores.run_contracts import Run
from sophon_channels.contract import Channel
from sophon_channels.errors import ChannelError
from sophon_hosting.channels.answers import Answers
from sophon_hosting.channels.attachments import Attachments
from sophon_hosting.channels.chats import Chats, identity
from sophon_hosting.channels.configured import Configured
from sophon_hosting.channels.delivery import Delivery
from sophon_hosting.channels.letters import Letters
from sophon_hosting.channels.pairing import Pairing
from sophon_hosting.channels.presence import Presence
from sophon_hosting.channels.questions import Questions
from sophon_hosting.channels.reception import Reception
from sophon_hosting.channels.sending_tool import FILE, sending_tool
from sophon_hosting.events.frame import Frame
from sophon_hosting.host import Host

log = logging.getLogger("sophon")

ENDINGS = frozenset({"task_completed", "task_failed", "task_cancelled"})
"""Events after which a channel may have a reply to send."""


AGAIN_SECONDS = 5.0
"""Delay before a channel is started again after an error of the host."""

LOOK_SECONDS = 60.0
"""Interval at which missed prompts and decisions (of another process, or after an error) are sent."""

TIDY_SECONDS = 3600.0
"""Interval at which expired notes are deleted."""


class Line:
    """One channel connected to a host, with its inbound handler, approval prompts and outbox worker."""

    def __init__(self, host: Host, configured: Configured, presence: Presence, answers: Answers) -> None:
        services, channel = host.services, configured.channel
        self.channel = channel
        self.chats = Chats(channel, services.store, services.clock)
        self._typing, self._replies, self._store = presence, answers, services.store
        self._clock = services.clock
        self.delivery = Delivery(
            channel, services.store.outbound, services.clock, moved=self.chats.move, ready=self._refresh_payload
        )
        writer = Letters(channel, services.store, self.delivery.wake)
        self.questions = Questions(host, channel, self.chats, writer)
        self.reception = Reception(
            host,
            channel,
            configured.policy,
            chats=self.chats,
            letters=writer,
            questions=self.questions,
            pairing=Pairing(services.store, services.clock),
        )
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Start the outbox worker and, in the background, the channel; a failing channel blocks nothing."""
        self._tasks = [asyncio.create_task(self.delivery.run()), asyncio.create_task(self._run())]

    async def stop_hearing(self) -> None:
        """Stop to receive; sending continues."""
        tasks = self._tasks[1:]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.reception.close()

    async def stop(self) -> None:
        """Stop to send, and stop the channel."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.channel.stop()

    async def _run(self) -> None:
        while not await self._try_start():
            await self._clock.sleep(AGAIN_SECONDS)
            await self.channel.stop()
        last_expiry = self._clock.monotonic()
        while self.channel.health.state != "refused":
            await self._clock.sleep(LOOK_SECONDS)
            try:
                await self.questions.ask_all()
                if self._clock.monotonic() - last_expiry >= TIDY_SECONDS:
                    last_expiry = self._clock.monotonic()
                    await self.chats.forget_old()
            except Exception:
                log.exception("%s: missed approval prompts could not be checked", self.channel.name)

    async def _try_start(self) -> bool:
        """Try to start the channel; return False if another attempt makes sense."""
        try:
            await self.questions.ask_all()
            await self.reception.albums.take_up()
            await self.chats.forget_old()
            await self.channel.start(self.reception)
        except ChannelError as error:
            self.channel.health.state, self.channel.health.detail = "refused", str(error)
            log.error("the channel %s cannot run: %s", self.channel.name, error)  # noqa: TRY400 - no traceback
        except Exception:
            self.channel.health.state, self.channel.health.detail = "failing", "internal error; see the host's log"
            log.exception("the channel %s could not be started; it is retried", self.channel.name)
            return False
        return True

    async def _refresh_payload(self, entry: OutboundEntry) -> Mapping[str, Any] | None:
        """Return a refreshed payload: the message that an entry replaces may be known only now; files replace none."""
        if entry.kind == FILE:
            return None
        if entry.run_id is None:
            return await self.questions.latest(entry)
        await self._typing.settled(entry.run_id)
        if self._typing.shown(entry.run_id) is None:
            return None
        return self._replies.latest(entry, await self._store.runs.get(entry.run_id))


class Switchboard:
    """Supervisor of all channels of a host.

    The host is created with `answers`, `prepare` and `approvers`; then `connect` and `start` follow.
    """

    def __init__(self, services: Services, channels: Sequence[Configured]) -> None:
        self._services, self._configured = services, list(channels)
        by_name: dict[str, Channel] = {each.channel.name: each.channel for each in channels}
        self._typing = Presence(by_name, services.store, services.clock)
        self.answers = Answers(by_name, services.clock, self._typing.shown)
        self._attachments = Attachments(by_name, services.folder / services.settings.tools.files_root, services.clock)
        self._connected: dict[str, Line] = {}
        self._host: Host | None = None
        self._approval_events: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
        self._prompt_task: asyncio.Task[None] | None = None
        if by_name:
            services.offer(sending_tool(by_name, self._wake))

    @property
    def channels(self) -> list[Channel]:
        """All configured channels, including those that cannot run."""
        return [each.channel for each in self._configured]

    @property
    def approvers(self) -> frozenset[str]:
        """The people in the channels' setting Approvers, as user ids of the host."""
        return frozenset(
            identity(each.channel.name, person_id) for each in self._configured for person_id in each.policy.approvers
        )

    def routes(self) -> list[web.RouteDef]:
        """Return the webhook routes of all channels."""
        return [route for each in self._configured for route in each.channel.routes()]

    async def prepare(self, run: Run) -> Run:
        """Return the run with the files of its message, before its turn starts."""
        return await self._attachments.prepare(run)

    def connect(self, host: Host) -> None:
        """Connect each channel to the host."""
        self._host = host
        self._connected = {each.channel.name: Line(host, each, self._typing, self.answers) for each in self._configured}

    def start(self) -> None:
        """Start all channels, once the host runs."""
        if self._host is None or not self._connected:
            return
        self._host.feed.watch(self._handle_event)
        self._prompt_task = asyncio.create_task(self._send_prompts())
        for connected in self._connected.values():
            connected.start()

    async def stop_hearing(self) -> None:
        """Stop to receive on all channels."""
        await asyncio.gather(*(connected.stop_hearing() for connected in self._connected.values()))

    async def stop(self) -> None:
        """Stop to send; entries that are not sent yet are sent after the next start."""
        if self._prompt_task is None:
            return
        if self._host is not None:
            self._host.feed.unwatch(self._handle_event)
        self._prompt_task.cancel()
        with suppress(asyncio.CancelledError):
            await self._prompt_task
        self._prompt_task = None
        await self._typing.stop()
        await asyncio.gather(*(connected.stop() for connected in self._connected.values()))

    def _wake(self, channel: str) -> None:
        if (connected := self._connected.get(channel)) is not None:
            connected.delivery.wake()

    def _handle_event(self, frame: Frame) -> None:
        self._typing.hear(frame)
        if frame.name in ("approval_requested", "approval_resolved"):
            self._approval_events.put_nowait((frame.name, str(frame.data["approval_id"])))
        elif frame.name in ENDINGS:
            for connected in self._connected.values():
                connected.delivery.wake()

    async def _send_prompts(self) -> None:
        """Send approval prompts and decisions to their chats, in order."""
        while True:
            event, approval_id = await self._approval_events.get()
            for connected in self._connected.values():
                try:
                    if event == "approval_requested":
                        await connected.questions.ask(approval_id)
                    else:
                        await connected.questions.show_decided(approval_id)
                except Exception:
                    log.exception(
                        "%s: the prompt or decision of approval %s could not be sent",
                        connected.channel.name,
                        approval_id,
                    )
