"""Life cycle of all channels of a host: composition, start, stop."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress

from sophon.errors import NotFound
from sophon.events import event_type
from sophon.failure_log import log_failure
from sophon_hosting.channels.configured_channels import ConfiguredChannels
from sophon_hosting.channels.connected_channel import ConnectedChannel
from sophon_hosting.channels.outbound.blocked_call_notices import BLOCKED_CALL_NOTICE
from sophon_hosting.channels.outbound.chat_notices import ChatNotice
from sophon_hosting.events.wire_event import WireEvent
from sophon_hosting.fanout.contract import HostFanout, HostMessage, Wake
from sophon_hosting.host import Host

log = logging.getLogger("sophon")

HINT_PREFIX = "attach:"


class ChannelLifecycle:
    """Life cycle of all channels of a host: connects each, and starts and stops it.

    `notices` are shown besides those of blocked calls.
    """

    def __init__(self, host: Host, channels: ConfiguredChannels, notices: Iterable[ChatNotice] = ()) -> None:
        self._host, self._channels = host, channels
        self._notices = [BLOCKED_CALL_NOTICE, *notices]
        self._connected = {
            each.channel.name: ConnectedChannel(
                host,
                each,
                channels,
                channels.roles[each.channel.name],
                on_leading=self._follow_leadership,
                notices=self._notices,
            )
            for each in channels.configured
            if each.channel.name in channels.roles
        }
        self._attach_hints = AttachHints(host.fanout, self._attach_here)
        self._shown_events: asyncio.Queue[WireEvent] = asyncio.Queue()
        self._prompt_task: asyncio.Task[None] | None = None
        self._listens_elsewhere = False

    def attach(self, name: str) -> bool:
        """Start a channel at once that waits for its next start, in each process of the group; return False if it does
        not wait for that in this one.

        Raises NotFound.
        """
        connected = self._connected.get(name)
        if connected is None:
            raise NotFound("channel", name, [*self._connected])
        self._attach_hints.send(name)
        return connected.attach()

    def _attach_here(self, name: str) -> None:
        """Start a channel at once that another process was asked for; nothing if this one does not have it."""
        connected = self._connected.get(name)
        if connected is not None:
            connected.attach()

    def start(self) -> None:
        """Start all channels, once the host runs."""
        if not self._connected:
            return
        self._host.event_bus.subscribe_all(self._handle_event)
        self._listens_elsewhere = False
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
        self._host.event_bus.unsubscribe_all(self._handle_event)
        self._attach_hints.stop()
        self._prompt_task.cancel()
        with suppress(asyncio.CancelledError):
            await self._prompt_task
        self._prompt_task = None
        await self._channels.typing.stop()
        await asyncio.gather(*(connected.stop() for connected in self._connected.values()))

    def _follow_leadership(self) -> None:
        """Listen to the events of other processes as well while this one shows them in the chats of a channel."""
        if self._prompt_task is None:
            return
        wanted = self._host.membership.is_shared and any(each.is_leader for each in self._connected.values())
        if wanted != self._listens_elsewhere:
            self._listens_elsewhere = wanted
            self._host.event_bus.unsubscribe_all(self._handle_event)
            self._host.event_bus.subscribe_all(self._handle_event, elsewhere=wanted)

    def _handle_event(self, frame: WireEvent) -> None:
        self._channels.typing.handle_event(frame)
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
