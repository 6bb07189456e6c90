"""Life cycle of all channels of a host: composition, start, stop."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from aiohttp import web

from sophon.errors import NotFound
from sophon.events import event_type
from sophon.failure_log import log_failure
from sophon.principals import channel_person_principal
from sophon.services import Services
from sophon_channels.contract import Channel
from sophon_hosting.channels.channel_factory import ConfiguredChannel
from sophon_hosting.channels.connected_channel import ConnectedChannel
from sophon_hosting.channels.effective_chat_overrides import check_chats
from sophon_hosting.channels.inbound.attachment_downloads import AttachmentDownloader, ShownFiles
from sophon_hosting.channels.inbound.transcription import Transcriber
from sophon_hosting.channels.outbound.blocked_call_notices import BLOCKED_CALL_NOTICE
from sophon_hosting.channels.outbound.chat_notices import ChatNotice
from sophon_hosting.channels.outbound.reply_entries import ReplyBuilder
from sophon_hosting.channels.outbound.send_file_tool import create_send_file_tool
from sophon_hosting.channels.outbound.speech_synthesis import SpeechSynthesizer
from sophon_hosting.channels.outbound.spoken_answers import build_speech
from sophon_hosting.channels.outbound.typing_and_preview import TypingAndPreview
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.fanout.contract import HostFanout, HostMessage, Wake
from sophon_hosting.host import Host
from sophon_hosting.store.contract import host_store
from sophon_hosting.store.runs.contract import Run

log = logging.getLogger("sophon")

HINT_PREFIX = "attach:"


class ChannelSupervisor:
    """Supervisor of all channels of a host.

    The host is created with `replies`, `prepare_run` and `approvers`; then `connect` and `start` follow. `notices` are
    shown besides those of blocked calls. Raises SettingsError for chats with an agent, a model or a tool that there is
    not.
    """

    def __init__(
        self,
        services: Services,
        channels: Sequence[ConfiguredChannel],
        transcriber: Transcriber | None = None,
        synthesizer: SpeechSynthesizer | None = None,
        notices: Iterable[ChatNotice] = (),
    ) -> None:
        self._speech = build_speech(synthesizer, services.settings, services.folder)
        self._reads_voice = transcriber is not None
        self._configured = list(channels)
        self._notices = [BLOCKED_CALL_NOTICE, *notices]
        for each in self._configured:
            check_chats(services, each.channel.name, each.chats)
        by_name: dict[str, Channel] = {each.channel.name: each.channel for each in channels}
        self._typing = TypingAndPreview(by_name, host_store(services), services.clock, self._is_leader)
        self.replies = ReplyBuilder(by_name, services.clock, self._typing.find_preview)
        self.replies_off_the_record = ReplyBuilder(by_name, services.clock, lambda run_id: None)
        self._attachments = AttachmentDownloader(
            by_name,
            services.folder / services.settings.tools.files_root,
            services.clock,
            transcriber,
            ShownFiles(services),
        )
        self._connected: dict[str, ConnectedChannel] = {}
        self._attach_hints: AttachHints | None = None
        self._host: Host | None = None
        self._shown_events: asyncio.Queue[WireEvent] = asyncio.Queue()
        self._prompt_task: asyncio.Task[None] | None = None
        self._listens_elsewhere = False
        if by_name:
            services.register_tool(create_send_file_tool(by_name, self._wake))

    @property
    def channels(self) -> list[Channel]:
        """All configured channels, including those that cannot run."""
        return [each.channel for each in self._configured]

    @property
    def configured(self) -> Sequence[ConfiguredChannel]:
        """The channels with the settings about who may write."""
        return self._configured

    @property
    def approvers(self) -> frozenset[str]:
        """The people in the channels' setting Approvers, as user ids of the host."""
        return frozenset(
            channel_person_principal(each.channel.name, person_id)
            for each in self._configured
            for person_id in each.policy.approvers
        )

    def attach(self, name: str) -> bool:
        """Start a channel at once that waits for its next start, in each process of the group; return False if it does
        not wait for that in this one.

        Raises NotFound.
        """
        connected = self._connected.get(name)
        if connected is None:
            raise NotFound("channel", name, [*self._connected])
        if self._attach_hints is not None:
            self._attach_hints.send(name)
        return connected.attach()

    def _attach_here(self, name: str) -> None:
        """Start a channel at once that another process was asked for; nothing if this one does not have it."""
        connected = self._connected.get(name)
        if connected is not None:
            connected.attach()

    def list_detached(self) -> list[str]:
        """Return the names of the channels that could not be started several times in a row."""
        return [each.channel.name for each in self._configured if each.channel.health.state == "detached"]

    def routes(self) -> list[web.RouteDef]:
        """Return the webhook routes of all channels."""
        return [route for each in self._configured for route in each.channel.routes()]

    async def load(self) -> None:
        """Read what outcomes need to know of earlier processes, once the store is open and before runs are resumed."""
        if self._configured:
            await self._typing.load_unfinished()

    async def prepare_run(self, run: Run) -> Run:
        """Return the run with the files of its message, before its turn starts.

        Runs are resumed before the channels start, so a run with files waits for its channel, if this process is to
        start that.
        """
        connected = self._connected.get(run.channel)
        if connected is not None and run.origin.get("attachments"):
            await connected.wait_until_started()
        return await self._attachments.prepare_run(run)

    def connect(self, host: Host, *, has_http: bool = True) -> None:
        """Connect each channel to the host; `has_http`: this process receives its webhooks."""
        self._host = host
        self._attach_hints = AttachHints(host.fanout, self._attach_here)
        self._connected = {
            each.channel.name: ConnectedChannel(
                host,
                each,
                self._typing,
                self.replies,
                has_http=has_http,
                reads_voice=self._reads_voice,
                speech=self._speech,
                on_leading=self._follow_leadership,
                notices=self._notices,
            )
            for each in self._configured
        }

    def start(self) -> None:
        """Start all channels, once the host runs."""
        if self._host is None or not self._connected:
            return
        self._host.event_bus.subscribe_all(self._handle_event)
        self._listens_elsewhere = False
        if self._attach_hints is not None:
            self._attach_hints.start()
        self._prompt_task = asyncio.create_task(self._show_events())
        for connected in self._connected.values():
            connected.start()

    async def stop_receiving(self) -> None:
        """Stop to receive on all channels."""
        await asyncio.gather(*(connected.stop_receiving() for connected in self._connected.values()))

    async def stop(self) -> None:
        """Stop to send; entries that are not sent yet are sent after the next start."""
        if self._prompt_task is None:
            return
        if self._host is not None:
            self._host.event_bus.unsubscribe_all(self._handle_event)
        if self._attach_hints is not None:
            self._attach_hints.stop()
        self._prompt_task.cancel()
        with suppress(asyncio.CancelledError):
            await self._prompt_task
        self._prompt_task = None
        await self._typing.stop()
        await asyncio.gather(*(connected.stop() for connected in self._connected.values()))

    def _follow_leadership(self) -> None:
        """Listen to the events of other processes as well while this one shows them in the chats of a channel."""
        if self._host is None or self._prompt_task is None:
            return
        wanted = self._host.membership.is_shared and any(each.is_leader for each in self._connected.values())
        if wanted != self._listens_elsewhere:
            self._listens_elsewhere = wanted
            self._host.event_bus.unsubscribe_all(self._handle_event)
            self._host.event_bus.subscribe_all(self._handle_event, elsewhere=wanted)

    def _is_leader(self, channel: str) -> bool:
        connected = self._connected.get(channel)
        return connected is not None and connected.is_leader

    def _wake(self, channel: str) -> None:
        if (connected := self._connected.get(channel)) is not None:
            connected.outbox_worker.wake()

    def _handle_event(self, frame: WireEvent) -> None:
        self._typing.handle_event(frame)
        kind = event_type(frame.name)
        if kind.is_approval or any(each.is_about(frame) for each in self._notices):
            self._shown_events.put_nowait(frame)
        elif kind.is_final:  # there may be a reply to send
            for connected in self._connected.values():
                connected.outbox_worker.wake()

    async def _show_events(self) -> None:
        """Show approval prompts, decisions and notices in their chats, in order."""
        while True:
            event = await self._shown_events.get()
            for connected in self._connected.values():
                try:
                    await connected.show_event(event)
                except Exception as error:  # noqa: BLE001 - logged; prompts and decisions are tried again
                    log_failure(
                        log, error, "%s: %s of task %s was not shown", connected.channel.name, event.name, event.task_id
                    )


class AttachHints:
    """Sends and receives the names of channels that an operator attaches; `attach` is called with those of others.

    A hint that is lost costs nothing but time: a detached channel is tried again anyway.
    """

    def __init__(self, fanout: HostFanout, attach: Callable[[str], object]) -> None:
        self._fanout, self._attach = fanout, attach

    def start(self) -> None:
        """Receive hints."""
        self._fanout.subscribe(self._receive)

    def stop(self) -> None:
        """Receive no more."""
        self._fanout.unsubscribe(self._receive)

    def send(self, channel_name: str) -> None:
        """Tell the other processes, if there are any."""
        self._fanout.publish(Wake(HINT_PREFIX + channel_name))

    def _receive(self, message: HostMessage) -> None:
        if isinstance(message, Wake) and message.what.startswith(HINT_PREFIX):
            self._attach(message.what.removeprefix(HINT_PREFIX))
