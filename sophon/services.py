"""The services of a chain: models, tools, store, approvals, event listeners, clock, settings; each has a default."""

import os
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sophon.approvals import ApprovalGate, RejectingGate
from sophon.assistant_services import Assistant
from sophon.clock import Clock, Stopwatch, SystemClock
from sophon.composition.configured_secrets import collect_secrets
from sophon.composition.part_factories import (
    add_builtin_tools,
    configure_providers,
    create_agent_runtime,
    create_custom_tool_store,
    create_router,
    load_shield_policy,
    to_providers,
)
from sophon.composition.service_arguments import check_service_arguments
from sophon.composition.service_parts import ServiceParts, add_configured_parts
from sophon.context import Context, TurnState
from sophon.context.message_list import MessageList
from sophon.context.tool_limiter import ToolLimiter
from sophon.context.turn_log import TurnLog
from sophon.events import EventSink, NullEventSink
from sophon.learning.embedding_cache import CachingEmbedder
from sophon.learning_services import LearningServices
from sophon.messages import Message
from sophon.models.gateway.failover_gateway import ModelGateway
from sophon.models.gateway.options import GatewayOptions
from sophon.models.gateway.provider import Provider
from sophon.models.model import Model
from sophon.principals import LOCAL_USER, data_owner_of_turn
from sophon.security.sliding_windows import SlidingWindows
from sophon.security_services import SecurityServices
from sophon.settings import Settings
from sophon.stores.contract import Store
from sophon.stores.factory import StoreFactory, store_from_url
from sophon.stores.in_memory_store import InMemoryStore
from sophon.tools.registry import Toolbox, ToolRegistry
from sophon.tools.tool import Tool
from sophon.turn import option_checks
from sophon.turn.provenance import list_message_sources, note_untrusted_source
from sophon.turn.session_log import SessionLog
from sophon.turn.system_prompt import DEFAULT_INSTRUCTIONS
from sophon.vault import CredentialVault

if TYPE_CHECKING:
    from sophon.attachments import Attachment
    from sophon.images import Image
    from sophon.learning.contract import Embedder, PolicyCache
    from sophon.security.policy import Policy
    from sophon.skills.catalog import SkillCatalog
    from sophon.stores.memories.long_term_memory import LongTermMemory
    from sophon.stores.memories.similarity_search import MemoryVectorCache
    from sophon.stores.memories.workspace_search import WorkspaceSearch


