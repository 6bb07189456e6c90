"""Dangerous settings: values that are valid and permit more than most people want; `doctor` and the start report them.

Nothing here refuses to start: each value has a legitimate use, and whoever sets it should know what it permits.
"""

import ipaddress
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from sophon.security.authorization.permission_levels import Level
from sophon.settings.allowed_networks import describe_reached
from sophon.settings.danger_catalog import DangerousSetting, find_guard_name, guard_danger_id, list_default_guards
from sophon.settings.host_files import find_database_file
from sophon.settings.root import Settings
from sophon.settings.sections.channels import ChannelsSettings, TelegramSettings, WhatsAppSettings
from sophon.settings.user_ids import find_look_alikes

SENSITIVE_FOLDERS = ("/boot", "/dev", "/etc", "/home", "/proc", "/root", "/run", "/sys", "/usr", "/var")
"""Folders of the system: a files folder equal to one of them, or around one, is dangerous."""

SENSITIVE_TREES = ("/boot", "/dev", "/etc", "/proc", "/sys")
"""Those of them in which every folder is of the system: a files folder inside is dangerous too."""

HOME_FOLDERS = ("/home", "/Users")
"""Folders whose entries are home directories."""

SENSITIVE_HOME_FOLDERS = (".aws", ".config", ".docker", ".gnupg", ".kube", ".ssh")
"""Folders of the home directory with credentials."""

MIN_PROXY_PREFIX = {4: 16, 6: 48}
"""Shortest prefix of a network of reverse proxies, by IP version: a container network, not an internet."""

MIN_AUDIT_DAYS = 7
"""Days below which an audit log is too short: an incident is often noticed after a weekend."""

_EFFECTS = {
    "audit": "nobody can tell afterwards which tools ran and who allowed it",
    "information_flow": "nobody can tell afterwards which data a session had read when it sent something",
    "integrity": "a call, or the script that it runs, can change between the approval and the run",
    "protection": "a tool may change the files that define the agent and control this host",
}
"""What the absence of a guard permits, by its field in `GuardsSettings`."""

_EVERY_TOOL = frozenset({"*", "tool:*"})


def find_dangerous_settings(
    settings: Settings, *, folder: Path = Path(), home: Path | None = None, environment: Mapping[str, str] | None = None
) -> list[DangerousSetting]:
    """Return the dangerous settings, most dangerous first within a section.

    Relative paths are relative to `folder`, which holds the settings files; `home` is the home directory of the host's
    account; `environment` resolves the URL of the store. Only links of these paths are read.
    """
    return [
        *_find_in_approval(settings),
        *_find_in_guards(settings),
        *_find_in_files_root(settings, folder, home, environment or {}),
        *_find_in_networks(settings),
        *_find_in_hub(settings),
        *_find_in_issuers(settings),
        *_find_in_channels(settings),
        *_find_in_permissions(settings),
        *_find_in_urls(settings),
    ]


def _find_in_approval(settings: Settings) -> Iterator[DangerousSetting]:
    approval = settings.approval
    if approval.auto_approve_up_to == "Critical":
        yield DangerousSetting(
            "auto_approve_critical",
            "Approval.AutoApproveUpTo Critical",
            _describe_unasked_critical(settings),
            "set it to null or to Medium",
        )
    elif approval.auto_approve_up_to == "High":
        yield DangerousSetting(
            "auto_approve_high",
            "Approval.Autonomy Full" if approval.autonomy else "Approval.AutoApproveUpTo High",
            "a model overwrites files, deletes memories and uses every other tool of High risk, and nobody is asked",
            "set it to Semi or Assist" if approval.autonomy else "set it to null or to Medium",
        )
    if approval.ask_from == "Critical":
        yield DangerousSetting(
            "ask_from_critical",
            "Approval.AskFrom Critical",
            "a model overwrites files, deletes memories and uses every other tool of High risk, and nobody is asked",
            "set it to High",
        )
    deciders = _count_operators(settings)
    if has_several_users(settings) and deciders == 0:
        yield DangerousSetting(
            "no_operator",
            "Hub.Users without an operator",
            "calls of Critical risk wait for an operator, and nobody is one, so they can only be rejected or expire",
            "set Operator of one user to true",
        )
    elif approval.four_eyes and deciders < 2:
        yield DangerousSetting(
            "four_eyes_without_second",
            "Approval.FourEyes with fewer than two operators",
            "an operator's own calls of Critical risk wait for another operator, and there is none",
            "add an operator, or set it to false",
        )


