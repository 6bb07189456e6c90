"""Server: a host with its HTTP API, Socket.IO hub and channels; binding, start order and shutdown order."""

import asyncio
import gc
import logging
import socket
from collections.abc import Collection, Mapping, Sequence
from functools import partial

from aiohttp import web

from sophon._python.lazy_dataclass import dataclass
from sophon._python.rate_limited_log import RateLimitedLog
from sophon.errors import SophonError, StoreError
from sophon.models.gateway.provider import Provider
from sophon.services import Services
from sophon.settings.loader import LoadedSettings
from sophon.stores.factory import MEMORY_SCHEME
from sophon_hosting.channels.channel_factory import ConfiguredChannel, create_channels
from sophon_hosting.channels.channel_lifecycle import ChannelLifecycle
from sophon_hosting.channels.configured_channels import ConfiguredChannels
from sophon_hosting.channels.inbound.transcription import create_transcriber
from sophon_hosting.channels.outbound.speech_synthesis import create_speech_synthesizer
from sophon_hosting.client_api.authentication.login_throttle import FORGET_SECONDS, LoginThrottle
from sophon_hosting.client_api.authentication.shared_login_failures import SharedLoginFailures
from sophon_hosting.client_api.authentication.token_authentication import TokenAuthenticator
from sophon_hosting.client_api.client_address import TrustedProxies
from sophon_hosting.events.wire_event import RowBuilder, to_logged_event
from sophon_hosting.fanout.contract import HostFanout
from sophon_hosting.fanout.fanout_factory import build_fanout
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
from sophon_hosting.features.registry import (
    list_loop_factories,
    list_notices,
    list_session_prefixes,
    load_features,
    register_feature_tools,
)
from sophon_hosting.host import Host
from sophon_hosting.host_chain import build_pipelines
from sophon_hosting.http.app import HttpOptions, make_app
from sophon_hosting.http.connections.limiter import ConnectionLimiter
from sophon_hosting.http.connections.limits import ConnectionLimits, read_file_limit
from sophon_hosting.http.connections.listener import Listener, report_accept_errors
from sophon_hosting.hub.hub import Hub
from sophon_hosting.hub.limits import HubLimits
from sophon_hosting.instance_id import compute_instance_id
from sophon_hosting.leadership.membership import GroupMembership, check_role, is_group
from sophon_hosting.observability.prometheus_metrics import Metrics
from sophon_hosting.off_the_record.host import OffTheRecordHost
from sophon_hosting.queue.contract import QueueStatistics, TaskQueue
from sophon_hosting.queue.errors import QueueUnavailable
from sophon_hosting.queue.queue_factory import build_queue
from sophon_hosting.runs.answer_entries import OutboundBuilder
from sophon_hosting.runs.outcomes import RecordUse
from sophon_hosting.settings.hub import HubSettings
from sophon_hosting.shutdown import REQUEST_SHUTDOWN_TIMEOUT_SECONDS, SHUTDOWN_GRACE_SECONDS
from sophon_hosting.store.contract import host_store
from sophon_hosting.store.factory import extend_store

log = logging.getLogger("sophon")

GC_THRESHOLD = 50_000
"""Garbage collection threshold of the young generation, in objects."""

METRICS_STORE_TIMEOUT_SECONDS = 2.0
"""How long `/metrics` waits for what it reads from the store."""