class Services:
    """The collaborators shared by all turns; implements `sophon.context.TurnServices`.

    `Services()` reads no file and no environment: it uses the offline model, an in-memory store, the built-in tools,
    and a gate that rejects every approval. `tools` precede the built-in ones; a tool with the name of a built-in tool
    replaces it. `models` is one model, several in priority order, or providers. `settings` is the dict below `Sophon`;
    what it says about models, store, tools, skills, embedder and credentials is created, unless it is passed, and
    never with the environment (`from_settings` uses it). `instructions` is the system prompt of every turn, none by
    default. `policy` is that of Shield, by default the one of `Guards.Shield.PolicyFile`. `embedder` and `policies` are
    created if a strategy of `Routing` uses earlier decisions. `skills` are folders with instructions and tools, none by
    default.

    Raises SettingsError, CompositionError for an argument of the wrong kind.
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
        parts = ServiceParts(
            tools=tools,
            store=store,
            approvals=approvals,
            events=events,
            instructions=instructions,
            turn_log=turn_log,
            policy=policy,
            vault=vault,
            skills=skills,
            embedder=embedder,
            policies=policies,
        )
        check_service_arguments(parts, models=models, clock=clock, settings=settings)
        chosen = settings if isinstance(settings, Settings) else Settings.from_mapping(settings or {})
        time, place = clock or SystemClock(), Path(folder or "")
        parts.providers = None if models is None else to_providers(models)
        if settings:
            add_configured_parts(parts, chosen, place, time)
        expected: dict[str, tuple[str, ...]] = {}
        if settings:
            from sophon.composition.expected_stages import find_expected_stages  # lazy: most programs have no settings

            expected = find_expected_stages(chosen)
        self._assemble(parts, chosen, place, time, expected)

    def _assemble(
        self,
        parts: ServiceParts,
        settings: Settings,
        folder: Path,
        clock: Clock,
        expected_stages: dict[str, tuple[str, ...]] | None = None,
    ) -> None:
        self.settings = settings
        self.folder = folder
        """Base directory of relative paths in the settings."""
        self.clock: Clock = clock
        providers = to_providers(None) if parts.providers is None else parts.providers
        configure_providers(providers, settings)
        limits = GatewayOptions(
            max_retries=settings.failover.max_retries, max_reply_bytes=settings.agent_execution.max_reply_bytes
        )
        self.gateway = ModelGateway(providers, clock=clock, options=limits)
        self.toolbox = Toolbox(ToolRegistry(add_builtin_tools(parts.tools, settings)))
        self.store: Store = parts.store or InMemoryStore(clock=clock)
        self.approvals: ApprovalGate = parts.approvals or RejectingGate()
        self.events = parts.events or NullEventSink()
        self.turn_log: TurnLog = parts.turn_log or SessionLog(self.store)
        policy = parts.policy
        self.security = SecurityServices(
            vault=parts.vault or CredentialVault(settings.vault, {}),
            rate_windows=SlidingWindows(),
            load_policy=cache(lambda: load_shield_policy(settings, folder)) if policy is None else lambda: policy,
        )
        self.learning = LearningServices(
            parts.embedder, parts.policies, partial(create_router, settings.routing, clock, folder)
        )
        self.assistant = Assistant(
            parts.instructions,
            parts.skills,
            create_agent_runtime(settings, folder),
            create_custom_tool_store(settings, folder),
        )
        self.expected_stages = expected_stages or {}
        """Settings of a program, by path, each with the middlewares of which one follows it; none of a host."""
        # The copies of the services share them: a host has one for each turn.
        self._memory_vectors: list[MemoryVectorCache] = []
        self._workspaces: dict[Path, WorkspaceSearch] = {}

    @property
    def has_listeners(self) -> bool:
        """Whether `events` has a listener; events in hot paths are not created without one."""
        return not isinstance(self.events, NullEventSink)

    @property
    def registry(self) -> ToolRegistry:
        """All enabled tools of this moment."""
        return self.toolbox.registry

    @property
    def memory(self) -> "LongTermMemory":
        """The long-term memory, over the store of these services."""
        from sophon.stores.memories.long_term_memory import (  # lazy: most turns do not use it
            LongTermMemory,
            choose_embedder,
        )
        from sophon.stores.memories.similarity_search import MemoryVectorCache

        if not self._memory_vectors:
            self._memory_vectors.append(MemoryVectorCache(self.clock))
        embedder = choose_embedder(self.settings.memory.embedder, self.learning.embedder)
        return LongTermMemory(self.store, self.clock, embedder, self._memory_vectors[0])

    def workspace(self, folder: Path) -> "WorkspaceSearch":
        """Return the search in the workspace files below a folder, the same for each call."""
        from sophon.stores.memories.long_term_memory import choose_embedder  # lazy, as above
        from sophon.stores.memories.workspace_search import WorkspaceSearch

        if folder not in self._workspaces:
            embedder = choose_embedder(self.settings.memory.embedder, self.learning.embedder)
            self._workspaces[folder] = WorkspaceSearch(folder, self.clock, embedder)
        return self._workspaces[folder]

    @classmethod
    def from_settings(
        cls,
        settings: Settings | Mapping[str, Any] | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        events: EventSink | None = None,
        approvals: ApprovalGate | None = None,
        tools: Sequence[Tool] = (),
        clock: Clock | None = None,
        store: Store | None = None,
        make_store: StoreFactory = store_from_url,
    ) -> Self:
        """Create the services of the command line and the host: real providers, store and tools, a system prompt.

        The store is not open yet. `settings` default to those of the files in `folder` (by default the working
        directory) and of `environment` (by default the process's own), in which secrets are looked up too. `tools`
        precede those of Tools.Modules, and these precede those of installed plug-ins; `store` replaces the configured
        one, which `make_store` makes. Raises SettingsError with all problems at once, CompositionError, StoreError.
        """
        from sophon.settings import load_settings  # lazy: a program reads no files

        parts = ServiceParts(
            tools=tools,
            store=store,
            approvals=approvals,
            events=events,
            instructions=DEFAULT_INSTRUCTIONS,
            make_store=make_store,
        )
        check_service_arguments(parts, settings=settings, clock=clock)
        variables = os.environ if environment is None else environment
        place, time = Path(folder or ""), clock or SystemClock()
        if isinstance(settings, Mapping):
            settings = Settings.from_mapping(settings)
        chosen = settings or load_settings(folder=place, environment=variables)
        collect_secrets(chosen, variables)  # before anything can fail with one in its message
        add_configured_parts(parts, chosen, place, time, variables)
        services = cls.__new__(cls)
        services._assemble(parts, chosen, place, time)
        return services

    @classmethod
    def for_inspection(cls, settings: Settings, *, folder: Path, tools: Sequence[Tool] = ()) -> Self:
        """Create services that show chains, tools and rules of settings: offline model, in-memory store, no secrets."""
        services = cls.__new__(cls)
        services._assemble(ServiceParts(tools=tools, vault=CredentialVault({}, {})), settings, folder, SystemClock())
        return services

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
        tags: Sequence[str] = (),
        principal: str | None = None,
        group: bool = False,
        data_owner: str | None = None,
        channel: str = "local",
        run_id: str | None = None,
    ) -> Context:
        """Create a turn, ready for `Pipeline.run`; without `session_id` it starts a new session.

        A turn of a `group` never uses the memory and the files of `principal`, but those of `data_owner`, by default
        the session's. `images` belong to the message: see `sophon.images`. So do `attachments`, files of the session
        that the store has. `max_iterations` is the turn's ceiling of rounds of tool calls, instead of the chain's;
        `temperature` is that of the replies, from 0 to 2. `tags` are for routing (`AGENT_BOOSTER_AVAILABLE`). A host
        passes the `run_id` under which it accepted the message.

        Raises InputError for an empty message, more images than `MAX_IMAGES`, an unknown planning mode, a ceiling above
        the hard limit or a temperature out of its range, NotFound for an unknown model.
        """
        option_checks.check_turn_arguments(
            text,
            images,
            attachments,
            {"stream": stream, "group": group},
            session_id=session_id,
            model=model,
            principal=principal,
            data_owner=data_owner,
            channel=channel,
            run_id=run_id,
        )
        if model is not None:
            self.gateway.find(model)
        user = Message("user", text, images=tuple(images), attachments=tuple(attachments))
        instructions = self.assistant.instructions
        messages = MessageList((Message("system", instructions), user) if instructions else (user,))
        session_id = session_id or self.clock.new_id()
        if data_owner is None:
            data_owner = data_owner_of_turn(principal or "", session_id, group=group)
        limit = None if max_iterations is None else option_checks.check_max_iterations(max_iterations, self.settings)
        ctx = Context(
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
            planning=None if planning is None else option_checks.parse_planning_mode(planning),
            max_iterations=limit,
            temperature=None if temperature is None else option_checks.check_temperature(temperature),
            started_at=self.clock.now(),
            has_listeners=self.has_listeners,
            messages=messages,
            tools=self.toolbox.registry.tools,
        )
        if tags:
            from sophon.routing.message_tags import MESSAGE_TAGS  # lazy: few messages have tags

            ctx.put(MESSAGE_TAGS, option_checks.check_tags(tags))
        for source in list_message_sources(user) if images or attachments else ():
            note_untrusted_source(ctx, source)
        return ctx

    async def explain_route(self, text: str, *, principal: str = LOCAL_USER) -> str:
        """Return what routing would choose for a message of a principal and why; nothing is asked and nothing changes.

        A principal without an entry of their own counts as an operator if the host says so.
        """
        from sophon.routing.route_explanation import explain_route  # lazy, as for the router

        return await explain_route(
            text,
            principal,
            settings=self.settings,
            router=self.learning.router,
            is_operator=self.security.operator_policy.is_operator(principal),
            boosters=[tool.answer for tool in self.registry.tools if tool.answer is not None],
            candidates=self.gateway.candidates(),
            store=self.store,
        )

    def register_tool(self, tool: Tool) -> None:
        """Register a tool after the others, for turns that start later; a host calls this before it starts.

        A disabled tool, and one whose name is already registered, is ignored.
        """
        if tool.name not in self.settings.tools.disabled:
            self.toolbox.add(tool)

    def use_settings(self, settings: Settings) -> None:
        """Use other settings for the turns that start from now on."""
        self.settings = settings

    def with_parts(
        self,
        *,
        settings: Settings | None = None,
        store: Store | None = None,
        toolbox: Toolbox | None = None,
        approvals: ApprovalGate | None = None,
        events: EventSink | None = None,
        turn_log: TurnLog | None = None,
        security: SecurityServices | None = None,
        learning: LearningServices | None = None,
        assistant: Assistant | None = None,
    ) -> Self:
        """Return services with other parts; those that are not named are shared, with their state."""
        given, view = locals(), copy(self)
        for name, part in given.items():
            if part is not None and part is not self:
                setattr(view, name, part)
        return view

    def copy_for_replay(self, store: Store, toolbox: Toolbox, approvals: ApprovalGate) -> Self:
        """Return services whose turns leave nothing behind in these: another store, other tools, nobody who listens,
        learns or counts messages, and caches of their own.

        The models are shared, with their keys, cool-downs and circuit breakers.
        """
        view = self.with_parts(
            store=store,
            toolbox=toolbox,
            approvals=approvals,
            events=NullEventSink(),
            turn_log=SessionLog(store),
            security=replace(self.security, rate_windows=SlidingWindows()),
            learning=replace(self.learning, is_enabled=False, routers=[]),
        )
        view._memory_vectors, view._workspaces = [], {}
        return view

    def restore(self, state: Mapping[str, Any]) -> Context:
        """Restore a suspended turn from what `ctx.state()` returned, ready for `Pipeline.run`. Raises StateError."""
        return Context.from_state(self, state)

    async def show_attachments(self, turn: TurnState, messages: Sequence[Message]) -> list[Message]:
        """See `TurnServices.show_attachments`."""
        from sophon.turn.attached_files import show_attachments_of_turn  # lazy: few have files

        return await show_attachments_of_turn(turn, messages, self.store)

    async def history(self, session_id: str) -> list[Message]:
        """Return the stored messages of a session; empty for an unknown session."""
        return (await self.store.sessions.load_history(session_id)).messages

    async def open(self) -> None:
        """Open the store, and register the custom tools: a client may call one before any turn has looked."""
        await self.store.open()
        if (custom := self.assistant.custom_tools) is not None:
            from sophon.builtin_tools.custom_tool_management import refresh_custom_tools  # lazy: off by default

            disabled = self.settings.tools.disabled
            await self.clock.run_in_thread(lambda: refresh_custom_tools(self.toolbox, custom, disabled))

    async def close(self) -> None:
        """Close models and store."""
        try:
            await self.gateway.aclose()
            if isinstance(self.learning.embedder, CachingEmbedder):
                await self.learning.embedder.aclose()
        finally:
            await self.store.close()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()