def _describe_unasked_critical(settings: Settings) -> str:
    """Return what nobody is asked about although a call is of Critical risk; see `sophon.operator_policy`."""
    high = "overwrites files, deletes memories and uses every other tool of High risk, and nobody is asked"
    if settings.approval.four_eyes:
        return f"a model {high}; calls of Critical risk still wait for another operator (Approval.FourEyes)"
    if has_several_users(settings):
        return (
            f"a model {high}; in an operator's turn it also runs any command with the rights of this host's account, "
            "and in the turns of others such a call waits for an operator"
        )
    return "a model runs any command with the rights of this host's account, and nobody is asked"


def has_several_users(settings: Settings) -> bool:
    """Return whether others than one user may write to the host: two users, or a channel of the settings."""
    channels = settings.channels
    return len(settings.hub.users) > 1 or any(each.enabled for each in _list_channels(channels).values())


def _list_channels(channels: ChannelsSettings) -> Mapping[str, TelegramSettings | WhatsAppSettings]:
    """Return the settings of all channels of the settings by their paths below `Sophon`."""
    return {
        "Channels.Telegram": channels.telegram,
        "Channels.WhatsApp": channels.whatsapp,
        **{f"Channels.TelegramBots.{name}": each for name, each in channels.telegram_bots.items()},
        **{f"Channels.WhatsAppNumbers.{name}": each for name, each in channels.whatsapp_numbers.items()},
    }


def _count_operators(settings: Settings) -> int:
    hub, channels = settings.hub, _list_channels(settings.channels).values()
    of_channels = sum(len(set(each.approvers)) for each in channels if each.enabled)
    return (sum(user.operator for user in hub.users) if hub.users else 1) + of_channels


def _find_in_files_root(
    settings: Settings, folder: Path, home: Path | None, environment: Mapping[str, str]
) -> Iterator[DangerousSetting]:
    root = (folder / settings.tools.files_root).resolve()
    exposed = _find_exposed(root, folder.resolve(), home, find_database_file(settings, folder, environment))
    if exposed:
        yield DangerousSetting(
            "files_root_exposed",
            f"Tools.FilesRoot {settings.tools.files_root}",
            f"a model reads, and once approved overwrites, {exposed}",
            "choose a folder of its own, such as data/files",
        )


def _find_exposed(root: Path, folder: Path, home: Path | None, database: Path | None) -> str:
    """Return what a files folder exposes, "" if nothing."""
    if root == Path(root.anchor):
        return "every file of this machine that the host's account may access"
    if home is not None and home.resolve().is_relative_to(root):
        return "the home directory of the host's account, with its keys and passwords"
    if database is not None and database.is_relative_to(root):
        return "the host's database, with the conversations of all users"
    if folder.is_relative_to(root):
        return "the host's settings, which decide who has access and what is asked"
    sensitive = [Path(each) for each in SENSITIVE_FOLDERS]
    if home is not None:
        sensitive += [home.resolve() / each for each in SENSITIVE_HOME_FOLDERS]
    trees = [Path(each) for each in SENSITIVE_TREES] + sensitive[len(SENSITIVE_FOLDERS) :]
    if any(each.is_relative_to(root) for each in sensitive) or any(root.is_relative_to(each) for each in trees):
        return f"the folder {root}, with files of the system or with credentials"
    if root.parent in map(Path, HOME_FOLDERS):
        return f"the home directory {root}, with its keys and passwords"
    if any(part in SENSITIVE_HOME_FOLDERS for part in root.parts):
        return f"the folder {root}, with credentials"
    return ""


