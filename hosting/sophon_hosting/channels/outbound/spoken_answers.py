"""Spoken answers: a voice note of an answer, made after its text was sent."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sophon._python.lazy_dataclass import dataclass
from sophon.builtin_tools.sandboxed_folder import SandboxedFolder
from sophon.invisible_characters import is_blank
from sophon.principals import files_folder
from sophon.settings import Settings
from sophon_channels.contract import Channel, OutboundMessage
from sophon_channels.outbound_entry import OutboundEntry
from sophon_hosting.background_tasks import BackgroundTasks
from sophon_hosting.channels.direct_chat_recipients import recipient_of_run
from sophon_hosting.channels.outbound.entry_delivery import DeliveryListener
from sophon_hosting.channels.outbound.message_entries import WakeCallback, build_entries
from sophon_hosting.channels.outbound.outbox_dead_letters import mark_dead
from sophon_hosting.channels.outbound.retry_rules import UndeliveredReason
from sophon_hosting.channels.outbound.speech_synthesis import SpeechSynthesizer
from sophon_hosting.runs.data_owner_and_chat_overrides import audience_of_run
from sophon_hosting.settings.channels import ChannelsSettings
from sophon_hosting.store.contract import HostStore
from sophon_hosting.store.runs.contract import Run

log = logging.getLogger("sophon")

VOICE_KIND = "voice"
"""Kind of the outbound entry of a voice note."""
FILE_NAME = "answer.ogg"
MEDIA_TYPE = "audio/ogg"
MAX_CHARACTERS = 1000
"""A longer answer, of more than a minute of speech, is sent as text only."""
MAX_CONCURRENT = 4
"""Requests to the speech API at the same time, per channel."""


@dataclass(frozen=True, slots=True)
class Speech:
    """What speaks answers. `root` is the folder of all files folders; `speaks_all`: not only answers to speech."""

    synthesizer: SpeechSynthesizer
    root: Path
    speaks_all: bool = False


def build_speech(synthesizer: SpeechSynthesizer | None, settings: Settings, folder: Path) -> Speech | None:
    """Return what speaks answers by the settings; `folder` is that of the host."""
    if synthesizer is None:
        return None
    section = settings.section(ChannelsSettings).speech
    root = folder / settings.tools.files_root
    return Speech(synthesizer, root, speaks_all=section.reply == "Always")


class SpokenAnswers:
    """`DeliveryListener` of one channel that has answers spoken, in the background, and passes everything on.

    Speech begins when all parts of the text were sent, so it delays no message. A voice note that cannot be made or
    delivered is only logged: its text has arrived. A kill before its entry is stored leaves the text alone.
    """

    def __init__(
        self, channel: Channel, store: HostStore, wake: WakeCallback, listener: DeliveryListener, speech: Speech | None
    ) -> None:
        self._channel, self._store, self._wake, self._listener = channel, store, wake, listener
        self._speech = speech
        self._tasks = BackgroundTasks()
        self._slots = asyncio.Semaphore(MAX_CONCURRENT)
        self._speaking: set[str] = set()
        self._is_failing = False

    async def give_up(self, entry: OutboundEntry, reason: UndeliveredReason, error: str) -> Sequence[OutboundEntry]:
        """See `DeliveryListener.give_up`."""
        if entry.kind == VOICE_KIND:
            return await mark_dead(self._store.outbox, entry, reason, error)
        return await self._listener.give_up(entry, reason, error)

    async def handle_undelivered(self, entries: Sequence[OutboundEntry], reason: UndeliveredReason) -> None:
        """See `DeliveryListener.handle_undelivered`."""
        if entries[0].kind != VOICE_KIND:
            await self._listener.handle_undelivered(entries, reason)

    async def handle_sent(self, entry: OutboundEntry) -> None:
        """See `DeliveryListener.handle_sent`."""
        await self._listener.handle_sent(entry)
        if self._speech is not None and entry.kind == "answer" and entry.run_id is not None:
            self._tasks.start(self._try_speak(self._speech, entry, entry.run_id))

    async def close(self) -> None:
        """Cancel the requests in flight."""
        await self._tasks.stop()

    async def _try_speak(self, speech: Speech, entry: OutboundEntry, run_id: str) -> None:
        try:
            async with self._slots:
                await self._speak(speech, entry, run_id)
        except Exception as error:  # noqa: BLE001 - logged; the text was delivered
            if not self._is_failing:  # once, until an answer is spoken again
                log.warning("%s: answers are not spoken: %s: %s", self._channel.name, type(error).__name__, error)
            self._is_failing = True

    async def _speak(self, speech: Speech, entry: OutboundEntry, run_id: str) -> None:
        run = await self._store.runs.find(run_id)
        if run is None or not (text := find_spoken_text(run, speech)):
            return
        sent = await self._store.outbox.list(run_id=run_id)
        is_incomplete = any(each.kind == "answer" and each.status != "sent" for each in sent)
        if is_incomplete or any(each.kind == VOICE_KIND for each in sent) or run_id in self._speaking:
            return
        self._speaking.add(run_id)  # its parts may have been sent at nearly the same time
        try:
            await self._add_voice_note(speech, run, entry.chat, text)
        finally:
            self._speaking.discard(run_id)

    async def _add_voice_note(self, speech: Speech, run: Run, chat: str, text: str) -> None:
        folder = SandboxedFolder(speech.root / files_folder(audience_of_run(run).data_owner))
        path = f"uploads/{run.channel}/{run.id}/{FILE_NAME}"
        audio = await speech.synthesizer.synthesize(text)
        real_path = await asyncio.to_thread(_store_file, folder, path, audio)
        self._is_failing = False
        message = OutboundMessage(
            "", file_path=str(real_path), file_name=FILE_NAME, media_type=MEDIA_TYPE, is_voice=True
        )
        entries = build_entries(
            self._channel, chat, f"{run.id}:{VOICE_KIND}", message, VOICE_KIND, recipient=recipient_of_run(run)
        )
        if await self._store.outbox.add([replace(each, run_id=run.id) for each in entries]):
            self._wake()


def find_spoken_text(run: Run, speech: Speech) -> str:
    """Return the text of a run's answer to speak, without markup; "" if it is not to be spoken. Pure."""
    has_voice = any(file.get("is_voice") for file in run.origin.get("attachments") or ())
    if run.status != "completed" or not (speech.speaks_all or has_voice):
        return ""
    answer = str((run.response or {}).get("text") or "")
    if len(answer) > 4 * MAX_CHARACTERS:  # not worth parsing
        return ""
    # Late: only a host with this setting needs the parser.
    from sophon_channels.text.markdown import runs_from_markdown
    from sophon_channels.text.styled_text import to_plain_text

    text = to_plain_text(runs_from_markdown(answer)).strip()
    return "" if is_blank(text) or len(text) > MAX_CHARACTERS else text


def _store_file(folder: SandboxedFolder, path: str, content: bytes) -> Path:
    folder.write(path, content, max_bytes=len(content))
    return folder.locate(path)[0]
