"""Settings of agents: definitions in files, to which messages go or which other turns run."""

from datetime import timedelta
from pathlib import Path

from sophon.settings.types.field_types import Duration, WholeNumber
from sophon.settings.types.section import Field, SettingsSection


class AgentsSettings(SettingsSection):
    """Agents and sub-agents."""

    directory: Path | None = Field(
        default=None, description="Folder with a file NAME.md for each agent; null: there are no agents."
    )
    channels: dict[str, str] = Field(
        default={},
        description="Agents that answer the messages of a channel (`telegram`) or of a chat (`telegram:chat:-100`).",
    )
    max_depth: WholeNumber = Field(
        default=2, ge=0, le=10, description="How deep sub-agents may run sub-agents; 0: a turn may run none."
    )
    max_concurrent: WholeNumber = Field(default=10, ge=1, description="Sub-agents that run at once in a process.")
    max_per_turn: WholeNumber = Field(default=3, ge=1, description="Sub-agents that run at once in a turn.")
    timeout: Duration = Field(
        default=timedelta(minutes=15),
        description="Time that a sub-agent may take, without that in which it waits for a person.",
    )
    max_rounds: WholeNumber = Field(default=20, ge=1, le=500, description="Rounds of tool calls of a sub-agent.")

    @property
    def enabled(self) -> bool:
        """Whether there is a folder of agents."""
        return self.directory is not None
