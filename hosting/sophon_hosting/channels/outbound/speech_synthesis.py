"""Speech synthesis by an API that is compatible with OpenAI's `/audio/speech`."""

import json
from collections.abc import Mapping

import aiohttp

from sophon.clock import Clock
from sophon.settings import Settings
from sophon_channels.errors import ChannelError
from sophon_channels.text.single_line import to_single_line
from sophon_hosting.settings.channels import ChannelsSettings

MAX_AUDIO_BYTES = 10_000_000
"""Maximum size of a spoken answer, in bytes."""
MAX_ERROR_CHARACTERS = 300
TIMEOUT_SECONDS = 60.0
"""How long the speech of one answer may take."""
OGG_SIGNATURE = b"OggS"
"""The first bytes of an Ogg file (RFC 3533, 6)."""


class SpeechSynthesizer:
    """Client of one speech API; `key` may be empty. `response_format` is the API's name for Opus in Ogg."""

    def __init__(self, url: str, key: str, *, model: str, voice: str, response_format: str, clock: Clock) -> None:
        self._url, self._key = f"{url.rstrip('/')}/audio/speech", key
        self._fields = {"model": model, "voice": voice, "response_format": response_format}
        self._clock = clock

    async def synthesize(self, text: str) -> bytes:
        """Return the speech as an Ogg file. Raises ChannelError."""
        try:
            async with self._clock.timeout(TIMEOUT_SECONDS):
                return await self._request(text)
        except TimeoutError:
            raise ChannelError(f"the speech took longer than {TIMEOUT_SECONDS:g} s") from None
        except (aiohttp.ClientError, OSError) as error:
            raise ChannelError(f"the speech API cannot be reached ({type(error).__name__})") from None

    async def _request(self, text: str) -> bytes:
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        body = json.dumps({**self._fields, "input": text})
        async with (
            aiohttp.ClientSession(trust_env=False) as session,
            session.post(self._url, data=body, headers=headers, allow_redirects=False) as response,
        ):
            audio = await _read_bounded(response)
            if response.status != 200:
                problem = to_single_line(audio.decode("utf-8", "replace"), MAX_ERROR_CHARACTERS)
                raise ChannelError(f"the speech API answers {response.status}: {problem}")
        if not audio.startswith(OGG_SIGNATURE):
            raise ChannelError("the speech API does not answer with an Ogg file; see Channels.Speech.Format")
        return audio


def create_speech_synthesizer(
    settings: Settings, environment: Mapping[str, str], clock: Clock
) -> SpeechSynthesizer | None:
    """Return the synthesizer of the settings, None if nothing is to be spoken. Raises ChannelError for an empty key."""
    section = settings.section(ChannelsSettings).speech
    if section.url is None or section.reply == "Never":
        return None
    key = section.key.resolve(environment) if section.key is not None else ""
    if section.key is not None and not key:
        raise ChannelError(f"Channels.Speech.Key is empty: {section.key.source_description}")
    return SpeechSynthesizer(
        str(section.url),
        key or "",
        model=section.model,
        voice=section.voice,
        response_format=section.format.lower(),
        clock=clock,
    )


async def _read_bounded(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_any():
        body += chunk
        if len(body) > MAX_AUDIO_BYTES:
            raise ChannelError("the answer of the speech API is too long")
    return bytes(body)
