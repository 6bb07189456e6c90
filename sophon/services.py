"""The services of a chain: models, tools, store, approvals, event listeners, clock, settings; each has a default."""

import os
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from sophon.approvals import ApprovalGate, RejectingGate
from sophon.builtin_tools import builtin_tools
from sophon.builtin_tools.questions import chat_ask
from sophon.clock import Clock, SystemClock
from sophon.context import Context
from sophon.context.message_list import MessageList
from sophon.context.stopwatch import Stopwatch
from sophon.context.tool_limiter import ToolLimiter
from sophon.context.turn_log import SessionLog, TurnLog
from sophon.errors import CompositionError, InputError, SettingsError
from sophon.events import EventSink, NullEventSink
from sophon.learning.embedding_cache import CachingEmbedder
from sophon.messages import Message
from sophon.models.gateway.circuit_breaker import CircuitBreaker
from sophon.models.gateway.gateway import ModelGateway
from sophon.models.gateway.options import GatewayOptions
from sophon.models.gateway.provider import Provider
from sophon.models.model import Model
from sophon.models.offline import OfflineModel
from sophon.operator_policy import UNRESTRICTED, OperatorPolicy
from sophon.principals import LOCAL_USER, data_owner_of_turn
from sophon.security.sliding_windows import SlidingWindows
from sophon.setting_references import (
    find_mcp_tool_names,
    find_taken_server_ids,
    find_unknown_budgets,
    find_unknown_disabled,
    find_unknown_evaluator,
    find_unknown_limited,
    find_unknown_permitted,
    find_unknown_ruled,
)
from sophon.settings import FailoverSettings, Settings
from sophon.stores.contract import Store
from sophon.stores.factory import store_from_url
from sophon.stores.in_memory_store import InMemoryStore
from sophon.system_prompt import DEFAULT_INSTRUCTIONS
from sophon.tools.registry import Toolbox, ToolRegistry, validate_tools
from sophon.tools.tool import Tool
from sophon.turn_options import check_image_count, check_max_iterations, check_temperature, parse_planning_mode
from sophon.vault import CredentialVault

if TYPE_CHECKING:
    from sophon.agents.runtime import AgentRuntime
    from sophon.attachments import Attachment
    from sophon.images import Image
    from sophon.learning.contract import Embedder, PolicyCache
    from sophon.routing.router import Router
    from sophon.security.policy import Policy
    from sophon.skills.catalog import SkillCatalog
    from sophon.skills.custom_tools import CustomToolStore
    from sophon.stores.memories.library import LongTermMemory
    from sophon.stores.memories.vector_cache import MemoryVectorCache
    from sophon.stores.memories.workspace_search import WorkspaceSearch

T = TypeVar("T")

CUSTOM_TOOL_TOOLS = tuple(f"tools.{each}" for each in ("list", "create", "update", "enable", "disable", "delete"))
"""Names of the tools of `CustomTools.Enabled`."""

SCHEDULE_TOOLS = tuple(f"schedules.{each}" for each in ("add", "list", "remove", "pause", "resume"))
"""Names of the tools of `Schedules.Enabled`, which a host registers."""

GOAL_TOOLS = tuple(f"goals.{each}" for each in ("create", "list", "show", "pause", "resume", "cancel"))
"""Names of the tools of `Goals.Enabled`."""

LATER_TOOLS = (
    *("agents.cancel", "agents.list", "agents.run", "chat.send_file", "load_skills", "read_skill_file"),
    *("variables.set", *CUSTOM_TOOL_TOOLS, *SCHEDULE_TOOLS, *GOAL_TOOLS),
)
"""Names of tools that are registered later or only where there are skills, which Tools.Disabled may name too."""


