"""Socket.IO connection to a host that reconnects automatically and then replays missed events of its session."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, cast

from sophon_hosting.hub.hidden_modules import UNUSED_BY_SOCKETIO, hide_modules
from sophon_hosting.operations.client import HostError

with hide_modules(UNUSED_BY_SOCKETIO):
    import socketio  # type: ignore[import-untyped] # pyright: ignore[reportMissingTypeStubs]
    import socketio.exceptions  # type: ignore[import-untyped] # pyright: ignore[reportMissingTypeStubs]

RESPONSE_TIMEOUT_SECONDS = 30
"""Timeout of the connection and of every acknowledgement."""

ReceivedEvent = tuple[str, Mapping[str, Any]]

MAX_CALLS = 3
"""Maximum number of calls of an idempotent event, each after another connection."""

NO_ANSWER = "no_answer"
"""Error code of a `HostError` for a call without an answer."""


class HostConnection:
    """Socket.IO connection that reconnects automatically, and then replays the missed events of `session_id`.

    `events` receives every event of the host. `on_disconnect` is called when the connection is lost.
    """

    def __init__(self, url: str, auth: Mapping[str, str], on_disconnect: Callable[[], None] = lambda: None) -> None:
        self._url, self._auth = url, dict(auth)
        self._client: Any = socketio.AsyncClient(handle_sigint=False)  # socketio has no type hints
        self._connect_error: Mapping[str, Any] = {}
        self._connections = 0
        self._connected = asyncio.Event()
        self._lost = asyncio.Event()
        self._closing = False
        self._notify_disconnect = on_disconnect
        self.session_id: str | None = None
        self._last_seq = 0
        self.events: asyncio.Queue[ReceivedEvent] = asyncio.Queue()
        self._client.on("*", self._on_event)
        self._client.on("connect", self._on_connect)
        self._client.on("disconnect", self._on_disconnect)
        self._client.on("connect_error", self._on_connect_error)

    async def open(self) -> None:
        """Connect. Raises HostError if no host answers or it rejects the token."""
        try:
            await self._client.connect(self._url, auth=self._auth, wait_timeout=RESPONSE_TIMEOUT_SECONDS)
        except (socketio.exceptions.SocketIOError, ValueError) as error:
            message = self._connect_error.get("message")
            reason = f"the host at {self._url} refused the connection: {message}" if message else None
            raise HostError(
                str(self._connect_error.get("code", "no_host")), reason or f"no host answers at {self._url}: {error}"
            ) from error

    async def close(self) -> None:
        """Disconnect without reconnecting."""
        self._closing = True
        await self._client.disconnect()

    async def call(self, event: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send an event and return its acknowledgement. Raises HostError for an error, a timeout or a disconnect."""
        try:
            response = await self._call_while_connected(event, dict(payload))
        except socketio.exceptions.SocketIOError as error:
            raise HostError(NO_ANSWER, f"the host at {self._url} does not answer: {error}") from error
        if not response["ok"]:
            raise HostError(response["error"]["code"], response["error"]["message"])
        return cast(Mapping[str, Any], response)

    async def _call_while_connected(self, event: str, payload: dict[str, Any]) -> Any:
        """Return the acknowledgement; the library would wait for one of a lost connection until the timeout."""
        self._lost.clear()
        call = asyncio.ensure_future(self._client.call(event, payload, timeout=RESPONSE_TIMEOUT_SECONDS))
        lost = asyncio.ensure_future(self._lost.wait())
        try:
            await asyncio.wait((call, lost), return_when=asyncio.FIRST_COMPLETED)
            if not call.done():
                raise HostError(NO_ANSWER, f"the connection to the host at {self._url} was lost")
            return call.result()
        finally:
            for each in (call, lost):
                each.cancel()

    async def call_until_answered(self, event: str, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """Do what `call` does, and again after a reconnection if no answer arrived; for idempotent events."""
        for _ in range(MAX_CALLS - 1):
            try:
                return await self.call(event, payload)
            except HostError as error:
                await self._wait_for_reconnection(error)
        return await self.call(event, payload)

    async def send_message(self, payload: Mapping[str, Any], event: str = "send_message") -> Mapping[str, Any]:
        """Send a message, or with another event a request to answer one again, and follow its session.

        It is sent again with the same key if no answer arrived. The host may have got it before the connection was
        lost, and its task may have ended meanwhile: then nothing more is sent live, so what was missed is replayed.
        Raises HostError.
        """
        connections = self._connections
        accepted = await self.call_until_answered(event, payload)
        self.session_id = str(accepted["session_id"])
        if self._connections != connections:
            await self._replay_before_live(self.session_id)
        return accepted

    async def _wait_for_reconnection(self, error: HostError) -> None:
        """Return once the connection is there again. Raises `error` if it stays lost or the host has answered."""
        if error.code != NO_ANSWER:
            raise error
        try:
            async with asyncio.timeout(RESPONSE_TIMEOUT_SECONDS):
                await self._connected.wait()
        except TimeoutError:
            raise error from None

    async def try_call(self, event: str, payload: Mapping[str, Any]) -> None:
        """Send an event; log an error instead of raising it."""
        try:
            await self.call(event, payload)
        except HostError as error:
            logging.getLogger("sophon.cli").info("%s: %s", event, error)

    def _on_event(self, event: str, data: Any = None) -> None:
        if isinstance(data, dict):
            self._enqueue(event, cast(Mapping[str, Any], data))

    def _enqueue(self, event: str, data: Mapping[str, Any]) -> None:
        if isinstance(data.get("seq"), int):
            self._last_seq = max(self._last_seq, data["seq"])
        self.events.put_nowait((event, data))

    async def _on_connect(self) -> None:
        """After a reconnection, join the session again and enqueue the missed events before new ones."""
        if self._connections and self.session_id is not None:
            asyncio.get_running_loop().create_task(self._replay_missed(self.session_id))
        self._connections += 1
        self._connected.set()

    async def _replay_missed(self, session: str) -> None:
        joined = await self.call("join_session", {"session_id": session, "last_seq": self._last_seq})
        for each in joined["events"]:
            self._enqueue(each["event"], each["data"])

    async def _replay_before_live(self, session: str) -> None:
        """Enqueue the newest events of a session before the live ones that arrived since it was subscribed to."""
        try:
            joined = await self.call("join_session", {"session_id": session, "last_seq": 0})
        except HostError as error:
            if error.code != NO_ANSWER:
                raise
            return  # the next reconnection replays them
        live = [self.events.get_nowait() for _ in range(self.events.qsize())]
        for each in joined["events"]:
            self._enqueue(each["event"], each["data"])
        for event in live:
            self.events.put_nowait(event)

    def _on_disconnect(self, reason: str = "") -> None:
        self._connected.clear()
        self._lost.set()
        if not self._closing:
            self._notify_disconnect()

    def _on_connect_error(self, data: Any = None) -> None:
        if isinstance(data, dict):  # otherwise the transport failed, and `open` reports it
            self._connect_error = cast(Mapping[str, Any], data)
