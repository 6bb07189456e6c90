"""The configured channels of a process, with what the turns of its host need of them."""

from collections.abc import Sequence

from aiohttp import web

from sophon.principals import channel_person_principal
from sophon.services import Services
from sophon_channels.contract import Channel
from sophon_hosting.channels.channel_factory import ConfiguredChannel
from sophon_hosting.channels.channel_role import ChannelRole
from sophon_hosting.channels.effective_chat_overrides import check_chats
from sophon_hosting.channels.inbound.attachment_downloads import AttachmentDownloader, ShownFiles
from sophon_hosting.channels.inbound.transcription import Transcriber
from sophon_hosting.channels.outbound.reply_entries import ReplyBuilder
from sophon_hosting.channels.outbound.send_file_tool import create_send_file_tool
from sophon_hosting.channels.outbound.speech_synthesis import SpeechSynthesizer
from sophon_hosting.channels.outbound.spoken_answers import build_speech
from sophon_hosting.channels.outbound.typing_and_preview import TypingAndPreview
from sophon_hosting.leadership.membership import GroupMembership
from sophon_hosting.store.contract import host_store
from sophon_hosting.store.outbox.changes import OutboxChanges
from sophon_hosting.store.runs.contract import Run


class ConfiguredChannels:
    """The channels of a process, made before its host, which gets `replies`, `prepare_run` and `outbox_changes`.

    `ChannelLifecycle` connects them to the host, without `connects` none of them: another process has them.
    `has_http`: this process receives their webhooks. Raises SettingsError for chats with an agent, a model or a tool
    that there is not.
    """

    def __init__(
        self,
        services: Services,
        configured: Sequence[ConfiguredChannel],
        membership: GroupMembership,
        *,
        transcriber: Transcriber | None = None,
        synthesizer: SpeechSynthesizer | None = None,
        has_http: bool = True,
        connects: bool = True,
    ) -> None:
        self.configured = configured
        """The channels with the settings about who may write."""
        for each in configured:
            check_chats(services, each.channel.name, each.chats)
        by_name: dict[str, Channel] = {each.channel.name: each.channel for each in configured}
        self.roles = {
            name: ChannelRole(channel, membership, services.clock, has_http=has_http)
            for name, channel in by_name.items()
            if connects
        }
        """The role of this process for each channel that it connects."""
        self.speech = build_speech(synthesizer, services.settings, services.folder)
        self.reads_voice = transcriber is not None
        self.typing = TypingAndPreview(by_name, host_store(services), services.clock, self._is_leader)
        self.replies = ReplyBuilder(by_name, services.clock, self.typing.find_preview)
        self.replies_off_the_record = ReplyBuilder(by_name, services.clock, lambda run_id: None)
        self._attachments = AttachmentDownloader(
            by_name,
            services.folder / services.settings.tools.files_root,
            services.clock,
            transcriber,
            ShownFiles(services),
        )
        self.outbox_changes = OutboxChanges()
        """Wakes what sends, also for the files that a turn sends."""
        if by_name:
            services.register_tool(create_send_file_tool(by_name, self.outbox_changes.notify))

    @property
    def channels(self) -> list[Channel]:
        """All channels, including those that cannot run."""
        return [each.channel for each in self.configured]

    @property
    def approvers(self) -> frozenset[str]:
        """The people in the channels' setting Approvers, as user ids of the host."""
        return frozenset(
            channel_person_principal(each.channel.name, person_id)
            for each in self.configured
            for person_id in each.policy.approvers
        )

    def list_detached(self) -> list[str]:
        """Return the names of the channels that could not be started several times in a row."""
        return [each.channel.name for each in self.configured if each.channel.health.state == "detached"]

    def routes(self) -> list[web.RouteDef]:
        """Return the webhook routes of all channels."""
        return [route for each in self.configured for route in each.channel.routes()]

    async def load(self) -> None:
        """Read what outcomes need to know of earlier processes, once the store is open and before runs are resumed."""
        if self.configured:
            await self.typing.load_unfinished()

    async def prepare_run(self, run: Run) -> Run:
        """Return the run with the files of its message, before its turn starts.

        Runs are resumed before the channels start, so a run with files waits for its channel, if this process is to
        start that.
        """
        role = self.roles.get(run.channel)
        if role is not None and run.origin.get("attachments"):
            await role.wait_until_started()
        return await self._attachments.prepare_run(run)

    def _is_leader(self, channel: str) -> bool:
        role = self.roles.get(channel)
        return role is not None and role.is_leader
