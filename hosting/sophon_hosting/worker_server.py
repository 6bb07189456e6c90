"""Worker process: a host that runs the tasks of the store and of a shared queue, and answers nobody.

In a group it is a candidate for everything that one process does: schedules, goals, channels, webhooks, sweeps.
"""

from collections.abc import Mapping

from aiohttp import web

from sophon.services import Services
from sophon.settings.loader import LoadedSettings
from sophon_hosting.channels.channel_factory import create_channels
from sophon_hosting.channels.channel_lifecycle import ChannelLifecycle
from sophon_hosting.client_api.authentication.token_authentication import find_operators
from sophon_hosting.client_api.http_json import HOST
from sophon_hosting.features.feature import HostProcess
from sophon_hosting.features.lifecycle import (
    BEFORE_CLIENTS,
    BEFORE_STORE,
    BEFORE_TURNS_END,
    LAST,
    WITH_CLIENTS,
    WITHOUT_CHANNELS,
    WITHOUT_SENDERS,
    WITHOUT_TURNS,
    FeatureLifecycle,
)
from sophon_hosting.features.registry import list_notices, load_features
from sophon_hosting.host_server import (
    ListenAddress,
    configure_channels,
    create_host,
    has_several_people,
)
from sophon_hosting.http.health import health_routes
from sophon_hosting.leadership.membership import GroupMembership, is_group
from sophon_hosting.queue.queue_factory import build_queue
from sophon_hosting.settings.hub import HubSettings
from sophon_hosting.shutdown import REQUEST_SHUTDOWN_TIMEOUT_SECONDS, SHUTDOWN_GRACE_SECONDS
from sophon_hosting.store.contract import host_store
from sophon_hosting.store.factory import extend_store


class WorkerServer:
    """Worker: a host with its schedules, goals and post-turn jobs, and in a group the channels and webhooks.

    Alone it connects no channels and works on no goals: it finishes what is in the store. With `loaded`, the settings
    with their sources, it uses what operators change at another process.
    """

    def __init__(
        self, services: Services, environment: Mapping[str, str], *, loaded: LoadedSettings | None = None
    ) -> None:
        services = services.with_parts(store=extend_store(services.store))
        configured = create_channels(services, environment)
        queue = build_queue(services, is_shared=has_several_people(services, configured))
        self.membership = GroupMembership(services, role="worker", is_shared=is_group(host_store(services), queue))
        self._channels = channels = configure_channels(
            services, environment, configured, self.membership, has_http=False, connects=self.membership.is_shared
        )
        approvers = find_operators(services.settings.section(HubSettings)) | channels.approvers
        self.host = host = create_host(services, environment, channels, queue, self.membership, approvers)
        self.services = host.services
        self._channel_lifecycle = ChannelLifecycle(host, channels, list_notices())
        process = HostProcess(
            host,
            environment,
            channels.configured,
            loaded,
            serves_clients=False,
            connects_channels=self.membership.is_shared,
        )
        self._features = FeatureLifecycle(load_features(), process)
        self._health: web.AppRunner | None = None

    async def start(self, health_address: ListenAddress | None = None) -> None:
        """Open the store, recover unfinished runs and run tasks; answer health checks at the address, if there is one.

        Raises StoreError.
        """
        await self._features.start(BEFORE_STORE)
        await host_store(self.services).maintenance.verify()
        await self.services.open()
        await self.membership.check_group()
        if self.membership.is_shared:
            await self._channels.load()
        if health_address is not None:
            await self._serve_health(health_address)
        await self.host.start()
        await self._features.start(BEFORE_CLIENTS)
        self._channel_lifecycle.start()
        await self._features.start(WITH_CLIENTS)

    async def shutdown(self, grace_seconds: float = SHUTDOWN_GRACE_SECONDS) -> None:
        """Shut down: running turns have `grace_seconds` to end; interrupted ones resume elsewhere, or at the next
        start.
        """
        self.host.begin_shutdown()
        try:
            await self._features.stop(WITHOUT_SENDERS)
            await self._channel_lifecycle.stop_receiving()
            await self._features.stop(BEFORE_TURNS_END)
            await self.host.shutdown(grace_seconds=grace_seconds)
            await self._features.stop(WITHOUT_TURNS)
            await self._channel_lifecycle.stop()
            await self._features.stop(WITHOUT_CHANNELS)
            if self._health is not None:
                await self._health.cleanup()
        finally:
            await self._features.stop(LAST)
            await self.services.close()

    async def _serve_health(self, address: ListenAddress) -> None:
        app = web.Application()
        app[HOST] = self.host
        app.add_routes(health_routes())
        self._health = web.AppRunner(
            app, handle_signals=False, access_log=None, shutdown_timeout=REQUEST_SHUTDOWN_TIMEOUT_SECONDS
        )
        await self._health.setup()
        await web.SockSite(self._health, address.socket).start()
