"""Settings section of the guard Sandbox."""

from pathlib import Path

from sophon.settings.types.field_types import Flag, WholeNumber
from sophon.settings.types.section import Field, SettingsSection


class SandboxSettings(SettingsSection):
    """Sandbox for commands: bubblewrap, on Linux. The limits hold for all processes of a command together."""

    enabled: Flag = Field(
        default=False,
        description="Whether commands run in a sandbox; where there is none, each of them asks a person.",
    )
    program: str = Field(default="bwrap", min_length=1, description="Name or path of bubblewrap.")
    memory_mb: WholeNumber = Field(
        default=512, ge=16, description="Memory of a command in MB, and as much again for files in its /tmp."
    )
    processes: WholeNumber = Field(default=64, ge=1, le=4096, description="Processes and threads of a command.")
    seconds: WholeNumber = Field(
        default=60, ge=1, description="Seconds until a command is stopped; the timeout of its tool holds too."
    )
    output_kb: WholeNumber = Field(
        default=10_240, ge=1, description="Output in KB after which a command is stopped, stdout and stderr together."
    )
    files_mb: WholeNumber = Field(
        default=1024,
        ge=1,
        description="Size in MB of a person's files folder, at which a command that writes to it is stopped.",
    )
    network: Flag = Field(
        default=False,
        description="Whether commands use the network of the host, its loopback and private networks included.",
    )
    readable: tuple[Path, ...] = Field(
        default=(),
        description="Further files and folders that commands may read, besides the system and their working folder.",
    )
    writable: tuple[Path, ...] = Field(
        default=(), description="Further folders that commands may write to; those of all users write to the same ones."
    )
