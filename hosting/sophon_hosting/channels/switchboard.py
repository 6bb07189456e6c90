"""All channels of a host: what is made for each, and when they begin and end."""

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


AGAIN_SECONDS = 5.0
"""Before a channel is begun once more that failed for a reason of the host's own."""

LOOK_SECONDS = 60.0
"""What was decided by another process, or could not be told when it happened, is told after this time at the latest."""

TIDY_SECONDS = 3600.0


class Line:
    """One channel, connected to a host."""

    def __init__(self, host: Host, configured: Configured, presence: Presence, answers: Answers) -> None:
        services, channel = host.services, configured.channel
        self.channel = channel
        self.chats = Chats(channel, services.store, services.clock)
        self._presence, self._answers, self._store = presence, answers, services.store
        self._clock = services.clock
        self.delivery = Delivery(
            channel, services.store.outbound, services.clock, moved=self.chats.move, ready=self._ready
        )
        letters = Letters(channel, services.store, self.delivery.wake)
        self.questions = Questions(host, channel, self.chats, letters)
        self.reception = Reception(
            host,
            channel,
            configured.policy,
            chats=self.chats,
            letters=letters,
            questions=self.questions,
            pairing=Pairing(services.store, services.clock),
        )
        self._work: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Deliver, take up what was left, and begin to hear; a channel that refuses keeps nobody waiting."""
        self._work = [asyncio.create_task(self.delivery.run()), asyncio.create_task(self._begin())]

    async def stop_hearing(self) -> None:
        """Nothing more comes in; what is to be sent goes on."""
        hearing = self._work[1:]
        for task in hearing:
            task.cancel()
        await asyncio.gather(*hearing, return_exceptions=True)
        await self.reception.close()

    async def stop(self) -> None:
        """Nothing more goes out."""
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)
        await self.channel.stop()

    async def _begin(self) -> None:
        while not await self._begun():
            await self._clock.sleep(AGAIN_SECONDS)
            await self.channel.stop()
        tidied = self._clock.monotonic()
        while self.channel.health.state != "refused":
            await self._clock.sleep(LOOK_SECONDS)
            try:
                await self.questions.ask_all()
                if self._clock.monotonic() - tidied >= TIDY_SECONDS:
                    tidied = self._clock.monotonic()
                    await self.chats.forget_old()
            except Exception:
                log.exception("the open questions of %s could not be looked at", self.channel.name)

    async def _begun(self) -> bool:
        """Whether another try makes no sense."""
        try:
            await self.questions.ask_all()
            await self.reception.albums.take_up()
            await self.chats.forget_old()
            await self.channel.start(self.reception)
        except ChannelError as error:
            self.channel.health.state, self.channel.health.detail = "refused", str(error)
            log.error("the channel %s does not run: %s", self.channel.name, error)  # noqa: TRY400 - a sentence
        except Exception:
            self.channel.health.state, self.channel.health.detail = "failing", "an error of the host; see its log"
            log.exception("the channel %s could not be started; another try follows", self.channel.name)
            return False
        return True

    async def _ready(self, entry: OutboundEntry) -> Mapping[str, Any] | None:
        """What it takes the place of may be known only now; a file takes the place of nothing."""
        if entry.kind == FILE:
            return None
        if entry.run_id is None:
            return await self.questions.latest(entry)
        await self._presence.settled(entry.run_id)
        if self._presence.shown(entry.run_id) is None:
            return None
        return self._answers.latest(entry, await self._store.runs.get(entry.run_id))


class Switchboard:
    """The channels of a host. What the host is made with comes first (`answers`, `prepare`, `approvers`), then
    `connect`, then `start`.
    """

    def __init__(self, services: Services, channels: Sequence[Configured]) -> None:
        self._services, self._configured = services, list(channels)
        by_name: dict[str, Channel] = {each.channel.name: each.channel for each in channels}
        self._presence = Presence(by_name, services.store, services.clock)
        self.answers = Answers(by_name, services.clock, self._presence.shown)
        self._attachments = Attachments(by_name, services.folder / services.settings.tools.files_root, services.clock)
        self._lines: dict[str, Line] = {}
        self._host: Host | None = None
        self._decisions: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
        self._telling: asyncio.Task[None] | None = None
        if by_name:
            services.offer(sending_tool(by_name, self._wake))

    @property
    def channels(self) -> list[Channel]:
        """All that are configured, also those that refuse to run."""
        return [each.channel for each in self._configured]

    @property
    def approvers(self) -> frozenset[str]:
        """Those whom the channels' settings name, as users of the host."""
        return frozenset(identity(each.channel.name, who) for each in self._configured for who in each.policy.approvers)

    def routes(self) -> list[web.RouteDef]:
        """The webhooks of all."""
        return [route for each in self._configured for route in each.channel.routes()]

    async def prepare(self, run: Run) -> Run:
        """A run before its turn begins: with the files that came with its message."""
        return await self._attachments.prepare(run)

    def connect(self, host: Host) -> None:
        """Make what each channel needs in a host."""
        self._host = host
        self._lines = {each.channel.name: Line(host, each, self._presence, self.answers) for each in self._configured}

    def start(self) -> None:
        """Begin, once the host works."""
        if self._host is None or not self._lines:
            return
        self._host.feed.watch(self._hear)
        self._telling = asyncio.create_task(self._tell())
        for line in self._lines.values():
            line.start()

    async def stop_hearing(self) -> None:
        """Take nothing more."""
        await asyncio.gather(*(line.stop_hearing() for line in self._lines.values()))

    async def stop(self) -> None:
        """Send nothing more; what waits is sent after the next start."""
        if self._telling is None:
            return
        if self._host is not None:
            self._host.feed.unwatch(self._hear)
        self._telling.cancel()
        with suppress(asyncio.CancelledError):
            await self._telling
        self._telling = None
        await self._presence.stop()
        await asyncio.gather(*(line.stop() for line in self._lines.values()))

    def _wake(self, channel: str) -> None:
        if (line := self._lines.get(channel)) is not None:
            line.delivery.wake()

    def _hear(self, frame: Frame) -> None:
        self._presence.hear(frame)
        if frame.name in ("approval_requested", "approval_resolved"):
            self._decisions.put_nowait((frame.name, str(frame.data["approval_id"])))
        elif frame.name in ENDINGS:
            for line in self._lines.values():
                line.delivery.wake()

    async def _tell(self) -> None:
        """Questions and decisions into their chats, in their order."""
        while True:
            what, approval_id = await self._decisions.get()
            for line in self._lines.values():
                try:
                    if what == "approval_requested":
                        await line.questions.ask(approval_id)
                    else:
                        await line.questions.show_decided(approval_id)
                except Exception:
                    log.exception("%s: decision %s could not be told", line.channel.name, approval_id)
