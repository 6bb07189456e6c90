"""The interface of the services that a context depends on; `sophon.services.Services` implements it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import sophon.messages
    from sophon.approvals import ApprovalGate
    from sophon.assistant_services import Assistant
    from sophon.clock import Clock
    from sophon.context.state import TurnState
    from sophon.context.turn_log import TurnLog
    from sophon.events.base import EventSink
    from sophon.learning_services import LearningServices
    from sophon.models.gateway.failover_gateway import ModelGateway
    from sophon.security_services import SecurityServices
    from sophon.settings import Settings
    from sophon.stores.contract import Store
    from sophon.stores.memories.long_term_memory import LongTermMemory
    from sophon.stores.memories.workspace_search import WorkspaceSearch
    from sophon.tools.registry import Toolbox, ToolRegistry


class TurnServices(Protocol):
    """Collaborators shared by all turns: what middlewares and tools reach through `ctx.services`."""

    @property
    def settings(self) -> "Settings":
        """The validated settings."""
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
    def security(self) -> "SecurityServices":
        """Credentials, policies and rate limits."""
        ...

    @property
    def learning(self) -> "LearningServices":
        """Embedder, routing decisions and router."""
        ...

    @property
    def assistant(self) -> "Assistant":
        """Instructions, skills, agents and custom tools."""
        ...

    @property
    def folder(self) -> Path:
        """Base directory of relative paths in the settings."""
        ...

    @property
    def expected_stages(self) -> dict[str, tuple[str, ...]]:
        """Settings of a program, by path, each with the middlewares of which one follows it."""
        ...

    # The module is named because events have a class `Message`, too: the API reference could not tell them apart.
    async def show_attachments(
        self, turn: "TurnState", messages: "Sequence[sophon.messages.Message]"
    ) -> "list[sophon.messages.Message]":
        """Return the messages with the contents of their attachments, which the turn keeps for its later rounds."""
        ...
