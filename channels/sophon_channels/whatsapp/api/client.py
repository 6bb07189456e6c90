"""Cloud API client over httpx: the only I/O of the WhatsApp channel."""

import hmac
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, BinaryIO
from urllib.parse import quote

import httpx

from sophon.clock import Clock
from sophon_channels.json_fields import (
    EMPTY_OBJECT,
    JsonObject,
    get_int,
    get_object,
    get_objects,
    get_text,
    object_from_json,
)
from sophon_channels.text.single_line import to_single_line
from sophon_channels.whatsapp.api.errors import WhatsAppApiError

DEFAULT_BASE_URL = "https://graph.facebook.com/v26.0"
"""Base URL of the Graph API, with its version."""
CALL_TIMEOUT_SECONDS = 30.0
CONNECT_TIMEOUT_SECONDS = 10.0
UPLOAD_TIMEOUT_SECONDS = 300.0
MAX_DESCRIPTION_LENGTH = 500
"""Characters of an error's description that are kept."""


class WhatsAppClient:
    """Cloud API client of one phone number. `base_url` is another base URL of the Graph API, with its version."""

    def __init__(
        self, number_id: str, token: str, base_url: str | None, clock: Clock, proxy: str | None = None
    ) -> None:
        self._number_id, self._token, self._clock = number_id, token, clock
        self._base = (base_url or DEFAULT_BASE_URL).rstrip("/")
        timeout = httpx.Timeout(None, connect=CONNECT_TIMEOUT_SECONDS)
        self._http = httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=timeout, proxy=proxy)

    async def send_message(
        self, recipient: str, message: Mapping[str, Any], reply_to_message_id: str | None = None
    ) -> str:
        """Send one message; return its id. Raises `WhatsAppApiError`, also if the response has no message id."""
        body: dict[str, Any] = {
            "messaging_product": "whatsapp",
            "recipient_type": "individual",
            # A person who hides the phone number is addressed by user id ("US.1349...").
            **({"recipient": recipient} if "." in recipient else {"to": recipient}),
            **message,
        }
        if reply_to_message_id:
            body["context"] = {"message_id": reply_to_message_id}
        response = await self._call("POST", f"{self._number_id}/messages", body)
        messages = get_objects(response, "messages")
        message_id = get_text(messages[0], "id") if messages else ""
        if not message_id:
            raise WhatsAppApiError("the response has no message id")
        return message_id

    async def upload_media(self, name: str, media_type: str, stream: BinaryIO) -> str:
        """Upload a file in chunks; return its media id. Raises `WhatsAppApiError`, never ambiguous: no message was sent
        yet.
        """
        fields = {"messaging_product": "whatsapp", "type": media_type}
        try:
            async with self._convert_errors(UPLOAD_TIMEOUT_SECONDS):
                response = await self._http.post(
                    f"{self._base}/{self._number_id}/media", data=fields, files={"file": (name, stream, media_type)}
                )
            media_id = get_text(self._parse_response(response), "id")
        except WhatsAppApiError as error:
            error.may_have_arrived = False
            raise
        if not media_id:
            raise WhatsAppApiError("the response has no media id", may_have_arrived=False)
        return media_id

    async def mark_as_read(self, message_id: str) -> None:
        """Mark a message as read and show the typing indicator. Raises `WhatsAppApiError`."""
        body = {
            "messaging_product": "whatsapp",
            "status": "read",
            "message_id": message_id,
            "typing_indicator": {"type": "text"},
        }
        await self._call("POST", f"{self._number_id}/messages", body)

    async def get_phone_number(self) -> JsonObject:
        """Return the number's data at Meta. Raises `WhatsAppApiError`."""
        fields = "display_phone_number,verified_name,quality_rating,webhook_configuration"
        return await self._call("GET", f"{self._number_id}?fields={fields}")

    async def set_webhook(self, url: str, verify_token: str) -> None:
        """Set the number's own webhook, which goes before that of its app; Meta verifies the URL first. Raises
        `WhatsAppApiError`.
        """
        configuration = {"override_callback_uri": url, "verify_token": verify_token}
        await self._call("POST", self._number_id, {"webhook_configuration": configuration})

    async def check_app_secret(self, app_secret: str) -> None:
        """Read the number with a proof that is made of the app secret; Meta refuses a wrong one. Raises
        `WhatsAppApiError`.
        """
        proof = hmac.new(app_secret.encode(), self._token.encode(), "sha256").hexdigest()
        await self._call("GET", f"{self._number_id}?fields=id&appsecret_proof={proof}")

    async def get_media(self, media_id: str) -> JsonObject:
        """Return the download URL of a file, valid for some minutes, and its size. Raises `WhatsAppApiError`."""
        return await self._call("GET", quote(media_id, safe=""))

    @asynccontextmanager
    async def stream_file(self, url: str, timeout_seconds: float) -> AsyncGenerator[httpx.Response]:
        """Open the download of a file and yield its response; Meta requires the token. Raises `WhatsAppApiError`."""
        async with self._convert_errors(timeout_seconds), self._http.stream("GET", url) as response:
            if response.status_code != 200:
                raise WhatsAppApiError("the file is not available", status=response.status_code)
            yield response

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> JsonObject:
        async with self._convert_errors(CALL_TIMEOUT_SECONDS):
            response = await self._http.request(method, f"{self._base}/{path}", json=body)
        return self._parse_response(response)

    def _parse_response(self, response: httpx.Response) -> JsonObject:
        try:
            data = object_from_json(response.json())
        except (ValueError, RecursionError):
            data = EMPTY_OBJECT
        if response.is_success:
            return data
        raise self._error_from_response(response.status_code, get_object(data, "error"))

    def _error_from_response(self, status: int, error: JsonObject) -> WhatsAppApiError:
        details = (
            get_text(get_object(error, "error_data"), "details")
            or get_text(error, "message")
            or f"HTTP status {status}"
        )
        details = to_single_line(details.replace(self._token, "***"), MAX_DESCRIPTION_LENGTH)
        return WhatsAppApiError(details, code=get_int(error, "code"), status=status)

    @asynccontextmanager
    async def _convert_errors(self, seconds: float) -> AsyncGenerator[None]:
        """Convert network errors to `WhatsAppApiError`."""
        try:
            async with self._clock.timeout(seconds):
                yield
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError) as error:
            raise WhatsAppApiError(f"no connection ({type(error).__name__})", may_have_arrived=False) from None
        except TimeoutError:
            raise WhatsAppApiError(f"no response within {seconds:.0f} s") from None
        except httpx.HTTPError as error:
            raise WhatsAppApiError(f"the connection was lost ({type(error).__name__})") from None
        except httpx.InvalidURL:
            raise WhatsAppApiError("the URL is invalid", may_have_arrived=False) from None
