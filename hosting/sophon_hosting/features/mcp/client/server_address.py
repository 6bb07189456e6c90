"""Address of an MCP server: a command with its environment, or a URL with headers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass

Protocol: TypeAlias = Literal["auto", "legacy"]


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """How a server is reached: `command` with its environment, or `url` with headers; secrets are resolved.

    `protocol`: `legacy` opens each connection by the handshake of the versions before 2026, `auto` asks first.
    `asks`: the server may ask people.
    """

    command: tuple[str, ...] = ()
    environment: Mapping[str, str] | None = None
    folder: Path | None = None
    url: str = ""
    headers: Mapping[str, str] | None = None
    call_seconds: float = 60.0
    protocol: Protocol = "auto"
    asks: bool = False
