"""What a chain stands on: models, tools, store, approvals, listeners, clock, settings; every part has a default."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from sophon.approvals import ApprovalGate, RejectingGate
from sophon.clock import Clock, SystemClock
from sophon.context import Context
from sophon.errors import CompositionError, InputError, SettingsError
from sophon.events import EventSink, Silence
from sophon.instructions import INSTRUCTIONS
from sophon.messages import Message
from sophon.models.configured import configured_providers
from sophon.models.gateway import ModelGateway
from sophon.models.model import Model
from sophon.models.offline import OfflineModel
from sophon.models.provider import Provider
from sophon.places import Places
from sophon.plugins import installed_tools
from sophon.settings import Settings, load_settings
from sophon.state import dump_state, load_state
from sophon.stopwatch import Stopwatch
from sophon.stores.contracts import Store
from sophon.stores.memory import InMemoryStore
from sophon.stores.opening import store_from_url
from sophon.tools.builtin import builtin_tools
from sophon.tools.modules import tools_from_modules
from sophon.tools.registry import ToolRegistry, only_tools
from sophon.tools.tool import Tool
from sophon.turn_log import SessionLog, TurnLog

T = TypeVar("T")


class Services:
    """The collaborators of every turn, shared by all of them.

    `Services()` reads no file and no environment: the offline model, a store in memory, the built-in tools, and a gate
    that rejects because nobody can be asked. `tools` stand in front of the built-in ones; one with the name of a
    built-in tool replaces it. `models` is one model, several in priority order, or providers. `settings` is the dict
    below `Sophon`. `instructions` is the system prompt of every turn, none by default.

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
    ) -> None:
        self.settings = settings if isinstance(settings, Settings) else Settings.of(settings or {})
        self.clock: Clock = clock or SystemClock()
        self.gateway = ModelGateway(providers_of(models), clock=self.clock)
        self.registry = ToolRegistry(with_builtin(tools, self.settings))
        self.store: Store = store or InMemoryStore(clock=self.clock)
        self.approvals: ApprovalGate = approvals or RejectingGate()
        self.watched_by(events or Silence())
        self.turn_log: TurnLog = turn_log or SessionLog()
        self.instructions = instructions
        self.folder = folder or Path()
        """Relative paths in the settings are relative to it."""

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
        """What the command line and the host use, not open yet: real providers, store and tools, and a system prompt.

        `settings` are by default those of the files in `folder` (the working directory) and of `environment` (the
        process's own); secrets are looked up in it. `tools` stand before those of Tools.Modules, these before those of
        installed plug-ins; `store` replaces that of the settings. Raises SettingsError with all problems at once,
        CompositionError, StoreError.
        """
        variables = os.environ if environment is None else environment
        place, time = folder or Path(), clock or SystemClock()
        chosen = settings or load_settings(folder=place, environment=variables)
        problems: list[str] = []
        providers = _made(
            lambda: configured_providers(chosen, environment=variables, clock=time, folder=place), problems
        )
        modules = _made(lambda: tools_from_modules(chosen.tools.modules, folder=place), problems)
        plugins = _made(installed_tools, problems)
        opened = store or _made(lambda: _store(chosen, variables, place, time), problems)
        if problems:
            raise SettingsError(problems)
        return cls(
            models=providers,
            tools=[*tools, *(modules or ()), *(plugins or ())],
            store=opened,
            approvals=approvals,
            events=events,
            clock=time,
            settings=chosen,
            instructions=INSTRUCTIONS,
            folder=place,
        )

    def turn(
        self,
        text: str,
        *,
        session_id: str | None = None,
        stream: bool = False,
        model: str | None = None,
        planning: str | None = None,
        principal: str | None = None,
        channel: str = "local",
        run_id: str | None = None,
    ) -> Context:
        """One turn, ready for a pipeline; without `session_id` it begins a new session.

        A host that has accepted the message gives the `run_id` that it is known by.

        Raises InputError for an empty message or an unknown planning mode, NotFound for an unknown model.
        """
        if not text.strip():
            raise InputError("the message is empty: write something")
        if model is not None:
            self.gateway.find(model)
        messages = [Message("system", self.instructions)] if self.instructions else []
        messages.append(Message("user", text))
        return Context(
            services=self,
            watch=Stopwatch(self.clock),
            places=Places(self.settings.tools.max_parallel),
            run_id=run_id or self.clock.new_id(),
            session_id=session_id or self.clock.new_id(),
            text=text,
            principal=principal or "",
            channel=channel,
            stream=stream,
            model=model,
            planning=planning_mode(planning),
            started_at=self.clock.now(),
            observed=self.observed,
            messages=messages,
            tools=self.registry.tools,
        )

    def offer(self, tool: Tool) -> None:
        """Put a tool behind the others, for all turns that begin from now on; for whoever makes a host of these
        services, before that. Not one that is disabled, or in whose place there is one of the same name.
        """
        if tool.name not in self.registry and tool.name not in self.settings.tools.disabled:
            self.registry = ToolRegistry([*self.registry, tool])

    def watched_by(self, events: EventSink) -> None:
        """Have the events of all turns that begin from now on go there."""
        self.events = events
        self.observed = not isinstance(events, Silence)

    def dump(self, ctx: Context) -> dict[str, Any]:
        """A turn as plain data; `ctx.state()` is the usual way to it."""
        return dump_state(ctx)

    def restore(self, state: Mapping[str, Any]) -> Context:
        """A suspended turn, ready to go on, from what `ctx.state()` gave. Raises StateError."""
        return load_state(self, state)

    async def history(self, session_id: str) -> list[Message]:
        """The stored messages of a session; empty if there is none."""
        return (await self.store.sessions.history(session_id)).messages

    async def open(self) -> None:
        """Open the store."""
        await self.store.open()

    async def close(self) -> None:
        """Close models and store."""
        try:
            await self.gateway.aclose()
        finally:
            await self.store.close()

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()


