"""Declaration of what a feature adds to a host: operations, tools, services that start and stop with it, and more."""

import enum
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from sophon._python.lazy_dataclass import dataclass
from sophon_hosting.feature_services import ServiceKey

if TYPE_CHECKING:
    from aiohttp import web

    from sophon.chain.pipeline import Middleware
    from sophon.models.gateway.provider import Provider
    from sophon.services import Services
    from sophon.settings.loader import LoadedSettings
    from sophon.tools.tool import Tool
    from sophon_hosting.background_loops import CreateLoops
    from sophon_hosting.channels.channel_factory import ConfiguredChannel
    from sophon_hosting.channels.outbound.chat_notices import ChatNotice
    from sophon_hosting.events.wire_event import RowBuilder
    from sophon_hosting.host import Host
    from sophon_hosting.retention import Sweep
    from sophon_hosting.runs.answer_entries import OutboundBuilder
    from sophon_hosting.runs.outcomes import RecordUse
    from sophon_hosting.runs.session_deletion import CreateSessionWork


class Phase(enum.Enum):
    """When a service starts and stops, relative to the others and to what the host has besides features.

    `FeatureLifecycle` has the order.
    """

    PROCESS = "process"
    """Follows the process: starts before the store is opened; stops when everything else has, also if that failed."""
    SETTINGS = "settings"
    """What turns are run with: starts when the host runs, before clients can connect; stops first."""
    AFTER_TURNS = "after turns"
    """Works on turns that have ended: starts before clients can connect; stops when the channels have."""
    WORK = "work"
    """Keeps work going in turns of its own: starts before clients can connect; stops before running turns end."""
    DELIVERY = "delivery"
    """Delivers what turns leave: starts with the channels; stops when the channels have."""
    TOOLS = "tools"
    """Serves the tools of turns: starts when clients can connect; stops when no turn runs."""
    TRIGGERS = "triggers"
    """Begins turns by itself: starts last; stops before channels stop receiving."""


class Startable(Protocol):
    """A service with a phase."""

    def start(self) -> Awaitable[None] | None:
        """Start in the background."""
        ...

    async def stop(self) -> None:
        """Stop; a service that did not start has nothing to stop."""
        ...


@dataclass(frozen=True, slots=True)
class HostProcess:
    """The process of a host, for the features: `host` is complete, and not started.

    `channels` are the configured ones; `loaded` are the settings with their sources, None without settings files.
    `serves_clients`: it has HTTP API and hub; a worker has not. `connects_channels`: it may receive and send messages
    of channels, and works on what belongs to a person who reads them: a worker that is alone does not.
    `on_providers_replaced` is to be called with the providers that replace those of the settings.
    """

    host: "Host"
    environment: Mapping[str, str]
    channels: "Sequence[ConfiguredChannel]" = ()
    loaded: "LoadedSettings | None" = None
    serves_clients: bool = True
    connects_channels: bool = True
    on_providers_replaced: "Callable[[Sequence[Provider]], None]" = lambda providers: None

    @property
    def services(self) -> "Services":
        """The services of the host's chain."""
        return self.host.services


@dataclass(frozen=True, slots=True)
class FeatureService:
    """A service of a feature: `create` returns it, or None where it is switched off.

    `create` imports what the service needs, so that a host without it loads nothing of it. With a `phase` the service
    is `Startable`, and starts and stops with the host. With a `key` operations find it in `Host.feature_services`.
    """

    create: Callable[[HostProcess], Any]
    phase: Phase | None = None
    key: ServiceKey[Any] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Feature:
    """What a feature adds to a host. All is imported when it is needed, so an object of this class costs nothing.

    `operations` are modules, each with a `table`, in the order of the documentation. `tools` returns those that the
    feature offers to the turns of a host, none if it is switched off. `services` are created in this order. `routes`
    are those over HTTP that are no operations, `notices` what channels show of events. `outbound` wraps the builder of
    the entries that a run's outcome leaves, `event_rows` returns what builds the rows of events, and `record_use` what
    receives the use of each run; the last two return None where there is nothing to do, and one feature alone may do
    it. `session_work` returns what ends the work that belongs to a session which is being deleted, `loops` what runs as
    long as a host, off the record too. Without `tools_need_host` the tools are offered to turns without a host, too, as
    those of `sophon chat`.

    `middlewares` returns those that the feature adds to each chain of a host: they stand where `sophon.chain.placement`
    puts them by the constraints of their classes.

    `events` are the classes of the events that nothing but the feature emits, each as `module:class`: they are known
    wherever events are sent, stored and shown. `tables` are repositories with tables of their own, each a `StorePart`
    as `module:class`; `HostStore.part` returns them. `person_data` are what the export of a person has of
    the feature, each a `PersonData` as `module:name`. `sweep` deletes what is old of the feature's data. The ids of the
    sessions that the feature makes begin with one of `session_prefixes` and a hyphen: no user's may. `page` of docs/ is
    about the feature.
    """

    name: str
    operations: Sequence[str] = ()
    tools: "Callable[[Services], Iterable[Tool]] | None" = None
    services: Sequence[FeatureService] = ()
    routes: "Callable[[Host], Iterable[web.AbstractRouteDef]] | None" = None
    outbound: "Callable[[Services, OutboundBuilder], OutboundBuilder] | None" = None
    event_rows: "Callable[[Services], RowBuilder | None] | None" = None
    notices: "Callable[[], Iterable[ChatNotice]] | None" = None
    record_use: "Callable[[Services], RecordUse | None] | None" = None
    session_work: "CreateSessionWork | None" = None
    middlewares: "Callable[[Services], Iterable[Middleware]] | None" = None
    events: Sequence[str] = ()
    tables: Sequence[str] = ()
    person_data: Sequence[str] = ()
    sweep: "Sweep | None" = None
    session_prefixes: Sequence[str] = ()
    loops: "CreateLoops | None" = None
    tools_need_host: bool = True
    page: str = ""
