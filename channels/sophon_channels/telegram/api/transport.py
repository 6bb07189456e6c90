"""HTTP transport to a Bot API server: one call returns its result or raises `TelegramApiError`; neither contains the
token.
"""

import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, BinaryIO, TypeVar

from aiohttp import (
    ClientConnectorError,
    ClientError,
    ClientHttpProxyError,
    ClientResponse,
    ClientTimeout,
    ConnectionTimeoutError,
)

from sophon._python.lazy_dataclass import dataclass
from sophon.clock import Clock
from sophon.extras import describe_missing_package
from sophon_channels.errors import ChannelError
from sophon_channels.json_fields import JsonObject, get_int, get_object, get_text, object_from_json
from sophon_channels.proxy import is_socks
from sophon_channels.telegram.api.errors import TelegramApiError
from sophon_channels.text.single_line import to_single_line

T = TypeVar("T")

DEFAULT_BASE_URL = "https://api.telegram.org"
"""Base URL of the public Bot API server."""
CONNECT_TIMEOUT_SECONDS = 10.0
CALL_TIMEOUT_SECONDS = 30.0
MAX_DESCRIPTION_LENGTH = 500
"""Characters of an error's description that are kept."""
HTTP_TOO_LARGE = 413
"""HTTP status of the proxy in front of the Bot API, which then has not received the call."""
HTTP_UNAVAILABLE = 503
"""HTTP status of a server or proxy that does not process requests now (RFC 9110, 15.6.4)."""

_TIMEOUTS = ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_SECONDS)
"""The clock limits the total time; aiohttp only limits connecting."""


@dataclass(frozen=True, slots=True)
class FileUpload:
    """A file that is streamed with a call. `field` is the name that the call's fields refer to."""

    field: str
    name: str
    media_type: str
    stream: BinaryIO


class BotApiTransport:
    """Connection of one bot to one server. aiogram validates and serializes requests; responses stay plain JSON, so
    that an update that aiogram cannot parse blocks no other.
    """

    def __init__(
        self, token: str, base_url: str | None, clock: Clock, proxy: str | None = None, *, is_local: bool = False
    ) -> None:
        """Open no connection, but import aiogram, which takes seconds: call it in a thread.

        `is_local`: the server runs with `--local` on this machine; getFile then returns paths of its disk.
        """
        self.is_local = is_local
        # A slow import: only a host with this channel needs it.
        try:
            from aiogram import Bot, methods
            from aiogram.client.session.aiohttp import AiohttpSession
            from aiogram.client.telegram import TelegramAPIServer
        except ModuleNotFoundError as error:
            raise ChannelError(f"Telegram cannot be used: {describe_missing_package(error) or error}") from error

        # aiohttp takes HTTP proxies with a request; one of SOCKS is a connector, which aiogram makes.
        socks = proxy if proxy is not None and is_socks(proxy) else None
        self._session = AiohttpSession(proxy=socks, api=TelegramAPIServer.from_base(base_url or DEFAULT_BASE_URL))
        self._bot = Bot(token, session=self._session)
        self._methods = methods
        errors: tuple[type[Exception], ...] = (ClientConnectorError, ConnectionTimeoutError, ClientHttpProxyError)
        self._connection_errors = errors
        """Errors after which nothing was sent."""
        if socks is not None:
            from aiohttp_socks import ProxyConnectionError, ProxyError, ProxyTimeoutError  # an optional extra

            self._connection_errors += (ProxyConnectionError, ProxyError, ProxyTimeoutError)
        self.token, self._clock, self._proxy = token, clock, None if socks else proxy

    async def call(
        self,
        method: str,
        fields: Mapping[str, Any],
        *,
        timeout_seconds: float | None = CALL_TIMEOUT_SECONDS,
        uploads: Sequence[FileUpload] = (),
    ) -> Any:
        """Call a method such as `sendMessage`; return its result. Raises `TelegramApiError`; ValueError for an unknown
        field.
        """
        request = getattr(self._methods, method[0].upper() + method[1:])(**fields)
        url = self._session.api.api_url(self.token, method)
        form = self._session.build_form_data(self._bot, request)
        for upload in uploads:
            form.add_field(upload.field, upload.stream, filename=upload.name, content_type=upload.media_type)
        async with self._convert_errors(method, timeout_seconds):
            http = await self._session.create_session()
            async with http.post(
                url, data=form, timeout=_TIMEOUTS, allow_redirects=False, proxy=self._proxy
            ) as response:
                status, body = response.status, await response.read()
        return self._result(method, status, body)

    @property
    def clock(self) -> Clock:
        """The clock of the time limits."""
        return self._clock

    async def run_in_thread(self, function: Callable[[], T]) -> T:
        """Run a blocking function, such as reading a file's size, in a thread."""
        return await self._clock.run_in_thread(function)

    @asynccontextmanager
    async def stream_file(self, path: str, *, timeout_seconds: float) -> AsyncGenerator[ClientResponse]:
        """Open the download of a file and yield its response; `path` is from getFile. Raises `TelegramApiError`."""
        url = self._session.api.file_url(self.token, path)
        async with self._convert_errors("download", timeout_seconds):
            http = await self._session.create_session()
            async with http.get(url, timeout=_TIMEOUTS, allow_redirects=False, proxy=self._proxy) as response:
                if response.status != 200:
                    raise TelegramApiError("download", "the file is not available", status=response.status)
                yield response

    async def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        # Not the session's own close, which waits a quarter of a second in real time.
        http = await self._session.create_session()
        await http.close()

    @asynccontextmanager
    async def _convert_errors(self, method: str, seconds: float | None) -> AsyncGenerator[None]:
        """Convert network errors to `TelegramApiError`, without the URL: it contains the token."""
        try:
            async with self._clock.timeout(seconds):
                yield
        except self._connection_errors as error:
            raise TelegramApiError(method, f"no connection ({type(error).__name__})", may_have_arrived=False) from None
        except TimeoutError:
            raise TelegramApiError(method, f"no response within {seconds:.0f} s") from None
        except (ClientError, ConnectionError) as error:
            raise TelegramApiError(method, f"the connection was lost ({type(error).__name__})") from None

    def _result(self, method: str, status: int, body: bytes) -> Any:
        response = _parse_response(body)
        if response.get("ok") is True and "result" in response:
            return response["result"]
        if response.get("ok") is False:
            raise self._error_from_response(method, status, response)
        error_code = status if status >= 500 or status == HTTP_TOO_LARGE else None
        # A proxy that answers 3xx or 4xx has not passed the call on; one that answers 5xx may have lost the response.
        may_have_arrived = status < 300 or (status >= 500 and status != HTTP_UNAVAILABLE)
        raise TelegramApiError(
            method,
            f"the response with HTTP status {status} is not from the Bot API",
            status=error_code,
            may_have_arrived=may_have_arrived,
        )

    def _error_from_response(self, method: str, status: int, response: JsonObject) -> TelegramApiError:
        description = get_text(response, "description").replace(self.token, "***")
        description = to_single_line(description, MAX_DESCRIPTION_LENGTH)
        status = get_int(response, "error_code") or status
        error = TelegramApiError(method, description, status=status, may_have_arrived=False)
        error.retry_after = get_int(get_object(response, "parameters"), "retry_after")
        error.migrated_chat_id = get_int(get_object(response, "parameters"), "migrate_to_chat_id")
        return error


def _parse_response(body: bytes) -> JsonObject:
    try:
        return object_from_json(json.loads(body))
    except (ValueError, RecursionError):
        return {}