PLANNING_MODES = ("Auto", "LlmDecides", "Always", "Never")
MEMORY_GROUP = "memory"
WHAT_IS_A_MODEL = "FunctionModel makes one of a function; names of models belong in the settings' Providers"


def planning_mode(text: str | None) -> str | None:
    """A planning mode in the settings' spelling, from any case; raises InputError."""
    if text is None:
        return None
    for mode in PLANNING_MODES:
        if mode.lower() == text.lower():
            return mode
    raise InputError(f"{text!r} is no planning mode; choose from {', '.join(PLANNING_MODES)}")


def providers_of(models: Model | Provider | Sequence[Model | Provider] | None) -> list[Provider]:
    """Providers in priority order; a bare model becomes a provider of its own.

    Raises CompositionError for what is no model, and for two with one id, which no budget could tell apart.
    """
    if models is None:
        models = [OfflineModel()]
    if isinstance(models, str):  # a sequence too, of letters
        raise CompositionError(f"{models!r} is no model: {WHAT_IS_A_MODEL}")
    given = models if isinstance(models, Sequence) else [models]
    taken: set[str] = set()
    providers: list[Provider] = []
    for position, model in enumerate(given, start=1):
        if not isinstance(model, Provider):
            if not hasattr(model, "info"):
                raise CompositionError(f"{model!r:.60} is no model: {WHAT_IS_A_MODEL}")
            name = model.info.provider
            model = Provider(name if name not in taken else f"{name}-{position}", [model], priority=position)
        if model.id in taken:
            raise CompositionError(f"two providers are called {model.id!r}: give each an id of its own")
        taken.add(model.id)
        providers.append(model)
    return providers


def with_builtin(tools: Sequence[Tool], settings: Settings) -> list[Tool]:
    """The user's tools, then the built-in ones that they do not replace, without the disabled ones; those of the
    memory only while it is enabled.
    """
    names = {tool.name for tool in only_tools(tools)}
    builtin = [tool for tool in builtin_tools() if settings.memory.enabled or tool.group != MEMORY_GROUP]
    every = [*tools, *(tool for tool in builtin if tool.name not in names)]
    return [tool for tool in every if tool.name not in settings.tools.disabled]


def _made(make: Callable[[], T], problems: list[str]) -> T | None:
    """What `make` gives; None, and a line more in `problems`, when the settings do not allow it."""
    try:
        return make()
    except SettingsError as error:
        problems += error.problems
        return None


def _store(settings: Settings, environment: Mapping[str, str], folder: Path, clock: Clock) -> Store:
    url = settings.store.url.resolve(environment)
    if url is None:
        raise SettingsError([f"Store.Url: the {settings.store.url.origin} is missing or empty"])
    return store_from_url(url, folder=folder, clock=clock)