class AddressUnavailable(SophonError):
    """Error: the host cannot listen on the configured address (code `address`)."""

    code = "address"


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Bound listener socket, with the host as configured and the actual port."""

    socket: socket.socket
    host: str
    port: int

    @property
    def url(self) -> str:
        """URL for a browser on this machine."""
        name = "127.0.0.1" if self.host in ("0.0.0.0", "") else self.host  # noqa: S104 - compared, not bound
        name = "[::1]" if name == "::" else f"[{name}]" if ":" in name else name
        return f"http://{name}:{self.port}"


def bind_address(host: str, port: int) -> ListenAddress:
    """Bind and listen before anything else is opened; early connections wait in the backlog. Raises
    AddressUnavailable.
    """
    try:
        addresses = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = min(addresses, key=lambda each: each[0] != socket.AF_INET)
        listener = socket.create_server(address, family=family, backlog=128)
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (while ")[0]  # CPython adds the address
        raise AddressUnavailable(
            f"cannot listen on {host}:{port}: {reason}; choose another address with --port, or Hub.Host and Hub.Port"
        ) from error
    return ListenAddress(listener, host, listener.getsockname()[1])


def configure_channels(
    services: Services,
    environment: Mapping[str, str],
    configured: Sequence[ConfiguredChannel],
    membership: GroupMembership,
    *,
    has_http: bool = True,
    connects: bool = True,
) -> ConfiguredChannels:
    """Return the channels of a process, and register the tools of the features behind those of the channels."""
    channels = ConfiguredChannels(
        services,
        configured,
        membership,
        transcriber=create_transcriber(services.settings, environment, services.clock),
        synthesizer=create_speech_synthesizer(services.settings, environment, services.clock),
        has_http=has_http,
        connects=connects,
    )
    register_feature_tools(services)
    return channels


def has_several_people(services: Services, channels: Sequence[ConfiguredChannel]) -> bool:
    """Return whether the messages of a process come from several people."""
    return services.settings.has_several_users() or bool(channels)


def create_host(
    services: Services,
    environment: Mapping[str, str],
    channels: ConfiguredChannels,
    queue: TaskQueue,
    membership: GroupMembership,
    approvers: Collection[str],
    off_the_record: Host | None = None,
    fanout: HostFanout | None = None,
) -> Host:
    """Return the host of a process, whose turns and answers go through the channels; `fanout`: not of the settings."""
    build_outbound: OutboundBuilder = channels.replies
    record_use: RecordUse | None = None
    event_rows: RowBuilder = to_logged_event
    for feature in load_features():
        if feature.outbound is not None:
            build_outbound = feature.outbound(services, build_outbound)
        if feature.record_use is not None:
            record_use = feature.record_use(services) or record_use
        if feature.event_rows is not None:
            event_rows = feature.event_rows(services) or event_rows
    return Host(
        services,
        build_pipelines,
        queue=queue,
        approvers=approvers,
        several_users=has_several_people(services, channels.configured),
        build_outbound=build_outbound,
        prepare=channels.prepare_run,
        build_event_row=event_rows,
        fanout=fanout or build_fanout(services.settings, environment),
        membership=membership,
        record_use=record_use,
        session_work=[each.session_work for each in load_features() if each.session_work is not None],
        session_prefixes=list_session_prefixes(),
        loops=list_loop_factories(),
        off_the_record=off_the_record,
        channel_names=[each.name for each in channels.channels],
        list_detached_channels=channels.list_detached,
        outbox_changes=channels.outbox_changes,
    )


class HostServer:
    """Server: a host with its HTTP API, Socket.IO hub, channels and features.

    Start order: store, recovery and worker, post-turn jobs, HTTP, hub, channels, MCP servers, scheduler. Shutdown
    order: the scheduler stops and channels stop receiving, running turns end, MCP servers end, channels and hub deliver
    the last messages and events, connections close, then the store. The place of a feature's service is its `Phase`.

    `channels` are those of the settings by default. Without `runs_turns` other processes take the tasks from the queue,
    which they must share. With `loaded`, the settings with their sources, operators can change some of them. Raises
    SettingsError.
    """

    def __init__(
        self,
        services: Services,
        environment: Mapping[str, str],
        *,
        channels: Sequence[ConfiguredChannel] | None = None,
        runs_turns: bool = True,
        loaded: LoadedSettings | None = None,
    ) -> None:
        hub = services.settings.section(HubSettings)
        access = TokenAuthenticator.from_settings(hub, environment)
        services = services.with_parts(store=extend_store(services.store))
        configured = create_channels(services, environment) if channels is None else channels
        is_shared = has_several_people(services, configured)
        queue = build_queue(services, is_shared=is_shared)
        is_in_group = is_group(host_store(services), queue)
        check_role(services.settings, host_store(services), queue, runs_turns=runs_turns)
        self.membership = GroupMembership(services, role="serve" if runs_turns else "hub", is_shared=is_in_group)
        self._channels = configure_channels(services, environment, configured, self.membership)
        models = [model.info for provider in services.gateway.providers for model in provider.models]
        self.metrics = Metrics([tool.name for tool in services.registry], [info.id for info in models])
        services = services.with_parts(events=self.metrics)
        approvers = access.operator_ids | self._channels.approvers
        off_the_record = OffTheRecordHost(
            services,
            approvers=approvers,
            several_users=is_shared,
            events=self.metrics,
            build_outbound=self._channels.replies_off_the_record,
            session_prefixes=list_session_prefixes(),
            loops=list_loop_factories(),
        )
        self.host = create_host(
            services, environment, self._channels, queue, self.membership, approvers, off_the_record
        )
        services = self.services = self.host.services
        self.off_the_record = off_the_record
        self._channel_lifecycle = ChannelLifecycle(self.host, self._channels, list_notices())
        self._features = FeatureLifecycle(
            load_features(),
            HostProcess(
                self.host, environment, self._channels.configured, loaded, on_providers_replaced=self._use_providers
            ),
        )
        shared = (
            SharedLoginFailures(host_store(services).rate_windows, services.clock, FORGET_SECONDS)
            if is_in_group
            else None
        )
        throttle = LoginThrottle(services.clock, self.metrics.auth_failures.inc, shared)
        connection_limits = ConnectionLimits.from_settings(hub, read_file_limit())
        hub_limits = HubLimits.for_connections(connection_limits.max_connections)
        self.hub = Hub(self.host, access, throttle=throttle, limits=hub_limits, on_client=self._load_tools)
        self._app = make_app(
            self.host,
            access,
            HttpOptions(
                render_metrics=self._render_metrics,
                channels=self._channels.channels,
                attach_channel=self._channel_lifecycle.attach,
                throttle=throttle,
                instance_id=compute_instance_id(
                    services.settings.store.url.resolve(environment) or MEMORY_SCHEME, services.folder
                ),
            ),
        )
        self._app.add_routes(self._channels.routes())
        self.hub.attach(self._app)
        self._log = RateLimitedLog(log, services.clock.monotonic)
        self._limiter = ConnectionLimiter(connection_limits, self.metrics.count_refused_connection)
        self._listener = Listener(self._limiter, TrustedProxies(hub.trusted_proxies), self._log)
        self._runner = web.AppRunner(
            self._app,
            handle_signals=False,
            shutdown_timeout=REQUEST_SHUTDOWN_TIMEOUT_SECONDS,
            **self._listener.runner_options,
        )
        self._warm_up_task: asyncio.Task[None] | None = None
        self._tools_task: asyncio.Task[None] | None = None

    def _use_providers(self, providers: Sequence[Provider]) -> None:
        self.metrics.allow_models([model.info.id for provider in providers for model in provider.models])
        self._warm_up_task = asyncio.create_task(self._warm_up())

    async def start(self, address: ListenAddress) -> None:
        """Open the store, recover unfinished runs and serve the address. Raises StoreError."""
        self.membership.note_address(address.url)
        await self._features.start(BEFORE_STORE)
        await host_store(self.services).maintenance.verify()
        await self.services.open()
        await self.membership.check_group()
        await self._channels.load()
        await self.host.start()
        await self.off_the_record.start()
        await self._features.start(BEFORE_CLIENTS)
        await self._runner.setup()
        report_accept_errors(self._log, partial(self.metrics.count_refused_connection, "files"))
        await self._listener.start(self._runner, address.socket)
        await self.hub.start()
        self._channel_lifecycle.start()
        await self._features.start(WITH_CLIENTS)
        # In the background, so that neither the start nor the first message waits for it.
        self._warm_up_task = asyncio.create_task(self._warm_up())
        if self._channels.channels:  # whose first message is not announced by a connection
            self._load_tools()

    async def shutdown(self, grace_seconds: float = SHUTDOWN_GRACE_SECONDS) -> None:
        """Shut down: running turns have `grace_seconds` to end; interrupted ones resume at the next start, or in
        another process of the group.
        """
        self.host.begin_shutdown()
        for task in (self._warm_up_task, self._tools_task):
            if task is not None:
                task.cancel()
        try:
            await self._features.stop(WITHOUT_SENDERS)
            await self._channel_lifecycle.stop_receiving()
            await self._features.stop(BEFORE_TURNS_END)
            async with asyncio.TaskGroup() as both:
                both.create_task(self.host.shutdown(grace_seconds=grace_seconds))
                both.create_task(self.off_the_record.shutdown(grace_seconds=grace_seconds))
            await self._features.stop(WITHOUT_TURNS)
            await self._channel_lifecycle.stop()
            await self._features.stop(WITHOUT_CHANNELS)
            await self.hub.stop()
            self._listener.close()
            await self._runner.cleanup()
        finally:
            await self._features.stop(LAST)
            await self.services.close()

    async def _render_metrics(self) -> bytes:
        undelivered = await self._count_undelivered()
        self.metrics.record_store(host_store(self.services).health, self.host.store_monitor.space)
        self.metrics.record_group(self.membership.last_count, self.membership.leadership.list_duties())
        return self.metrics.render(
            await self._read_queue_statistics(), self.hub.statistics().clients, len(self._limiter), undelivered
        )

    async def _read_queue_statistics(self) -> QueueStatistics | None:
        """Return None if the queue does not say."""
        try:
            async with self.services.clock.timeout(METRICS_STORE_TIMEOUT_SECONDS):
                with self.host.queue_health.watch():
                    return await self.host.queue.statistics()
        except (QueueUnavailable, TimeoutError):
            return None

    async def _count_undelivered(self) -> int | None:
        """Return None if the store does not say: the metrics are needed most while it is unavailable."""
        try:
            async with self.services.clock.timeout(METRICS_STORE_TIMEOUT_SECONDS):
                return await host_store(self.services).outbox.count_dead()
        except (StoreError, TimeoutError):
            return None

    def _load_tools(self) -> None:
        """Build the schemas of the tools in the background, once: the first message would load pydantic for them.

        A host without clients needs neither.
        """
        if self._tools_task is None:
            self._tools_task = asyncio.create_task(self._build_schemas())

    async def _build_schemas(self) -> None:
        def build() -> None:
            for tool in self.services.registry:
                tool.schema.build()

        try:
            await asyncio.to_thread(build)
        except Exception:
            log.warning("the schemas of the tools could not be built; the first turn does it", exc_info=True)

    async def _warm_up(self) -> None:
        try:
            await self.services.gateway.warm_up()
        except Exception:
            log.warning("warming up the models failed; the first message may be slower", exc_info=True)
        decisions = self.services.settings.decisions
        if decisions.enabled:
            from sophon.decisions.grammar_compilation import compile_grammars  # lazy: off in most chains

            await asyncio.to_thread(compile_grammars, decisions.families)


def tune_garbage_collector() -> None:
    """Freeze the objects that exist after startup and raise the garbage collection thresholds.

    Only young ones are examined before: all of them take 60 ms and hold a few dozen that are garbage.
    """
    gc.collect(1)
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD, 20, 20)
