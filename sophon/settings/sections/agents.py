"""Settings of agents: definitions in files, to which messages go or which other turns run."""

from datetime import timedelta
from pathlib import Path

from sophon.settings.types.field_types import Duration, Flag, WholeNumber
from sophon.settings.types.section import Field, SettingsSection


class AgentsSettings(SettingsSection):
    """Agents and sub-agents."""

    directory: Path | None = Field(
        default=None, description="Folder with a file NAME.md for each agent; null: there are no agents."
    )
    worker: Flag = Field(
        default=False,
        description="Whether there is an agent `worker` beside those of the folder, to which a turn can give any task.",
    )
    channels: dict[str, str] = Field(
        default={},
        description="Agents that answer the messages of a channel (`telegram`) or of a chat (`telegram:chat:-100`).",
    )
    max_depth: WholeNumber = Field(
        default=2, ge=0, le=10, description="How deep sub-agents may run sub-agents; 0: a turn may run none."
    )
    timeout: Duration = Field(
        default=timedelta(minutes=15),
        description="Time that a sub-agent may take, without that in which it waits for a person.",
    )

    @property
    def enabled(self) -> bool:
        """Whether there may be agents."""
        return self.directory is not None or self.worker