class Services:
    """The collaborators shared by all turns; implements `sophon.context.TurnServices`.

    `Services()` reads no file and no environment: it uses the offline model, an in-memory store, the built-in tools,
    and a gate that rejects every approval. `tools` precede the built-in ones; a tool with the name of a built-in tool
    replaces it. `models` is one model, several in priority order, or providers. `settings` is the dict below `Sophon`.
    `instructions` is the system prompt of every turn, none by default. `policy` is that of Shield, by default the one
    of `Guards.Shield.PolicyFile`. Without an `embedder` and `policies`, routing uses no earlier decisions. `skills` are
    folders with instructions and tools, none by default.

    Raises SettingsError, CompositionError.
    """

    def __init__(
        self,
        *,
        models: Model | Provider | Sequence[Model | Provider] | None = None,
        tools: Sequence[Tool] = (),
        store: Store | None = None,
        approvals: ApprovalGate | None = None,
        events: EventSink | None = None,
        clock: Clock | None = None,
        settings: Settings | Mapping[str, Any] | None = None,
        instructions: str | None = None,
        folder: Path | None = None,
        turn_log: TurnLog | None = None,
        policy: "Policy | None" = None,
        vault: CredentialVault | None = None,
        skills: "SkillCatalog | None" = None,
        embedder: "Embedder | None" = None,
        policies: "PolicyCache | None" = None,
    ) -> None:
        self.settings = settings if isinstance(settings, Settings) else Settings.from_mapping(settings or {})
        self.vault = vault or CredentialVault(self.settings.vault, {})
        self.clock: Clock = clock or SystemClock()
        providers = to_providers(models)
        configure_providers(providers, self.settings)
        failover = self.settings.failover
        limits = GatewayOptions(
            max_retries=failover.max_retries, max_reply_bytes=self.settings.agent_execution.max_reply_bytes
        )
        self.gateway = ModelGateway(providers, clock=self.clock, options=limits)
        self.toolbox = Toolbox(ToolRegistry(add_builtin_tools(tools, self.settings)))
        self.skills = skills
        self.custom_tools = create_custom_tool_store(self.settings, folder or Path())
        self.agents = create_agent_runtime(self.settings, folder or Path())
        self.store: Store = store or InMemoryStore(clock=self.clock)
        self.approvals: ApprovalGate = approvals or RejectingGate()
        self.operator_policy: OperatorPolicy = UNRESTRICTED
        """Set by a host, which knows its operators."""
        self.rate_windows = SlidingWindows()
        """Counts in this process; a host of several processes replaces it."""
        self.set_event_sink(events or NullEventSink())
        self.turn_log: TurnLog = turn_log or SessionLog(self.store)
        self.instructions = instructions
        self.folder = folder or Path()
        """Base directory of relative paths in the settings."""
        self._policy = policy
        self.embedder = embedder
        self.policies = policies
        # In a list, which the copies of the services share: a host has one for each turn.
        self._routers: list[Router] = []
        self._memory_vectors: list[MemoryVectorCache] = []
        self._workspaces: dict[Path, WorkspaceSearch] = {}
        self.learns = True
        """False off the record: turns leave no trajectories and no routing decisions."""

    @property
    def registry(self) -> ToolRegistry:
        """All enabled tools of this moment."""
        return self.toolbox.registry

    @property
    def policy(self) -> "Policy":
        """The policy of Shield, read once, when it is first needed. Raises SettingsError."""
        if self._policy is None:
            self._policy = load_shield_policy(self.settings, self.folder)
        return self._policy

    @property
    def router(self) -> "Router":
        """The router of the settings, created when it is first needed. Raises SettingsError."""
        if not self._routers:
            self._routers.append(create_router(self))
        return self._routers[0]

    @property
    def memory(self) -> "LongTermMemory":
        """The long-term memory, over the store of these services."""
        from sophon.stores.memories.library import (
            LongTermMemory,
            choose_embedder,
        )  # lazy: most turns neither read nor write it
        from sophon.stores.memories.vector_cache import MemoryVectorCache

        if not self._memory_vectors:
            self._memory_vectors.append(MemoryVectorCache(self.clock))
        embedder = choose_embedder(self.settings.memory.embedder, self.embedder)
        return LongTermMemory(self.store, self.clock, embedder, self._memory_vectors[0])

    def workspace(self, folder: Path) -> "WorkspaceSearch":
        """Return the search in the workspace files below a folder, the same for each call."""
        from sophon.stores.memories.library import choose_embedder  # lazy, as above
        from sophon.stores.memories.workspace_search import WorkspaceSearch

        if folder not in self._workspaces:
            embedder = choose_embedder(self.settings.memory.embedder, self.embedder)
            self._workspaces[folder] = WorkspaceSearch(folder, self.clock, embedder)
        return self._workspaces[folder]

    @property
    def memory_folder(self) -> Path | None:
        """The folder of the workspace files, None without memory or `Memory.Directory`."""
        memory = self.settings.memory
        if not memory.enabled or memory.directory is None:
            return None
        return (self.folder / memory.directory.expanduser()).absolute()

    @classmethod
    def from_settings(
        cls,
        settings: Settings | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        events: EventSink | None = None,
        approvals: ApprovalGate | None = None,
        tools: Sequence[Tool] = (),
        clock: Clock | None = None,
        store: Store | None = None,
    ) -> Self:
        """Create the services of the command line and the host: real providers, store and tools, a system prompt.

        The store is not open yet. `settings` default to those of the files in `folder` (by default the working
        directory) and of `environment` (by default the process's own), in which secrets are looked up too. `tools`
        precede those of Tools.Modules, and these precede those of installed plug-ins; `store` replaces the configured
        one. Raises SettingsError with all problems at once, CompositionError, StoreError.
        """
        # Lazy: a program that passes its own models and tools needs neither the kinds of providers nor plug-ins.
        from sophon.models.embeddings.factory import create_cached_embedder
        from sophon.models.providers.factory import create_providers
        from sophon.plugins.entry_points import load_installed_tools
        from sophon.plugins.tool_modules import tools_from_modules
        from sophon.settings import load_settings
        from sophon.stores.vectors.policies import create_policy_cache

        variables = os.environ if environment is None else environment
        place, time = folder or Path(), clock or SystemClock()
        chosen = settings or load_settings(folder=place, environment=variables)
        problems: list[str] = []
        providers = _try_make(
            lambda: create_providers(chosen, environment=variables, clock=time, folder=place), problems
        )
        modules = _try_make(lambda: tools_from_modules(chosen.tools.modules, folder=place), problems)
        plugins = _try_make(load_installed_tools, problems)
        opened = store or _try_make(lambda: _store(chosen, variables, place, time), problems)
        added = [*tools, *(modules or ()), *(plugins or ())]
        if modules is not None and plugins is not None:
            names = [*LATER_TOOLS, *find_mcp_tool_names(chosen), *(tool.name for tool in added)]
            problems += find_unknown_disabled(chosen, names) + find_unknown_limited(chosen, names)
            problems += find_unknown_ruled(chosen, names) + find_unknown_permitted(chosen, names)
        if providers is not None:
            problems += find_unknown_budgets(chosen, [provider.id for provider in providers])
            problems += find_unknown_evaluator(chosen, providers)
            if chosen.routing.names_models or chosen.routing.boosters:
                problems += find_routing_problems(chosen, providers, place)
        problems += find_shield_problems(chosen, place) + find_taken_server_ids(chosen, added)
        embedder = _try_make(
            lambda: create_cached_embedder(
                chosen.embeddings, variables, time, default_prices=chosen.budget.default_price_pair
            ),
            problems,
        )
        if problems or opened is None or embedder is None:
            raise SettingsError(problems)
        return cls(
            models=providers,
            tools=added,
            store=opened,
            approvals=approvals,
            events=events,
            clock=time,
            settings=chosen,
            instructions=DEFAULT_INSTRUCTIONS,
            folder=place,
            vault=CredentialVault(chosen.vault, variables),
            skills=create_skill_catalog(chosen, place),
            embedder=embedder,
            policies=create_policy_cache(
                opened.vectors,
                embedder,
                time,
                chosen.learning,
                chosen.routing.min_similarity,
                refresh=chosen.routing.refresh,
            ),
        )

    def turn(
        self,
        text: str,
        *,
        images: "Sequence[Image]" = (),
        attachments: "Sequence[Attachment]" = (),
        session_id: str | None = None,
        stream: bool = False,
        model: str | None = None,
        planning: str | None = None,
        max_iterations: int | None = None,
        temperature: float | None = None,
        principal: str | None = None,
        group: bool = False,
        data_owner: str | None = None,
        channel: str = "local",
        run_id: str | None = None,
    ) -> Context:
        """Create a turn, ready for `Pipeline.run`; without `session_id` it starts a new session.

        A turn of a `group` never uses the memory and the files of `principal`, but those of `data_owner`, by default
        the session's. `images` belong to the message: see `sophon.images`. So do `attachments`, files of the session
        that the store has. `max_iterations` is the turn's ceiling of
        rounds of tool calls, instead of the chain's; `temperature` is that of the replies, from 0 to 2. A host passes
        the `run_id` under which it accepted the message.

        Raises InputError for an empty message, more images than `MAX_IMAGES`, an unknown planning mode, a ceiling above
        the hard limit or a temperature out of its range, NotFound for an unknown model.
        """
        if not text.strip() and not images and not attachments:
            raise InputError("the message is empty: write something")
        if images:
            check_image_count(images)
        if model is not None:
            self.gateway.find(model)
        user = Message("user", text, images=tuple(images), attachments=tuple(attachments))
        messages = MessageList((Message("system", self.instructions), user) if self.instructions else (user,))
        session_id = session_id or self.clock.new_id()
        if data_owner is None:
            data_owner = data_owner_of_turn(principal or "", session_id, group=group)
        return Context(
            services=self,
            stopwatch=Stopwatch(self.clock),
            tool_limiter=ToolLimiter(self.settings.tools.max_parallel),
            run_id=run_id or self.clock.new_id(),
            session_id=session_id,
            text=text,
            principal=principal or "",
            data_owner=data_owner,
            group=group,
            channel=channel,
            stream=stream,
            model=model,
            planning=None if planning is None else parse_planning_mode(planning),
            max_iterations=None if max_iterations is None else check_max_iterations(max_iterations, self.settings),
            temperature=None if temperature is None else check_temperature(temperature),
            started_at=self.clock.now(),
            has_listeners=self.has_listeners,
            messages=messages,
            tools=self.toolbox.registry.tools,
        )

    @property
    def has_instructions(self) -> bool:
        """Whether each turn begins with a system prompt."""
        return bool(self.instructions)

    async def explain_route(self, text: str, *, principal: str = LOCAL_USER) -> str:
        """Return what routing would choose for a message of a principal and why; nothing is asked and nothing changes.

        A principal without an entry of their own counts as an operator if the host says so.
        """
        from sophon.routing.explanation import format_route  # lazy, as for the router
        from sophon.routing.router import RouteQuery

        permissions, router = self.settings.permissions, self.router
        is_operator = self.operator_policy.is_operator(principal)
        level = permissions.level_of(principal, channel="local", is_operator=is_operator)
        allowed = permissions.routing_of(principal, level, uses_tiers=router.uses_tiers)
        boosters = [tool.answer for tool in self.registry.tools if tool.answer is not None]
        query = RouteQuery(text, permissions=allowed, boosters=boosters, may_boost=True, is_trial=True)
        return format_route(await router.route(query, self.gateway.candidates(), self.store))

    def register_tool(self, tool: Tool) -> None:
        """Register a tool after the others, for turns that start later; a host calls this before it starts.

        A disabled tool, and one whose name is already registered, is ignored.
        """
        if tool.name not in self.settings.tools.disabled:
            self.toolbox.add(tool)

    def set_event_sink(self, events: EventSink) -> None:
        """Send the events of all turns that start later to `events`."""
        self.events = events
        self.has_listeners = not isinstance(events, NullEventSink)

    def copy_for_replay(self, store: Store, toolbox: Toolbox, approvals: ApprovalGate) -> Self:
        """Return services whose turns leave nothing behind in these: another store, other tools, nobody who listens,
        learns or counts messages, and caches of their own.

        The models are shared, with their keys, cool-downs and circuit breakers.
        """
        view = copy(self)
        view.store, view.toolbox, view.approvals = store, toolbox, approvals
        view.turn_log, view.rate_windows, view.learns = SessionLog(store), SlidingWindows(), False
        view._routers, view._memory_vectors, view._workspaces = [], [], {}
        view.set_event_sink(NullEventSink())
        return view

    def restore(self, state: Mapping[str, Any]) -> Context:
        """Restore a suspended turn from what `ctx.state()` returned, ready for `Pipeline.run`. Raises StateError."""
        return Context.from_state(self, state)

    async def history(self, session_id: str) -> list[Message]:
        """Return the stored messages of a session; empty for an unknown session."""
        return (await self.store.sessions.load_history(session_id)).messages

    async def open(self) -> None:
        """Open the store."""
        await self.store.open()

    async def close(self) -> None:
        """Close models and store."""
        try:
            await self.gateway.aclose()
            if isinstance(self.embedder, CachingEmbedder):
                await self.embedder.aclose()
        finally:
            await self.store.close()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()


