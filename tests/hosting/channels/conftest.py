"""A host with a channel that exists in memory only."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import pytest

from sophon import ModelRequest, ModelResponse, Risk, Services, ToolCall, tool
from sophon.clock import Clock
from sophon.stores.contract import Store
from sophon.testing import FunctionModel
from sophon.turn.chat_overrides import ChatOverrides
from sophon_channels.access_policy import AccessPolicy
from sophon_channels.testing import SyntheticChannel
from sophon_hosting.channels.channel_factory import ConfiguredChannel
from sophon_hosting.channels.channel_lifecycle import ChannelLifecycle
from sophon_hosting.channels.configured_channels import ConfiguredChannels
from sophon_hosting.channels.inbound.handler import InboundOptions
from sophon_hosting.channels.inbound.transcription import Transcriber
from sophon_hosting.channels.outbound.speech_synthesis import SpeechSynthesizer
from sophon_hosting.fanout.contract import HostFanout
from sophon_hosting.host import Host
from sophon_hosting.leadership.membership import GroupMembership
from sophon_hosting.off_the_record.host import OffTheRecordHost
from sophon_hosting.queue.in_memory import MemoryQueue
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_middlewares.chains import twelve
from sophon_middlewares.chains.additions import find_guards
from tests.channels.email.page_package import email_package as email_package
from tests.channels.telegram.conftest import api as api

LET_IN = AccessPolicy(allow_from=frozenset({"1"}), approvers=frozenset({"9"}), group_policy="MentionOnly")


@dataclass
class Brain:
    """A model that does what a message says, and a tool whose uses are counted."""

    paid: list[str] = field(default_factory=list)
    wrecked: list[str] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    reached: asyncio.Event = field(default_factory=asyncio.Event)

    def model(self) -> FunctionModel:
        return Streaming(self)

    def tool(self) -> Any:
        @tool(risk=Risk.HIGH)
        async def pay(to: str) -> str:
            """Pay somebody."""
            self.paid.append(to)
            return f"paid {to}"

        return pay

    def critical_tool(self) -> Any:
        @tool(risk=Risk.CRITICAL)
        async def wreck(what: str) -> str:
            """Wreck something."""
            self.wrecked.append(what)
            return f"wrecked {what}"

        return wreck

    async def answer(self, request: ModelRequest) -> str | ModelResponse:
        last = request.messages[-1]
        if last.content.startswith("pay "):
            return ModelResponse("", [ToolCall(f"c{len(request.messages)}", "pay", {"to": last.content[4:]})])
        if last.content.startswith("wreck "):
            return ModelResponse("", [ToolCall(f"c{len(request.messages)}", "wreck", {"what": last.content[6:]})])
        if last.content.startswith("call "):
            name, _, value = last.content[5:].partition(" ")
            argument = {"memory.search": "query", "memory.write": "text"}.get(name, "path")
            more = {"content": "written"} if name == "files.write" else {}
            return ModelResponse("", [ToolCall(f"c{len(request.messages)}", name, {argument: value, **more})])
        if last.content.startswith("question "):
            return ModelResponse("", [ToolCall("q", "chat.ask", {"question": last.content[9:]})])
        if last.content.startswith("narrate"):
            return ModelResponse(
                "Let me look.", [ToolCall("c", "calculator", {"expression": "6 * 7"})], reasoning="Hm."
            )
        asked = next(each.content for each in reversed(request.messages) if each.role == "user")
        if last.role == "tool" and asked == "narrate and fail":
            raise RuntimeError("nobody foresaw this")
        if last.content == "wait" or (last.role == "tool" and asked == "narrate and wait"):
            self.reached.set()
            await self.gate.wait()
        if last.content == "fail":
            raise RuntimeError("nobody foresaw this")
        return f"You said: {last.content}"


class Streaming(FunctionModel):
    """The brain, which can stop in the middle of what it tells."""

    def __init__(self, brain: Brain) -> None:
        super().__init__(brain.answer, name="brain", stream=True, prices=(1.0, 1.0))
        self._brain = brain

    async def complete(self, request: ModelRequest) -> ModelResponse:
        if request.messages[-1].content != "tell" or request.on_text is None:
            return await super().complete(request)
        request.on_text("so far")
        await self._brain.gate.wait()
        request.on_text(" and further")
        return ModelResponse("so far and further")


@dataclass
class Running:
    """A host that works, its channel, and what it is made of."""

    channel: SyntheticChannel
    host: Host
    switchboard: ChannelLifecycle
    store: Store
    brain: Brain
    ended: bool = False

    async def end(self) -> None:
        """Stop, where it is; a store outlives that."""
        if not self.ended:
            self.ended = True
            await self.switchboard.stop_receiving()
            await self.host.shutdown(grace_seconds=0)
            await self.switchboard.stop()

    async def texts(self, session: str) -> list[str]:
        """What the people have said in a session."""
        records = await self.store.sessions.list_records(session)
        return [each.message.content for each in records if each.message and each.message.role == "user"]

    async def answer(self, text: str) -> str:
        """Return what a command is answered with."""
        before = len(self.channel.sent)
        await self.channel.deliver_message(text)
        await self.channel.wait_until(lambda: any(entry.kind == "note" for entry in self.channel.sent[before:]))
        return next(str(entry.payload["text"]) for entry in self.channel.sent[before:] if entry.kind == "note")


@pytest.fixture
async def start(tmp_path: Any) -> AsyncIterator[Callable[..., Any]]:
    """Starts hosts; one given the store of another goes on where that was."""
    async with AsyncExitStack() as stack:

        async def start(
            *,
            channel: SyntheticChannel | None = None,
            policy: AccessPolicy = LET_IN,
            store: Store | None = None,
            brain: Brain | None = None,
            capacity: int = 100,
            guarded: bool = False,
            debounce_seconds: float = 0.0,
            transcriber: Transcriber | None = None,
            synthesizer: SpeechSynthesizer | None = None,
            group_history: Mapping[str, int] = MappingProxyType({}),
            chats: Mapping[str, ChatOverrides] = MappingProxyType({}),
            clock: Clock | None = None,
            tools: Sequence[Any] = (),
            fanout: HostFanout | None = None,
            off_the_record: bool = False,
            **settings: Any,
        ) -> Running:
            channel, brain, store = channel or SyntheticChannel(), brain or Brain(), store or SqlHostStore("memory://")
            services = Services(
                models=brain.model(),
                tools=[brain.tool(), brain.critical_tool(), *tools],
                store=store,
                **({"clock": clock} if clock is not None else {}),
                settings={
                    "Planning": {"Mode": "Never"},
                    "AgentExecution": {"MaxConcurrentTasks": 1, "Titles": False},
                    "Tools": {"FilesRoot": str(tmp_path)},
                    **settings,
                },
            )
            inbound = InboundOptions(debounce_seconds, group_history)
            configured = [ConfiguredChannel(channel, policy, inbound, chats)]
            membership = GroupMembership(services)
            channels = ConfiguredChannels(
                services, configured, membership, transcriber=transcriber, synthesizer=synthesizer
            )
            off = OffTheRecordHost(
                services, approvers=channels.approvers, build_outbound=channels.replies_off_the_record
            )
            host = Host(
                services,
                twelve(services, find_guards(services.settings.guards)) if guarded else twelve(services),
                queue=MemoryQueue(capacity, clock=services.clock),
                approvers=channels.approvers,
                several_users=True,
                build_outbound=channels.replies,
                prepare=channels.prepare_run,
                fanout=fanout,
                off_the_record=off if off_the_record else None,
                channel_names=[channel.name],
                list_detached_channels=channels.list_detached,
                membership=membership,
                outbox_changes=channels.outbox_changes,
            )
            switchboard = ChannelLifecycle(host, channels)
            await services.open()
            await host.start()
            if off_the_record:
                await off.start()
                stack.push_async_callback(off.shutdown, grace_seconds=0)
            switchboard.start()
            running = Running(channel, host, switchboard, store, brain)
            stack.push_async_callback(running.end)
            return running

        yield start
