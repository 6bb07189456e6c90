"""Settings sections of the host process: queue, store, hub and logging."""

import ipaddress
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Literal

from sophon._python.lazy_pattern import lazy_pattern
from sophon.settings.types.field_types import (
    CaseInsensitive,
    CidrNetwork,
    Duration,
    FiniteNumber,
    Flag,
    WholeNumber,
    prefer_spelling,
)
from sophon.settings.types.secret_references import Secret, SecretUrl
from sophon.settings.types.section import Field, SettingsSection
from sophon.settings.user_ids import find_id_problem

_ORIGIN = lazy_pattern(r"https?://[^/?#@\s]+/?", re.IGNORECASE)


QUEUE_BACKENDS = ("Memory", "Redis", "RabbitMq", "Postgres")
"""The queues that are part of Sophon."""

MIN_LEASE = timedelta(seconds=1)
"""Shorter ones would end while a worker is only slow."""


class QueueSettings(SettingsSection):
    """Task queue."""

    backend: Annotated[str, prefer_spelling(*QUEUE_BACKENDS)] = Field(
        default="Memory",
        description="Where tasks wait: `Memory` (one process), `Redis`, `RabbitMq`, `Postgres`, or the name of an "
        "installed entry point `sophon.queues`.",
    )
    capacity: WholeNumber = Field(
        default=100,
        ge=1,
        description="Maximum number of waiting tasks; beyond it a message is rejected with `queue_full`.",
    )
    owner_share: FiniteNumber = Field(
        default=0.75,
        gt=0,
        le=1,
        description="Part of Capacity that one user may fill while nobody else waits; with others waiting, less. With "
        "one user and no channel, all of it.",
    )
    url: SecretUrl | None = Field(
        default=None,
        description="URL of the queue's server: `redis://`, `rediss://`, `unix://`, `amqp://`, `amqps://` or "
        "`postgresql://`; for Postgres `Store.Url` by default.",
    )
    name: str = Field(
        default="sophon",
        pattern=r"^[a-z][a-z0-9_]{0,31}$",
        description="First part of the names of all keys, queues, exchanges and tables on that server; hosts with the "
        "same name and server share the queue. Lower-case letters, digits and `_`.",
    )
    lease: Duration = Field(
        default=timedelta(seconds=30),
        description="Time after which a task of a worker that no longer answers is given to another one; a worker "
        "renews it three times as often.",
    )
    max_deliveries: WholeNumber = Field(
        default=5, ge=1, description="Starts of a task without an outcome, after which it is given up."
    )

    def find_conflicts(self) -> Iterator[tuple[str, str]]:
        """Yield a conflict for a backend without its URL, and for a URL of none."""
        if self.backend in ("Redis", "RabbitMq") and self.url is None:
            yield "Url", f"the backend {self.backend} needs the URL of its server"
        if self.backend == "Memory" and self.url is not None:
            yield "Url", "a queue in memory has no URL; remove it, or set Backend"
        if self.lease < MIN_LEASE:
            yield "Lease", f"a lease must be at least {MIN_LEASE.total_seconds():.0f} s"


class StoreSettings(SettingsSection):
    """Database for all durable data."""

    url: SecretUrl = Field(
        default=SecretUrl("sqlite:///data/sophon.db"), description="URL of the database: SQLite or PostgreSQL."
    )


class RetentionSettings(SettingsSection):
    """How long stored data is kept, in days; null: for ever. Sessions are deleted as a whole, never single messages."""

    sessions: WholeNumber | None = Field(
        default=None,
        ge=1,
        description="Days without anything new after which a session is deleted with all that belongs to it, unless a "
        "task, a schedule or a goal of it has not ended.",
    )
    events: WholeNumber | None = Field(
        default=None, ge=1, description="Days that events are kept for a replay, the newest 5,000 of a session at most."
    )
    runs: WholeNumber | None = Field(
        default=None, ge=30, description="Days that finished tasks are kept; at least 30, because platforms repeat."
    )
    usage: WholeNumber | None = Field(
        default=None,
        ge=1,
        description="Days that usage is kept for reports; budgets do not need it.",
    )
    audit: WholeNumber | None = Field(default=30, ge=1, description="Days that the audit log is kept.")
    traces: WholeNumber | None = Field(
        default=30, ge=1, description="Days that traces of turns are kept, and with them the turns per day of reports."
    )


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


class HubSettings(SettingsSection):
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
        if "*" in self.allowed_origins and not _is_loopback(self.host):
            yield "AllowedOrigins", f"'*' allows every web page, and {self.host!r} is not a loopback address"
        if "*" in self.allowed_origins and not self.users:
            yield "AllowedOrigins", "'*' allows every web page, and without Hub.Users each would act as the local user"
        for origin in self.allowed_origins:
            if origin != "*" and not _ORIGIN.fullmatch(origin):
                yield (
                    "AllowedOrigins",
                    f"{origin!r} is not an origin; write it as https://chat.example or https://chat.example:8443",
                )
        if not self.users and not _is_loopback(self.host):
            yield (
                "Host",
                f"{self.host!r} is not a loopback address and needs Hub.Users; add a user first",
            )


class LoggingSettings(SettingsSection):
    """Logging of the host to standard error."""

    level: Annotated[Literal["Debug", "Info", "Warning", "Error"], CaseInsensitive()] = Field(
        default="Info", description="Minimum level that is logged."
    )
    format: Annotated[Literal["Auto", "Json", "Text"], CaseInsensitive()] = Field(
        default="Auto", description="One JSON object per line, or text; Auto is text on a terminal and JSON elsewhere."
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"