def configure_providers(providers: Sequence[Provider], settings: Settings) -> None:
    """Give providers what the settings say about all of them: default prices and circuit breakers."""
    prices, failover = settings.budget.default_price_pair, settings.failover
    for provider in providers if prices is not None else ():
        provider.default_prices = prices
    for provider in providers if failover != FailoverSettings.defaults() else ():
        provider.breaker = CircuitBreaker(
            failover.breaker_failures, failover.breaker_window.total_seconds(), failover.breaker_open.total_seconds()
        )


MEMORY_GROUP = "memory"
MODEL_HINT = "FunctionModel wraps a function as a model; model names belong in the setting Providers"


def to_providers(models: Model | Provider | Sequence[Model | Provider] | None) -> list[Provider]:
    """Return providers in priority order; a bare model is wrapped in a provider of its own.

    Raises CompositionError for a value that is not a model, and for two providers with the same id, because budgets
    are kept by provider id.
    """
    if models is None:
        models = [OfflineModel()]
    if isinstance(models, str):  # a str is a Sequence too
        raise CompositionError(f"{models!r} is not a model: {MODEL_HINT}")
    given = models if isinstance(models, Sequence) else [models]
    taken: set[str] = set()
    providers: list[Provider] = []
    for position, model in enumerate(given, start=1):
        if not isinstance(model, Provider):
            if not hasattr(model, "info"):
                raise CompositionError(f"{model!r:.60} is not a model: {MODEL_HINT}")
            name = model.info.provider
            model = Provider(name if name not in taken else f"{name}-{position}", [model], priority=position)
        if model.id in taken:
            raise CompositionError(f"two providers have the id {model.id!r}; each needs its own")
        taken.add(model.id)
        providers.append(model)
    return providers


