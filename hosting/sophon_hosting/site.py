"""A host with its doors open: the address, the hub, the API, and the order in which they open and close."""

import asyncio
import gc
import logging
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aiohttp import web

from sophon.errors import SophonError
from sophon.services import Services
from sophon_hosting.access import Access
from sophon_hosting.afterwards.afterwards import Afterwards
from sophon_hosting.channels.configured import Configured, channels_of
from sophon_hosting.channels.switchboard import Switchboard
from sophon_hosting.composition import chain_of
from sophon_hosting.host import GRACE_SECONDS, Host
from sophon_hosting.http.app import HttpOptions, make_app
from sophon_hosting.hub.hub import Hub
from sophon_hosting.observing.metrics import Metrics
from sophon_hosting.queue.configured import queue_of

log = logging.getLogger("sophon")

COLLECT_AFTER = 50_000
"""Objects, before the collector looks at the young ones. Source: reference/performance.md section 3, rule 11."""

HANGING_SECONDS = 2.0
"""For requests under way when all else has stopped: who sends a body by drops does not keep the host from its end."""


class AddressTaken(SophonError):
    """The host cannot listen where it is told to."""

    code = "address"


@dataclass(frozen=True, slots=True)
class Address:
    """Where it listens: the socket, bound and waiting, and how a person writes it."""

    socket: socket.socket
    host: str
    port: int

    @property
    def url(self) -> str:
        """For a browser on this machine."""
        name = "127.0.0.1" if self.host in ("0.0.0.0", "") else self.host  # noqa: S104 - compared, not bound
        name = "[::1]" if name == "::" else f"[{name}]" if ":" in name else name
        return f"http://{name}:{self.port}"


def bound(host: str, port: int) -> Address:
    """Listen, before anything else is touched; who connects waits. Raises AddressTaken."""
    try:
        found = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, place = min(found, key=lambda each: each[0] != socket.AF_INET)
        listening = socket.create_server(place, family=family, backlog=128)
    except OSError as error:
        reason = error.strerror or str(error)
        raise AddressTaken(
            f"cannot listen on {host}:{port}: {reason}; choose another with --port, or Hub.Host and Hub.Port"
        ) from error
    return Address(listening, host, listening.getsockname()[1])


class Site:
    """Opens in this order: the store; what was left unfinished is taken up and work begins; then who waits at the
    address is let in. Closes in the other: nothing more is taken, what runs may end, everybody hears of it, then the
    connections end, then the store. `channels` are those of the settings, unless others are given.
    """

    def __init__(
        self, services: Services, environment: Mapping[str, str], *, channels: Sequence[Configured] | None = None
    ) -> None:
        hub = services.settings.hub
        access = Access.of(hub, environment)
        self.services = services
        self.channels = Switchboard(services, channels_of(services, environment) if channels is None else channels)
        models = [model.info for provider in services.gateway.providers for model in provider.models]
        self.metrics = Metrics([tool.name for tool in services.registry], [info.id for info in models])
        services.watched_by(self.metrics)
        self.host = Host(
            services,
            chain_of(services),
            queue=queue_of(services),
            approvers=access.operators | self.channels.approvers,
            leaving=self.channels.answers,
            prepare=self.channels.prepare,
        )
        self.channels.connect(self.host)
        self.hub = Hub(self.host, access)
        self.afterwards = Afterwards(services, self.host.feed)
        self._app = make_app(self.host, access, HttpOptions(metrics=self._counted, channels=self.channels.channels))
        self._app.add_routes(self.channels.routes())
        self.hub.attach(self._app)
        self._runner = web.AppRunner(
            self._app, access_log=None, handle_signals=False, shutdown_timeout=HANGING_SECONDS, auto_decompress=False
        )
        self._warming: asyncio.Task[None] | None = None

    async def open(self, address: Address) -> None:
        """Raises StoreError."""
        await self.services.open()
        await self.host.start()
        self.afterwards.start()
        await self._runner.setup()
        await web.SockSite(self._runner, address.socket).start()
        await self.hub.start()
        self.channels.start()
        # In the background: the first message is as fast as any other, and the start does not wait for it.
        self._warming = asyncio.create_task(self._warm_up())

    async def close(self, grace_seconds: float = GRACE_SECONDS) -> None:
        """What runs has `grace_seconds` to end; the rest goes on with the next start."""
        if self._warming is not None:
            self._warming.cancel()
        try:
            await self.channels.stop_hearing()
            await self.host.stop(grace_seconds=grace_seconds)
            await self.channels.stop()
            await self.afterwards.stop()
            await self.hub.stop()
            await self._runner.cleanup()
        finally:
            await self.services.close()

    async def _counted(self) -> bytes:
        return self.metrics.render(await self.host.queue.statistics(), self.hub.statistics().clients)

    async def _warm_up(self) -> None:
        try:
            await self.services.gateway.warm_up()
        except Exception:
            log.warning("the models could not be warmed up; the first message waits for them", exc_info=True)


def settle_memory() -> None:
    """What is there at start stays: the collector need not look at it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 20, 20)