def _find_in_networks(settings: Settings) -> Iterator[DangerousSetting]:
    for text in settings.tools.allow_cidrs:
        reached = describe_reached(ipaddress.ip_network(text, strict=False))
        if reached:
            yield DangerousSetting(
                "internal_network",
                f"Tools.AllowCidrs {text}",
                f"http.request reaches {reached}",
                "name the one address that is needed, such as 10.0.0.5/32",
            )


def _find_in_hub(settings: Settings) -> Iterator[DangerousSetting]:
    hub = settings.hub
    for first, second in find_look_alikes([user.id for user in hub.users]):
        yield DangerousSetting(
            "look_alike_users",
            f"Hub.Users {second}",
            f"its id looks like that of {first}, so a person may take one of them for the other",
            "choose ids that differ in more than case or alphabet",
        )
    if "*" in hub.allowed_origins:
        yield DangerousSetting(
            "any_origin",
            "Hub.AllowedOrigins *",
            "every web page that somebody opens may talk to this host from their browser",
            "list the origins of your own pages",
        )
    elif hub.allowed_origins and not hub.users:
        yield DangerousSetting(
            "origin_without_users",
            "Hub.AllowedOrigins without Hub.Users",
            f"a page of {', '.join(hub.allowed_origins)} acts as an operator of this host, without a token",
            "add Hub.Users",
        )
    if hub.allowed_hosts and not hub.users:
        yield DangerousSetting(
            "proxied_without_users",
            "Hub.AllowedHosts without Hub.Users",
            "whoever reaches this host through a proxy is an operator, without a token",
            "add Hub.Users",
        )
    elif "*" in hub.allowed_hosts:
        yield DangerousSetting(
            "host_wildcard",
            "Hub.AllowedHosts *",
            "it names no host: only the exact names in this list are accepted, so nothing is let in by it",
            "list the names under which clients reach this host",
        )
    for network in map(ipaddress.ip_network, hub.trusted_proxies):
        if network.prefixlen < MIN_PROXY_PREFIX[network.version]:
            yield DangerousSetting(
                "wide_trusted_proxies",
                f"Hub.TrustedProxies {network}",
                "clients in this network choose the address that counts as theirs, which switches off the protection "
                "against guessing tokens and the limit of connections per address",
                "name the addresses of your own proxies, such as 10.0.0.5/32",
            )
    if hub.open_ai_api and not hub.users:
        yield DangerousSetting(
            "openai_api_without_users",
            "Hub.OpenAiApi without Hub.Users",
            "every program and account of this machine has turns run with your models and tools, without a token",
            "add Hub.Users",
        )
    if hub.users and not _is_loopback(hub.host):
        yield DangerousSetting(
            "plain_http_network",
            f"Hub.Host {hub.host}",
            "tokens and conversations cross the network unencrypted, unless a proxy in front of this host has TLS",
            "listen on 127.0.0.1 behind such a proxy",
        )


def _find_in_issuers(settings: Settings) -> Iterator[DangerousSetting]:
    for index, issuer in enumerate(settings.hub.issuers):
        if issuer.algorithm == "HS256":
            yield DangerousSetting(
                "shared_issuer_secret",
                f"Hub.Issuers[{index}].Algorithm HS256",
                "every service that checks tokens with this shared secret can also make them, for any user",
                "have the issuer sign with a private key, and use RS256, ES256 or EdDSA",
            )