def add_builtin_tools(tools: Sequence[Tool], settings: Settings) -> list[Tool]:
    """Return the user's tools, then the built-in ones that they do not replace, without disabled ones.

    Memory tools are included only if the memory is enabled, `chat.ask` only with `Approval.Questions`.
    """
    names = {tool.name for tool in validate_tools(tools)}
    builtin = [tool for tool in builtin_tools() if settings.memory.enabled or tool.group != MEMORY_GROUP]
    if settings.custom_tools.enabled:
        from sophon.builtin_tools.custom_tools import custom_tool_tools  # lazy, as for variables

        builtin += custom_tool_tools()
    if settings.goals.enabled:
        from sophon.builtin_tools.goals import goal_tools  # lazy, as for variables

        builtin += goal_tools()
    if settings.tools.variables:
        from sophon.builtin_tools.variables import variable_tools  # lazy: most hosts do not offer it

        builtin += variable_tools()
    if settings.approval.questions:
        builtin = [chat_ask, *builtin]  # first: the tool filter then offers it whatever a message is about
    every = [*tools, *(tool for tool in builtin if tool.name not in names)]
    return [tool for tool in every if tool.name not in settings.tools.disabled]


def list_skill_folders(settings: Settings, folder: Path) -> list[Path]:
    """Return the folders of `Skills.Directories`; `folder` is the base of relative ones."""
    return [(folder / each.expanduser()).absolute() for each in settings.skills.directories]


