"""A Socket.IO connection to a host that comes again by itself, and then catches up with its session."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, cast

import socketio  # type: ignore[import-untyped] # pyright: ignore[reportMissingTypeStubs]
import socketio.exceptions  # type: ignore[import-untyped] # pyright: ignore[reportMissingTypeStubs]

from sophon.errors import SophonError

ANSWER_SECONDS = 30
"""The host answers within this time, or it is told that it does not."""

Frame = tuple[str, Mapping[str, Any]]


class HostRefused(SophonError):
    """The host said no, or nothing."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


class Line:
    """A connection that comes again by itself, and then catches up with its session."""

    def __init__(self, url: str, auth: Mapping[str, str], on_break: Callable[[], None] = lambda: None) -> None:
        self._url, self._auth = url, dict(auth)
        self._client: Any = socketio.AsyncClient(handle_sigint=False)  # it has no types
        self._refusal: Mapping[str, Any] = {}
        self._was_connected = False
        self._closing = False
        self._on_break = on_break
        self.session: str | None = None
        self._last_seq = 0
        self.frames: asyncio.Queue[Frame] = asyncio.Queue()
        self._client.on("*", self._heard)
        self._client.on("connect", self._connected)
        self._client.on("disconnect", self._broken)
        self._client.on("connect_error", self._refused)

    async def open(self) -> None:
        """Raises HostRefused."""
        try:
            await self._client.connect(self._url, auth=self._auth, wait_timeout=ANSWER_SECONDS)
        except (socketio.exceptions.SocketIOError, ValueError) as error:
            message = self._refusal.get("message")
            reason = f"the host at {self._url} does not let us in: {message}" if message else None
            raise HostRefused(
                str(self._refusal.get("code", "no_host")), reason or f"no host answers at {self._url}: {error}"
            ) from error

    async def close(self) -> None:
        """For good."""
        self._closing = True
        await self._client.disconnect()

    async def ask(self, event: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer. Raises HostRefused."""
        try:
            answer: Any = await self._client.call(event, dict(payload), timeout=ANSWER_SECONDS)
        except socketio.exceptions.SocketIOError as error:
            raise HostRefused("no_answer", f"the host at {self._url} does not answer: {error}") from error
        if not answer["ok"]:
            raise HostRefused(answer["error"]["code"], answer["error"]["message"])
        return cast(Mapping[str, Any], answer)

    async def try_ask(self, event: str, payload: Mapping[str, Any]) -> None:
        """Ask, and let be whatever comes of it."""
        try:
            await self.ask(event, payload)
        except HostRefused as refused:
            logging.getLogger("sophon.cli").info("%s: %s", event, refused)

    def _heard(self, event: str, data: Any = None) -> None:
        if isinstance(data, dict):
            self._take(event, cast(Mapping[str, Any], data))

    def _take(self, event: str, data: Mapping[str, Any]) -> None:
        if isinstance(data.get("seq"), int):
            self._last_seq = max(self._last_seq, data["seq"])
        self.frames.put_nowait((event, data))

    async def _connected(self) -> None:
        """After a break: what was missed comes before what goes on."""
        if self._was_connected and self.session is not None:
            asyncio.get_running_loop().create_task(self._catch_up(self.session))
        self._was_connected = True

    async def _catch_up(self, session: str) -> None:
        joined = await self.ask("join_session", {"session_id": session, "last_seq": self._last_seq})
        for each in joined["events"]:
            self._take(each["event"], each["data"])

    def _broken(self, reason: str = "") -> None:
        if not self._closing:
            self._on_break()

    def _refused(self, data: Any = None) -> None:
        if isinstance(data, dict):  # else it is the transport that failed, and `open` says so
            self._refusal = cast(Mapping[str, Any], data)