def _find_in_channels(settings: Settings) -> Iterator[DangerousSetting]:
    unasked = settings.approval.auto_approve_up_to in ("High", "Critical") or settings.approval.ask_from == "Critical"
    and_risky = ", calls of High risk included, without anybody being asked" if unasked else ""
    for path, channel in _list_channels(settings.channels).items():
        if channel.enabled and channel.direct_policy == "Open":
            yield DangerousSetting(
                "open_channel",
                f"{path}.DirectPolicy Open",
                f"everybody who finds the account uses your models and tools at your cost{and_risky}",
                "set it to Pairing",
            )
        if channel.enabled and isinstance(channel, TelegramSettings) and channel.group_policy == "All":
            whose = "every group" if channel.direct_policy == "Open" else "an allowed person or group"
            yield DangerousSetting(
                "open_groups",
                f"{path}.GroupPolicy All",
                f"every message of {whose} starts a turn{and_risky}",
                "set it to MentionOnly",
            )


def _find_in_urls(settings: Settings) -> Iterator[DangerousSetting]:
    urls = [(f"Providers[{each.id}].BaseUrl", each.base_url if each.keys else None) for each in settings.providers]
    channels = _list_channels(settings.channels).items()
    urls += [(f"{path}.ApiBase", each.api_base if each.enabled else None) for path, each in channels]
    for path, url in urls:
        parts = urlsplit(url or "")
        if parts.scheme == "http" and not _is_loopback(parts.hostname or ""):
            yield DangerousSetting(
                "plain_http_provider",
                f"{path} with http",
                "the key and the conversations cross the network unencrypted",
                "use https",
            )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _find_in_guards(settings: Settings) -> Iterator[DangerousSetting]:
    off = [field for field in list_default_guards() if not getattr(settings.guards, field).enabled]
    names = [find_guard_name(field) for field in off]
    if off and settings.approval.auto_approve_up_to in ("High", "Critical"):
        yield DangerousSetting(
            "auto_approve_without_guards",
            f"Approval.AutoApproveUpTo {settings.approval.auto_approve_up_to} without {', '.join(names)}",
            "a model uses tools of High risk, nobody is asked, and a guard that would block or ask is off",
            f"enable {', '.join(f'Guards.{name}' for name in names)}, or set AutoApproveUpTo to null or to Medium",
        )
    for field, name in zip(off, names, strict=True):
        effect = _EFFECTS.get(field, "tool calls are not judged by it")
        yield DangerousSetting(
            guard_danger_id(field), f"Guards.{name}.Enabled false", effect, "set it to true, or remove it"
        )
    days = settings.retention.audit
    if settings.guards.audit.enabled and days is not None and days < MIN_AUDIT_DAYS:
        yield DangerousSetting(
            "short_audit",
            f"Retention.Audit {days}",
            "what happened last week is not in the audit log any more",
            f"set it to {MIN_AUDIT_DAYS} or more; the default is 30",
        )


def _find_in_permissions(settings: Settings) -> Iterator[DangerousSetting]:
    """Yield the dangerous settings of `Guards.Authorization` and `Permissions`."""
    guard, levels = settings.guards.authorization, settings.permissions.levels
    restricts = settings.permissions.restricts_tools
    if not guard.enabled and (restricts or guard.rules):
        yield DangerousSetting(
            "unused_permissions",
            "Guards.Authorization.Enabled false",
            "rules or permission levels are set, and no tool call is checked against them",
            "remove it, or set it to true",
        )
    if guard.enabled and not restricts and not guard.rules:
        yield DangerousSetting(
            "authorization_without_rules",
            "Guards.Authorization without rules",
            "everybody has the level User or Admin, both may use every tool, so that nothing is denied",
            "set Permissions.Levels.User.Tools, or add Guards.Authorization.Rules",
        )
    for index, rule in enumerate(guard.rules):
        if rule.effect == "Allow" and rule.principal == "*" and rule.resource in _EVERY_TOOL and not rule.conditions:
            yield DangerousSetting(
                "allow_everything",
                f"Guards.Authorization.Rules[{index}]",
                "it allows every tool to everybody, whatever their level is",
                "name the principals and the tools",
            )
    if "*" in levels.list_tools(Level.ZERO_TRUST):
        yield DangerousSetting(
            "zero_trust_may_all",
            "Permissions.Levels.ZeroTrust.Tools *",
            "people who are not trusted may use every tool",
            "name the tools",
        )
