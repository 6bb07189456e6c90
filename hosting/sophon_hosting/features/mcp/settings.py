"""Settings of MCP servers: programs and web services whose tools a model may call."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from sophon.settings.root import RootSection
from sophon.settings.types.field_types import CaseInsensitive, Duration, Flag, WebUrl
from sophon.settings.types.secret_references import Secret
from sophon.settings.types.section import Field, SettingsSection


class McpServerSettings(SettingsSection):
    """One MCP server: a program that the host starts, or a URL."""

    id: str = Field(
        pattern=r"^[a-z0-9_-]{1,32}$",
        description="Id of your choice; its tools are called `id.tool`, in the group `mcp:id`.",
    )
    enabled: Flag = Field(default=True, description="Whether the server is started.")
    command: str | None = Field(default=None, min_length=1, description="Program of a server over stdio.")
    args: tuple[str, ...] = Field(default=(), description="Arguments of the program; shown, so no place for secrets.")
    env: dict[str, Secret] = Field(
        default={}, description="Environment variables of the program, beside PATH, HOME and others without secrets."
    )
    url: WebUrl | None = Field(default=None, description="URL of a server over streamable HTTP.")
    headers: dict[str, Secret] = Field(default={}, description="Headers of each request to Url, as Authorization.")
    read_only: tuple[str, ...] = Field(
        default=(),
        description="Tools of which you know that they only read, by their names at the server, with `*`. A tool "
        "that is neither listed here nor marked as read-only by its server is of high risk.",
    )
    timeout: Duration = Field(
        default=timedelta(seconds=60),
        description="Time of one call of a tool, without the time in which people are asked.",
    )
    protocol: Annotated[Literal["Auto", "Legacy"], CaseInsensitive()] = Field(
        default="Auto",
        description="How a connection is opened. Auto: the server is asked for the protocol of 2026 first. Legacy: by "
        "the handshake of the versions before, for servers that cannot stand the question.",
    )
    sandbox: Annotated[Literal["Off", "Offline", "Network"], CaseInsensitive()] = Field(
        default="Off",
        description="Sandbox of the program: none, one without a network, or one with the network of the host. It sees "
        "the system, a folder of its own, and what Readable and Writable list.",
    )
    readable: tuple[Path, ...] = Field(default=(), description="Files and folders that a sandboxed program may read.")
    writable: tuple[Path, ...] = Field(default=(), description="Folders that a sandboxed program may change.")

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield a conflict unless there is either a program or a URL, each only with its own settings."""
        if (self.command is None) is (self.url is None):
            yield "Command", "exactly one of Command and Url is required"
            return
        folders = {"Readable": self.readable, "Writable": self.writable}
        foreign = {"Headers": self.headers} if self.url is None else {"Args": self.args, "Env": self.env, **folders}
        for key, value in foreign.items():
            if value:
                yield key, f"only allowed with {'Url' if key == 'Headers' else 'Command'}"
        if self.url is not None and self.sandbox != "Off":
            yield "Sandbox", "only allowed with Command"
        if self.url is None and self.sandbox == "Off":
            for key, value in folders.items():
                if value:
                    yield key, "only allowed with Sandbox"


class McpSettings(RootSection, key="Mcp", description="Servers of the Model Context Protocol, which offer tools."):
    """Servers of the Model Context Protocol whose tools are offered."""

    servers: tuple[McpServerSettings, ...] = Field(default=(), description="MCP servers; needs the extra `mcp`.")

    def list_tool_prefixes(self) -> Iterator[tuple[str, str]]:
        """Yield the Id of each server: the names of its tools begin with it."""
        for index, server in enumerate(self.servers):
            yield f"Servers[{index}].Id", server.id
