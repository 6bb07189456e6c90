"""The only I/O of the channel: the Graph API over httpx."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, BinaryIO
from urllib.parse import quote

import httpx

from sophon.clock import Clock
from sophon_channels.fields import NOTHING, Fields, as_fields, objects, sub, text, whole
from sophon_channels.whatsapp.failures import Failure

OFFICIAL = "https://graph.facebook.com/v26.0"
CALL_SECONDS = 30.0
CONNECT_SECONDS = 10.0
UPLOAD_SECONDS = 300.0


class Client:
    """One number. `base` is another address of the Graph API, with its version."""

    def __init__(self, number_id: str, token: str, base: str | None, clock: Clock) -> None:
        self._number_id, self._token, self._clock = number_id, token, clock
        self._base = (base or OFFICIAL).rstrip("/")
        timeout = httpx.Timeout(None, connect=CONNECT_SECONDS)
        self._http = httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=timeout)

    async def send(self, to: str, message: Mapping[str, Any], reply_to: str | None = None) -> str:
        """Send one message; its id at WhatsApp. Raises Failure, also where the answer tells no id."""
        body: dict[str, Any] = {
            "messaging_product": "whatsapp",
            "recipient_type": "individual",
            # Somebody who hides their number is written to by their user id ("US.1349...").
            **({"recipient": to} if "." in to else {"to": to}),
            **message,
        }
        if reply_to:
            body["context"] = {"message_id": reply_to}
        answer = await self._call("POST", f"{self._number_id}/messages", body)
        messages = objects(answer, "messages")
        message_id = text(messages[0], "id") if messages else ""
        if not message_id:
            raise Failure("an answer that names no message")
        return message_id

    async def upload(self, name: str, media_type: str, stream: BinaryIO) -> str:
        """Give Meta a file, piece by piece; its id. Raises Failure without a doubt in it: nothing was sent yet."""
        fields = {"messaging_product": "whatsapp", "type": media_type}
        try:
            async with self._guarded(UPLOAD_SECONDS):
                response = await self._http.post(
                    f"{self._base}/{self._number_id}/media", data=fields, files={"file": (name, stream, media_type)}
                )
            media_id = text(self._answer(response), "id")
        except Failure as failure:
            failure.went_out = False
            raise
        if not media_id:
            raise Failure("an answer that names no file", went_out=False)
        return media_id

    async def read(self, message_id: str) -> None:
        """Mark a message as read, and show that an answer is being written. Raises Failure."""
        body = {
            "messaging_product": "whatsapp",
            "status": "read",
            "message_id": message_id,
            "typing_indicator": {"type": "text"},
        }
        await self._call("POST", f"{self._number_id}/messages", body)

    async def number(self) -> Fields:
        """What Meta knows of the number. Raises Failure."""
        return await self._call("GET", f"{self._number_id}?fields=display_phone_number,verified_name,quality_rating")

    async def media(self, media_id: str) -> Fields:
        """Where a file lies, for some minutes, and its size. Raises Failure."""
        return await self._call("GET", quote(media_id, safe=""))

    @asynccontextmanager
    async def download(self, url: str, seconds: float) -> AsyncGenerator[httpx.Response]:
        """A file that streams. The token goes with it: Meta wants that. Raises Failure."""
        async with self._guarded(seconds), self._http.stream("GET", url) as response:
            if response.status_code != 200:
                raise Failure("the file is not given out", status=response.status_code)
            yield response

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    async def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Fields:
        async with self._guarded(CALL_SECONDS):
            response = await self._http.request(method, f"{self._base}/{path}", json=body)
        return self._answer(response)

    def _answer(self, response: httpx.Response) -> Fields:
        try:
            answer = as_fields(response.json())
        except (ValueError, RecursionError):
            answer = NOTHING
        if response.is_success:
            return answer
        raise self._refusal(response.status_code, sub(answer, "error"))

    def _refusal(self, status: int, error: Fields) -> Failure:
        details = text(sub(error, "error_data"), "details") or text(error, "message") or f"HTTP status {status}"
        return Failure(details.replace(self._token, "***"), code=whole(error, "code"), status=status)

    @asynccontextmanager
    async def _guarded(self, seconds: float) -> AsyncGenerator[None]:
        """What the network does becomes a Failure."""
        try:
            async with self._clock.timeout(seconds):
                yield
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise Failure(f"no connection ({type(error).__name__})", went_out=False) from None
        except TimeoutError:
            raise Failure(f"no answer within {seconds:.0f} s") from None
        except httpx.HTTPError as error:
            raise Failure(f"the connection was lost ({type(error).__name__})") from None
        except httpx.InvalidURL:
            raise Failure("the address cannot be one", went_out=False) from None
