"""The interface of the services that a context depends on; `sophon.services.Services` implements it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import sophon.messages
    from sophon.agents.runtime import AgentRuntime
    from sophon.approvals import ApprovalGate
    from sophon.clock import Clock
    from sophon.context.state import TurnState
    from sophon.context.turn_log import TurnLog
    from sophon.events.base import EventSink
    from sophon.learning.contract import Embedder, PolicyCache
    from sophon.models.gateway.gateway import ModelGateway
    from sophon.operator_policy import OperatorPolicy
    from sophon.routing.router import Router
    from sophon.security.policy import Policy
    from sophon.security.sliding_windows import SlidingWindows
    from sophon.settings import Settings
    from sophon.skills.catalog import SkillCatalog
    from sophon.skills.custom_tools import CustomToolStore
    from sophon.stores.contract import Store
    from sophon.stores.memories.library import LongTermMemory
    from sophon.stores.memories.workspace_search import WorkspaceSearch
    from sophon.tools.registry import Toolbox, ToolRegistry
    from sophon.vault import CredentialVault


class TurnServices(Protocol):
    """Collaborators shared by all turns: what middlewares and tools reach through `ctx.services`."""

    @property
    def settings(self) -> "Settings":
        """The validated settings."""
        ...

    @property
    def vault(self) -> "CredentialVault":
        """The credentials that the HTTP tools attach."""
        ...

    @property
    def clock(self) -> "Clock":
        """Source of time, ids, timeouts and threads."""
        ...

    @property
    def gateway(self) -> "ModelGateway":
        """Entry point for model calls."""
        ...

    @property
    def registry(self) -> "ToolRegistry":
        """All enabled tools."""
        ...

    @property
    def toolbox(self) -> "Toolbox":
        """Where tools are added and replaced while turns run."""
        ...

    @property
    def custom_tools(self) -> "CustomToolStore | None":
        """The tools that users have made; None where that is off."""
        ...

    @property
    def skills(self) -> "SkillCatalog | None":
        """The installed skills; None where there are none."""
        ...

    @property
    def agents(self) -> "AgentRuntime | None":
        """The agents that are defined in files; None where there are none."""
        ...

    @property
    def instructions(self) -> str | None:
        """The system prompt with which the messages of a turn begin, if any."""
        ...

    @property
    def store(self) -> "Store":
        """The repositories."""
        ...

    @property
    def memory(self) -> "LongTermMemory":
        """The long-term memory, over `store`."""
        ...

    def workspace(self, folder: Path) -> "WorkspaceSearch":
        """Return the search in the workspace files below a folder."""
        ...

    @property
    def approvals(self) -> "ApprovalGate":
        """Asks a person for a decision."""
        ...

    @property
    def operator_policy(self) -> "OperatorPolicy":
        """Which calls only an operator may approve."""
        ...

    @property
    def rate_windows(self) -> "SlidingWindows":
        """How often tools were used and messages sent lately."""
        ...

    @property
    def events(self) -> "EventSink":
        """Receives the events of every turn."""
        ...

    @property
    def has_listeners(self) -> bool:
        """Whether `events` has a listener; events in hot paths are not created without one."""
        ...

    @property
    def turn_log(self) -> "TurnLog":
        """Writes the end of each turn."""
        ...

    @property
    def folder(self) -> Path:
        """Base directory of relative paths in the settings."""
        ...

    @property
    def policy(self) -> "Policy":
        """The policy of the guard Shield. Raises SettingsError if its file cannot be read."""
        ...

    @property
    def expected_stages(self) -> dict[str, tuple[str, ...]]:
        """Settings of a program, by path, each with the middlewares of which one follows it."""
        ...

    @property
    def learns(self) -> bool:
        """Whether turns leave trajectories and routing decisions; False off the record."""
        ...

    @property
    def embedder(self) -> "Embedder | None":
        """Turns texts into vectors; None if there is none."""
        ...

    @property
    def policies(self) -> "PolicyCache | None":
        """Routing decisions of earlier messages; None if there are none."""
        ...

    @property
    def router(self) -> "Router":
        """Decides which models a turn asks. Raises SettingsError if a booster of the settings cannot be imported."""
        ...

    # The module is named because events have a class `Message`, too: the API reference could not tell them apart.
    async def show_attachments(
        self, turn: "TurnState", messages: "Sequence[sophon.messages.Message]"
    ) -> "list[sophon.messages.Message]":
        """Return the messages with the contents of their attachments, which the turn keeps for its later rounds."""
        ...
