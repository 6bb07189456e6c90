"""Transcription of voice messages by an API that is compatible with OpenAI's `/audio/transcriptions`."""

import asyncio
import json
import logging
from collections.abc import Mapping
from pathlib import Path

import aiohttp

from sophon._python.private_files import create_private_file
from sophon.clock import Clock
from sophon.settings import Settings
from sophon_channels.errors import ChannelError
from sophon_channels.json_fields import get_text, object_from_json
from sophon_channels.text.single_line import to_single_line
from sophon_hosting.settings.channels import ChannelsSettings

log = logging.getLogger("sophon")

MAX_REPLY_BYTES = 1_000_000
"""Maximum size of a transcription, in bytes."""
TIMEOUT_SECONDS = 60.0
"""How long the transcription of one file may take."""
MAX_TRANSCRIPT_CHARACTERS = 50_000
"""Characters of a transcription that are kept."""
TRANSCRIPT_SUFFIX = ".transcript.txt"
"""Suffix of the file beside a voice message with its transcription, so that it is transcribed once."""

_EXTENSIONS = {
    "audio/ogg": "ogg",
    "audio/opus": "ogg",
    "audio/mpeg": "mp3",
    "audio/mp4": "m4a",
    "audio/x-m4a": "m4a",
    "audio/wav": "wav",
    "audio/webm": "webm",
    "audio/flac": "flac",
}


class Transcriber:
    """Client of one transcription API; `key` may be empty."""

    def __init__(self, url: str, key: str, model: str, clock: Clock) -> None:
        self._url, self._key, self._model = f"{url.rstrip('/')}/audio/transcriptions", key, model
        self._clock = clock

    async def transcribe(self, file: Path, media_type: str) -> str:
        """Return the text of a voice message, from the file beside it if it was transcribed before.

        Raises ChannelError, also for one in which nothing is said.
        """
        stored = file.with_name(file.name + TRANSCRIPT_SUFFIX)
        if stored.exists():
            return await asyncio.to_thread(stored.read_text, encoding="utf-8")
        content = await asyncio.to_thread(file.read_bytes)
        try:
            async with self._clock.timeout(TIMEOUT_SECONDS):
                text = await self._request(content, media_type)
        except TimeoutError:
            raise ChannelError(f"the transcription took longer than {TIMEOUT_SECONDS:g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            log.warning("a voice message could not be transcribed: %s: %s", type(error).__name__, error)
            raise ChannelError("the transcription API cannot be reached") from None
        if not text:
            raise ChannelError("nothing is said in it")
        await asyncio.to_thread(_store, stored, text)
        return text

    async def _request(self, content: bytes, media_type: str) -> str:
        plain_type = media_type.partition(";")[0].strip().lower()
        form = aiohttp.FormData()
        form.add_field("model", self._model)
        form.add_field("response_format", "json")
        # The API tells the format by the extension.
        name = f"voice.{_EXTENSIONS.get(plain_type, 'ogg')}"
        form.add_field("file", content, filename=name, content_type=plain_type or "audio/ogg")
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        async with (
            aiohttp.ClientSession(trust_env=False) as session,
            session.post(self._url, data=form, headers=headers, allow_redirects=False) as response,
        ):
            body = await _read_bounded(response)
            if response.status != 200:
                log.warning("the transcription API answers %d: %s", response.status, to_single_line(str(body[:300])))
                raise ChannelError(f"the transcription API answers {response.status}")
        try:
            return get_text(object_from_json(json.loads(body)), "text").strip()[:MAX_TRANSCRIPT_CHARACTERS]
        except (ValueError, RecursionError):
            raise ChannelError("the transcription API does not answer with JSON") from None


def create_transcriber(settings: Settings, environment: Mapping[str, str], clock: Clock) -> Transcriber | None:
    """Return the transcriber of the settings, None if there is none. Raises ChannelError for a key that is empty."""
    section = settings.section(ChannelsSettings).transcription
    if section.url is None:
        return None
    key = section.key.resolve(environment) if section.key is not None else ""
    if section.key is not None and not key:
        raise ChannelError(f"Channels.Transcription.Key is empty: {section.key.source_description}")
    return Transcriber(str(section.url), key or "", section.model, clock)


async def _read_bounded(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > MAX_REPLY_BYTES:
            raise ChannelError("the answer of the transcription API is too long")
    return bytes(body)


def _store(path: Path, text: str) -> None:
    part = path.with_name(f"{path.name}.part")
    create_private_file(part)
    part.write_text(text, encoding="utf-8")
    part.replace(path)
