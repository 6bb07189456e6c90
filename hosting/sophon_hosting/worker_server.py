"""Worker process: a host that runs the tasks of the store and of a shared queue, and answers nobody.

In a group it is a candidate for everything that one process does: schedules, goals, channels, webhooks, sweeps.
"""

from collections.abc import Mapping

from aiohttp import web

from sophon.services import Services
from sophon.settings.loader import LoadedSettings
from sophon_hosting.client_api.authentication import find_operators
from sophon_hosting.features.goals.factory import create_goal_engine
from sophon_hosting.features.schedules.factory import (
    create_heartbeat,
    create_scheduler,
)
from sophon_hosting.host_server import (
    ListenAddress,
    create_host,
    create_supervisor,
    has_several_people,
)
from sophon_hosting.http.health import health_routes
from sophon_hosting.http.json_io import HOST
from sophon_hosting.leadership.membership import GroupMembership, is_group
from sophon_hosting.live_settings.live_settings import LiveSettings
from sophon_hosting.live_settings.shared_settings import share_settings
from sophon_hosting.mcp_servers import create_mcp_supervisor
from sophon_hosting.post_turn.runner import PostTurnRunner
from sophon_hosting.queue.factory import build_queue
from sophon_hosting.shutdown import REQUEST_SHUTDOWN_TIMEOUT_SECONDS, SHUTDOWN_GRACE_SECONDS
from sophon_hosting.webhooks.factory import create_webhooks


class WorkerServer:
    """Worker: a host with its schedules, goals and post-turn jobs, and in a group the channels and webhooks.

    Alone it connects no channels and works on no goals: it finishes what is in the store. With `loaded`, the settings
    with their sources, it uses what operators change at another process.
    """

    def __init__(
        self, services: Services, environment: Mapping[str, str], *, loaded: LoadedSettings | None = None
    ) -> None:
        self.services = services
        self.channels = create_supervisor(services, environment)
        queue = build_queue(services, is_shared=has_several_people(services, self.channels))
        self.membership = GroupMembership(services, role="worker", is_shared=is_group(services.store, queue))
        approvers = find_operators(services.settings.hub) | self.channels.approvers
        self.host = host = create_host(services, environment, self.channels, queue, self.membership, approvers)
        self.shared_settings = None
        if loaded is not None:
            live = LiveSettings([services], loaded)
            self.shared_settings = share_settings(live, services, self.membership, host.fanout)
        self.post_turn = PostTurnRunner(services, host.event_bus, host.pipelines)
        self.mcp = host.mcp = create_mcp_supervisor(services, environment)
        self.scheduler = create_scheduler(host, self.channels.configured)
        self.heartbeat = create_heartbeat(host)
        self.goals = None
        self.webhooks = None
        if self.membership.is_shared:
            self.channels.connect(host, has_http=False)
            self.goals = create_goal_engine(host, self.channels.configured)
            by_name = {each.name: each for each in self.channels.channels}
            self.webhooks = host.webhooks = create_webhooks(services, host, environment, by_name)
        self._health: web.AppRunner | None = None

    async def start(self, health_address: ListenAddress | None = None) -> None:
        """Open the store, recover unfinished runs and run tasks; answer health checks at the address, if there is one.

        Raises StoreError.
        """
        await self.services.store.maintenance.verify()
        await self.services.open()
        await self.membership.check_group()
        if self.membership.is_shared:
            await self.channels.load()
        if health_address is not None:
            await self._serve_health(health_address)
        await self.host.start()
        if self.shared_settings is not None:
            await self.shared_settings.start()
        self.post_turn.start()
        self.channels.start()
        for part in (self.goals, self.webhooks, self.mcp, self.scheduler, self.heartbeat):
            if part is not None:
                part.start()

    async def shutdown(self, grace_seconds: float = SHUTDOWN_GRACE_SECONDS) -> None:
        """Shut down: running turns have `grace_seconds` to end; interrupted ones resume elsewhere, or at the next
        start.
        """
        self.host.begin_shutdown()
        if self.shared_settings is not None:
            await self.shared_settings.stop()
        try:
            for part in (self.scheduler, self.heartbeat, self.goals):
                if part is not None:
                    await part.stop()
            await self.channels.stop_receiving()
            await self.host.shutdown(grace_seconds=grace_seconds)
            if self.mcp is not None:
                await self.mcp.stop()
            await self.channels.stop()
            if self.webhooks is not None:
                await self.webhooks.stop()
            await self.post_turn.stop()
            if self._health is not None:
                await self._health.cleanup()
        finally:
            await self.services.close()

    async def _serve_health(self, address: ListenAddress) -> None:
        app = web.Application()
        app[HOST] = self.host
        app.add_routes(health_routes(None))
        self._health = web.AppRunner(
            app, handle_signals=False, access_log=None, shutdown_timeout=REQUEST_SHUTDOWN_TIMEOUT_SECONDS
        )
        await self._health.setup()
        await web.SockSite(self._health, address.socket).start()