def create_custom_tool_store(settings: Settings, folder: Path) -> "CustomToolStore | None":
    """Return the store of `CustomTools.Directory`; None if custom tools are off."""
    chosen = settings.custom_tools
    if not chosen.enabled:
        return None
    from sophon.skills.custom_tools import CustomToolStore

    return CustomToolStore((folder / chosen.directory.expanduser()).absolute(), max_per_user=chosen.max_per_user)


def create_agent_runtime(settings: Settings, folder: Path) -> "AgentRuntime | None":
    """Return the agents of the folder `Agents.Directory`; None without one, so that a process without agents pays
    nothing for them.
    """
    chosen = settings.agents
    if chosen.directory is None:
        return None
    from sophon.agents.catalog import AgentCatalog
    from sophon.agents.runtime import AgentRuntime

    return AgentRuntime(
        AgentCatalog((folder / chosen.directory.expanduser()).absolute()),
        max_concurrent=chosen.max_concurrent,
        max_per_turn=chosen.max_per_turn,
    )


def create_skill_catalog(settings: Settings, folder: Path) -> "SkillCatalog | None":
    """Return the catalogue of the folders in `Skills.Directories`; None if skills are off or none of them exists yet.

    So a process without skills pays nothing for them.
    """
    folders = list_skill_folders(settings, folder)
    if not settings.skills.enabled or not any(each.is_dir() for each in folders):
        return None
    from sophon.skills.catalog import SkillCatalog

    return SkillCatalog(folders)


