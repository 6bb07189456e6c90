"""The connection to a Bot API server: one call, its answer or a Failure, and never the token in either."""

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeVar

from aiohttp import ClientConnectorError, ClientError, ClientResponse, ClientTimeout, ConnectionTimeoutError

from sophon.clock import Clock
from sophon_channels.fields import Fields, as_fields, sub, text, whole
from sophon_channels.telegram.failures import Failure

T = TypeVar("T")

OFFICIAL = "https://api.telegram.org"
CONNECT_SECONDS = 10.0
CALL_SECONDS = 30.0
TOO_LARGE = 413
"""Said by the server in front of the Bot API's, which then has nothing of the call."""

_TIMEOUTS = ClientTimeout(total=None, sock_connect=CONNECT_SECONDS)
"""All but the connection is timed by the clock."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file that goes with a call, piece by piece: the name that the call's fields have for it, and what it is."""

    field: str
    name: str
    media_type: str
    stream: BinaryIO


class Transport:
    """One bot at one server. aiogram checks what is asked and writes it down; the answers stay plain JSON, so that an
    update which it cannot read holds up no other.
    """

    def __init__(self, token: str, base: str | None, clock: Clock) -> None:
        """Opens no connection, but imports aiogram: a matter of seconds, so call it in a thread."""
        # Heavy: only a host with this channel pays for it.
        from aiogram import Bot, methods
        from aiogram.client.session.aiohttp import AiohttpSession
        from aiogram.client.telegram import TelegramAPIServer

        self._session = AiohttpSession(api=TelegramAPIServer.from_base(base or OFFICIAL))
        self._bot = Bot(token, session=self._session)
        self._methods = methods
        self._token, self._clock = token, clock

    async def call(
        self,
        method: str,
        fields: Mapping[str, Any],
        *,
        seconds: float | None = CALL_SECONDS,
        upload: Upload | None = None,
    ) -> Any:
        """The result of a method, as `sendMessage`. Raises Failure; ValueError for fields that the method has not."""
        request = getattr(self._methods, method[0].upper() + method[1:])(**fields)
        url = self._session.api.api_url(self._token, method)
        form = self._session.build_form_data(self._bot, request)
        if upload is not None:
            form.add_field(upload.field, upload.stream, filename=upload.name, content_type=upload.media_type)
        async with self._guarded(method, seconds):
            http = await self._session.create_session()
            async with http.post(url, data=form, timeout=_TIMEOUTS, allow_redirects=False) as response:
                status, body = response.status, await response.read()
        return self._result(method, status, body)

    async def in_thread(self, function: Callable[[], T]) -> T:
        """Have something done that may block, as reading a file's size."""
        return await self._clock.in_thread(function)

    @asynccontextmanager
    async def download(self, path: str, *, seconds: float) -> AsyncGenerator[ClientResponse]:
        """The answer that streams a file; `path` is getFile's. Raises Failure."""
        url = self._session.api.file_url(self._token, path)
        async with self._guarded("download", seconds):
            http = await self._session.create_session()
            async with http.get(url, timeout=_TIMEOUTS, allow_redirects=False) as response:
                if response.status != 200:
                    raise Failure("download", "the file is not given out", status=response.status)
                yield response

    async def close(self) -> None:
        """Let go of the connections; a later call opens new ones."""
        # Not the session's own close: that waits a quarter of a second by the wall clock.
        http = await self._session.create_session()
        await http.close()

    @asynccontextmanager
    async def _guarded(self, method: str, seconds: float | None) -> AsyncGenerator[None]:
        """What the network does becomes a Failure, without the address: that holds the token."""
        try:
            async with self._clock.timeout(seconds):
                yield
        except (ClientConnectorError, ConnectionTimeoutError) as error:
            raise Failure(method, f"no connection ({type(error).__name__})", went_out=False) from None
        except TimeoutError:
            raise Failure(method, f"no answer within {seconds:.0f} s") from None
        except (ClientError, ConnectionError) as error:
            raise Failure(method, f"the connection was lost ({type(error).__name__})") from None

    def _result(self, method: str, status: int, body: bytes) -> Any:
        answer = _answer(body)
        if answer.get("ok") is True and "result" in answer:
            return answer["result"]
        if answer.get("ok") is False:
            raise self._refusal(method, status, answer)
        told = status if status >= 500 or status == TOO_LARGE else None
        raise Failure(method, f"an answer with HTTP status {status} that is not the Bot API's", status=told)

    def _refusal(self, method: str, status: int, answer: Fields) -> Failure:
        problem = text(answer, "description").replace(self._token, "***")
        failure = Failure(method, problem, status=whole(answer, "error_code") or status)
        failure.retry_after = whole(sub(answer, "parameters"), "retry_after")
        failure.migrate_to = whole(sub(answer, "parameters"), "migrate_to_chat_id")
        return failure


def _answer(body: bytes) -> Fields:
    try:
        return as_fields(json.loads(body))
    except (ValueError, RecursionError):
        return {}
