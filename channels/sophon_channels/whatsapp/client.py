"""Cloud API client over httpx: the only I/O of the WhatsApp channel."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, BinaryIO
from urllib.parse import quote

import httpx

from sophon.clock import Clock
from sophon_channels.fields import NOTHING, Fields, as_fields, objects, sub, text, whole
from sophon_channels.whatsapp.failures import Failure

OFFICIAL = "https://graph.facebook.com/v26.0"
"""Base URL of the Graph API, with its version."""
CALL_SECONDS = 30.0
CONNECT_SECONDS = 10.0
UPLOAD_SECONDS = 300.0


class Client:
    """Cloud API client of one phone number. `base` is another base URL of the Graph API, with its version."""

    def __init__(self, number_id: str, token: str, base: str | None, clock: Clock) -> None:
        self._number_id, self._token, self._clock = number_id, token, clock
        self._base = (base or OFFICIAL).rstrip("/")
        timeout = httpx.Timeout(None, connect=CONNECT_SECONDS)
        self._http = httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=timeout)

    async def send(self, to: str, message: Mapping[str, Any], reply_to: str | None = None) -> str:
        """Send one message; return its id. Raises `Failure`, also if the response has no message id."""
        body: dict[str, Any] = {
            "messaging_product": "whatsapp",
            "recipient_type": "individual",
            # A person who hides the phone number is addressed by user id ("US.1349...").
            **({"recipient": to} if "." in to else {"to": to}),
            **message,
        }
        if reply_to:
            body["context"] = {"message_id": reply_to}
        response = await self._call("POST", f"{self._number_id}/messages", body)
        messages = objects(response, "messages")
        message_id = text(messages[0], "id") if messages else ""
        if not message_id:
            raise Failure("the response has no message id")
        return message_id

    async def upload(self, name: str, media_type: str, stream: BinaryIO) -> str:
        """Upload a file in chunks; return its media id. Raises `Failure`, never ambiguous: no message was sent yet."""
        fields = {"messaging_product": "whatsapp", "type": media_type}
        try:
            async with self._convert_errors(UPLOAD_SECONDS):
                response = await self._http.post(
                    f"{self._base}/{self._number_id}/media", data=fields, files={"file": (name, stream, media_type)}
                )
            media_id = text(self._parse_response(response), "id")
        except Failure as error:
            error.went_out = False
            raise
        if not media_id:
            raise Failure("the response has no media id", went_out=False)
        return media_id

    async def read(self, message_id: str) -> None:
        """Mark a message as read and show the typing indicator. Raises `Failure`."""
        body = {
            "messaging_product": "whatsapp",
            "status": "read",
            "message_id": message_id,
            "typing_indicator": {"type": "text"},
        }
        await self._call("POST", f"{self._number_id}/messages", body)

    async def number(self) -> Fields:
        """Return the number's data at Meta. Raises `Failure`."""
        return await self._call("GET", f"{self._number_id}?fields=display_phone_number,verified_name,quality_rating")

    async def media(self, media_id: str) -> Fields:
        """Return the download URL of a file, valid for some minutes, and its size. Raises `Failure`."""
        return await self._call("GET", quote(media_id, safe=""))

    @asynccontextmanager
    async def download(self, url: str, seconds: float) -> AsyncGenerator[httpx.Response]:
        """Open the download of a file and yield its response; Meta requires the token. Raises `Failure`."""
        async with self._convert_errors(seconds), self._http.stream("GET", url) as response:
            if response.status_code != 200:
                raise Failure("the file is not available", status=response.status_code)
            yield response

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Fields:
        async with self._convert_errors(CALL_SECONDS):
            response = await self._http.request(method, f"{self._base}/{path}", json=body)
        return self._parse_response(response)

    def _parse_response(self, response: httpx.Response) -> Fields:
        try:
            data = as_fields(response.json())
        except (ValueError, RecursionError):
            data = NOTHING
        if response.is_success:
            return data
        raise self._error_from_response(response.status_code, sub(data, "error"))

    def _error_from_response(self, status: int, error: Fields) -> Failure:
        details = text(sub(error, "error_data"), "details") or text(error, "message") or f"HTTP status {status}"
        return Failure(details.replace(self._token, "***"), code=whole(error, "code"), status=status)

    @asynccontextmanager
    async def _convert_errors(self, seconds: float) -> AsyncGenerator[None]:
        """Convert network errors to `Failure`."""
        try:
            async with self._clock.timeout(seconds):
                yield
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            raise Failure(f"no connection ({type(error).__name__})", went_out=False) from None
        except TimeoutError:
            raise Failure(f"no response within {seconds:.0f} s") from None
        except httpx.HTTPError as error:
            raise Failure(f"the connection was lost ({type(error).__name__})") from None
        except httpx.InvalidURL:
            raise Failure("the URL is invalid", went_out=False) from None