def find_shield_problems(settings: Settings, folder: Path) -> list[str]:
    """Return a problem for a policy file or a classifier of Shield that cannot be used."""
    shield, problems = settings.guards.shield, list[str]()
    if shield.enabled and shield.policy_file is not None:
        _try_make(lambda: load_shield_policy(settings, folder), problems)
    if shield.enabled and (path := shield.classifier) is not None:
        from sophon.plugins.import_paths import import_user_object  # lazy, as above

        setting = "Guards.Shield.Classifier"
        classifier = _try_make(lambda: import_user_object(path, setting=setting, folder=folder), problems)
        if classifier is not None and not callable(classifier):
            problems.append(f"{setting}: {path!r} is not a function")
    return problems


def load_shield_policy(settings: Settings, folder: Path) -> "Policy":
    """Return the configured policy, or the one that Sophon ships. Raises SettingsError."""
    from sophon.security.policy import Policy, PolicyError  # lazy: it needs YAML and RE2

    name = settings.guards.shield.policy_file
    if name is None:
        return Policy.default()
    try:
        return Policy.load((folder / name).read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        problem = f"{name!r} cannot be read: {getattr(error, 'strerror', None) or error}"
    except PolicyError as error:
        problem = f"{name!r}: {error}"
    raise SettingsError([f"Guards.Shield.PolicyFile: {problem}"])


def create_router(services: Services) -> "Router":
    """Return a router by the settings of the services. Raises SettingsError for a booster that cannot be imported."""
    # Lazy: a turn that is routed by priority needs no router.
    from sophon.builtin_tools.arithmetic_evaluator import answer_arithmetic
    from sophon.routing.boosters import import_boosters
    from sophon.routing.router import Router

    settings = services.settings.routing
    boosters = import_boosters(settings.boosters, folder=services.folder)
    if settings.arithmetic:
        boosters.insert(0, answer_arithmetic)
    return Router(
        settings,
        clock=services.clock,
        embedder=services.embedder,
        policies=services.policies,
        boosters=boosters,
        folder=services.folder,
    )


def find_routing_problems(settings: Settings, providers: Sequence[Provider], folder: Path) -> list[str]:
    """Return a problem for each model of Routing that no provider has, and each booster that cannot be imported."""
    from sophon.routing.boosters import import_boosters  # lazy, as above
    from sophon.routing.named_models import find_unknown_models

    problems = find_unknown_models(settings.routing, providers)
    _try_make(lambda: import_boosters(settings.routing.boosters, folder=folder), problems)
    return problems


def _try_make(make: Callable[[], T], problems: list[str]) -> T | None:
    """Return `make()`; on SettingsError add its problems to `problems` and return None."""
    try:
        return make()
    except SettingsError as error:
        problems += error.problems
        return None


def _store(settings: Settings, environment: Mapping[str, str], folder: Path, clock: Clock) -> Store:
    url = settings.store.url.resolve(environment)
    if url is None:
        raise SettingsError([f"Store.Url: the {settings.store.url.source_description} is missing or empty"])
    return store_from_url(url, folder=folder, clock=clock)
