"""Catalog of dangerous settings: stable ids with their severity and meaning, for programs that read the findings."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from sophon._python.lazy_dataclass import dataclass
from sophon.settings.sections.guards import GuardsSettings

DangerSeverity: TypeAlias = Literal["low", "medium", "high"]
"""`high`: others, or a model that was talked into it, can do harm at once. `medium`: a line of defence is missing.
`low`: it has little effect, or is a nuisance.
"""


@dataclass(frozen=True, slots=True)
class Danger:
    """A kind of dangerous setting: severity, and what it is in a few words."""

    severity: DangerSeverity
    summary: str


@dataclass(frozen=True, slots=True)
class DangerousSetting:
    """A setting with what it permits, in one sentence, and what to set instead; `id` is one of `list_dangers`."""

    id: str
    path: str
    permits: str
    fix: str

    def __str__(self) -> str:
        return f"{self.path}: {self.permits}"

    @property
    def severity(self) -> DangerSeverity:
        """How dangerous it is."""
        return list_dangers()[self.id].severity

    def to_json(self) -> dict[str, str]:
        """Return JSON-serialisable data."""
        data = {"id": self.id, "severity": self.severity, "setting": self.path}
        return data | {"permits": self.permits, "fix": self.fix}


_DANGERS: Mapping[str, Danger] = {
    "auto_approve_critical": Danger("high", "calls of Critical risk run unasked"),
    "auto_approve_high": Danger("high", "calls of High risk run unasked"),
    "auto_approve_without_guards": Danger("high", "calls of High risk run unasked while a default guard is off"),
    "ask_from_critical": Danger("high", "people are asked about Critical calls only"),
    "no_operator": Danger("medium", "several users, and no operator"),
    "four_eyes_without_second": Danger("medium", "four eyes are required, and there is one operator"),
    "files_root_exposed": Danger("high", "the files folder holds the host's own or the system's files"),
    "internal_network": Danger("medium", "http.request reaches internal addresses"),
    "look_alike_users": Danger("medium", "two user ids look alike"),
    "any_origin": Danger("high", "pages of every site may talk to the host"),
    "origin_without_users": Danger("high", "a page of another site acts as an operator"),
    "proxied_without_users": Danger("high", "whoever reaches the proxy is an operator"),
    "host_wildcard": Danger("low", "`*` in the allowed hosts names no host"),
    "wide_trusted_proxies": Danger("medium", "clients choose the address that counts as theirs"),
    "openai_api_without_users": Danger("medium", "the OpenAI-compatible API needs no token"),
    "plain_http_network": Danger("medium", "tokens cross the network unencrypted"),
    "open_channel": Danger("high", "everybody may write to the bot"),
    "open_groups": Danger("low", "every message of a group starts a turn"),
    "plain_http_provider": Danger("high", "a key is sent over plain HTTP"),
    "shared_issuer_secret": Danger("medium", "whoever checks tokens of an issuer can also make them"),
    "unused_permissions": Danger("high", "permissions are set, and nothing applies them"),
    "authorization_without_rules": Danger("medium", "permissions are checked, and nobody is denied anything"),
    "allow_everything": Danger("high", "a rule allows every tool to everybody"),
    "zero_trust_may_all": Danger("high", "people who are not trusted may use every tool"),
    "short_audit": Danger("medium", "the audit log is kept for less than a week"),
}

_GUARD_SEVERITIES: Mapping[str, DangerSeverity] = {
    "audit": "medium",
    "snapshot": "medium",
    "rate_limit": "medium",
    "information_flow": "medium",
}
"""Severity of a default guard that is off, by its field in `GuardsSettings`; `high` for the others."""


def guard_danger_id(field: str) -> str:
    """Return the id of the danger that a default guard, given as its field in `GuardsSettings`, is off."""
    return f"{field}_off"


def list_dangers() -> Mapping[str, Danger]:
    """Return all dangers by id, those of the guards that stand by default included."""
    guards = {
        guard_danger_id(field): Danger(
            _GUARD_SEVERITIES.get(field, "high"), f"the guard {find_guard_name(field)} is off"
        )
        for field in list_default_guards()
    }
    return {**_DANGERS, **guards}


def list_default_guards() -> list[str]:
    """Return the fields of `GuardsSettings` whose guards stand without any setting."""
    defaults = GuardsSettings.defaults()
    return [field for field in GuardsSettings.model_fields if getattr(getattr(defaults, field), "enabled", False)]


def find_guard_name(field: str) -> str:
    """Return the name of a guard, as its class and its settings have it."""
    return GuardsSettings.model_fields[field].alias or field


def render_dangers_table() -> str:
    """Return the table of all ids for docs/trust-model.md."""
    rows = [f"| `{name}` | {danger.severity} | {danger.summary} |" for name, danger in list_dangers().items()]
    return "\n".join(["| id | severity | what is dangerous |", "|---|---|---|", *rows, ""])
