"""Settings of the web server: address, users, and what it lets in."""

import ipaddress
import re
from collections.abc import Iterator
from typing import Annotated, Literal

from sophon._python.lazy_pattern import lazy_pattern
from sophon.settings.root import RootSection
from sophon.settings.types.field_types import (
    CaseInsensitive,
    CidrNetwork,
    Flag,
    WholeNumber,
)
from sophon.settings.types.secret_references import Secret, SecretUrl
from sophon.settings.types.section import Field, SettingsSection
from sophon_hosting.settings.user_ids import find_id_problem

_ORIGIN = lazy_pattern(r"https?://[^/?#@\s]+/?", re.IGNORECASE)


class HubUserSettings(SettingsSection):
    """A user who may access the host over the network."""

    id: str = Field(min_length=1, description="Id of the user, the owner of the user's sessions.")
    token: Secret = Field(description="Bearer token of the user.")
    operator: Flag = Field(
        default=False, description="Whether the user may watch all sessions and decide their approvals."
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield why the id cannot be one."""
        if problem := find_id_problem(self.id):
            yield "Id", problem


class HubIssuerSettings(SettingsSection):
    """An issuer of JSON Web Tokens that are accepted as log-ins of the users."""

    issuer: str = Field(min_length=1, description="Claim `iss` of its tokens.")
    audience: str = Field(min_length=1, description="Claim `aud` of tokens for this host.")
    algorithm: Annotated[Literal["RS256", "PS256", "ES256", "EdDSA", "HS256"], CaseInsensitive()] = Field(
        description="The only algorithm that is accepted, whatever a token names."
    )
    key: Secret = Field(description="Public key in PEM; for HS256 the shared secret, of at least 32 bytes.")


class HubSettings(RootSection, key="Hub", description="Web server: chat page, HTTP API and Socket.IO."):
    """Web server: chat page, HTTP API and Socket.IO."""

    host: str = Field(default="127.0.0.1", min_length=1, description="Address to listen on.")
    port: WholeNumber = Field(default=8080, ge=0, le=65535, description="Port to listen on; 0 selects a free port.")
    allowed_origins: tuple[str, ...] = Field(default=(), description="Web origins besides its own that may connect.")
    allowed_hosts: tuple[str, ...] = Field(
        default=(), description="Accepted Host names besides its address, localhost and the hosts of AllowedOrigins."
    )
    max_connections: WholeNumber = Field(
        default=1000,
        ge=8,
        description="Maximum number of open connections, and at most three quarters of the limit of open files.",
    )
    trusted_proxies: tuple[CidrNetwork, ...] = Field(
        default=(),
        description="Reverse proxies whose X-Forwarded-For is believed; their clients share their address otherwise.",
    )
    open_ai_api: Flag = Field(
        default=False,
        description="Whether the OpenAI-compatible endpoints `/v1/chat/completions` and `/v1/models` are enabled.",
    )
    fanout_url: SecretUrl | None = Field(
        default=None,
        description="URL of the Redis or PostgreSQL over which several hosts tell each other of events; by default the "
        "Redis of Queue, else the store. Not used with a queue in memory.",
    )
    users: tuple[HubUserSettings, ...] = Field(
        default=(),
        description="Users of the host; without any there is one local user, and Host must be a loopback address.",
    )

    issuers: tuple[HubIssuerSettings, ...] = Field(
        default=(),
        description="Issuers of JSON Web Tokens; the claim `sub` names the user in Users, others are refused.",
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield conflicts of a host that is open to other machines or web pages without users."""
        if self.issuers and not self.users:
            yield "Issuers", "a token names a user of Hub.Users, and there are none; add the users"
        if "*" in self.allowed_origins and not is_loopback(self.host):
            yield "AllowedOrigins", f"'*' allows every web page, and {self.host!r} is not a loopback address"
        if "*" in self.allowed_origins and not self.users:
            yield "AllowedOrigins", "'*' allows every web page, and without Hub.Users each would act as the local user"
        for origin in self.allowed_origins:
            if origin != "*" and not _ORIGIN.fullmatch(origin):
                yield (
                    "AllowedOrigins",
                    f"{origin!r} is not an origin; write it as https://chat.example or https://chat.example:8443",
                )
        if not self.users and not is_loopback(self.host):
            yield (
                "Host",
                f"{self.host!r} is not a loopback address and needs Hub.Users; add a user first",
            )

    def has_several_users(self) -> bool:
        """Return whether there are two users."""
        return len(self.users) > 1


def is_loopback(host: str) -> bool:
    """Return whether a host of a URL is this machine."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"
