"""Watch over connected clients whose log-in can end: one whose token was revoked or has expired is disconnected."""

import asyncio
from collections.abc import Awaitable, Callable

from sophon.clock import Clock
from sophon.errors import StoreError
from sophon_hosting.client_api.client_authentication import ClientAuthenticator
from sophon_hosting.hub.connected_clients import HubClient, HubConnection

CHECK_INTERVAL_SECONDS = 1.0
"""Interval at which the log-ins are checked: a client that only listens hears no more than this after a revocation."""


class CredentialWatch:
    """The connected clients with such a log-in; there is no task while there are none. `close` closes a connection.

    What a client sends is checked at once, by `holds`. A store that is unavailable says nothing about a token: the next
    check follows, and an expiry, which needs no store, still ends the log-in.
    """

    def __init__(
        self, authenticator: ClientAuthenticator, clock: Clock, close: Callable[[HubConnection], Awaitable[None]]
    ) -> None:
        self._authenticator, self._clock, self._close = authenticator, clock, close
        self._clients: set[HubClient] = set()
        self._task: asyncio.Task[None] | None = None

    def add(self, client: HubClient) -> None:
        """Watch a client, if its log-in can end."""
        if client.authorized_host.user.can_end:
            self._clients.add(client)
            if self._task is None or self._task.done():
                self._task = asyncio.create_task(self._watch())

    def discard(self, client: HubClient) -> None:
        """Watch a client no longer."""
        self._clients.discard(client)

    async def holds(self, connection: HubConnection) -> bool:
        """Return whether the log-ins of all clients of a connection hold; False while the store cannot say so."""
        for client in list(connection.clients.values()):
            if client.authorized_host.user.can_end and not await self._is_valid(client, unknown=False):
                return False
        return True

    async def aclose(self) -> None:
        """End the watch."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _watch(self) -> None:
        while self._clients:
            await self._clock.sleep(CHECK_INTERVAL_SECONDS)
            for client in list(self._clients):
                if client in self._clients and not await self._is_valid(client, unknown=True):
                    self._clients.discard(client)
                    await self._close(client.connection)

    async def _is_valid(self, client: HubClient, *, unknown: bool) -> bool:
        try:
            return await self._authenticator.is_still_valid(client.authorized_host.user)
        except StoreError:
            return unknown
